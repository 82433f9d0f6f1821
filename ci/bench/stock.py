"""What being patched costs while RDMA is off: RPC latency, TestDFSIO and TeraSort, stock jars against ours.

Both trees have the same scripts, options and configuration; they differ in their jars. Each round runs one side, then
the other, the order changing from round to round.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import report

RPC_SIZES = (1, 512, 4096, 32768)
RPC_ITERATIONS = 20000


class Tree:
    """One side: a distribution tree and what is run from it."""

    def __init__(self, name, home, java_home):
        self.name = name
        self.home = home
        self.java_home = java_home

    @property
    def environment(self):
        """That of this process now, but for what would lead to another tree."""
        environment = dict(os.environ, JAVA_HOME=self.java_home, HADOOP_ROOT_LOGGER="INFO,console")
        for variable in ("HADOOP_HOME", "HADOOP_CONF_DIR", "SPARK_HOME", "HADOOP_CLASSPATH"):
            environment.pop(variable, None)
        return environment

    def run(self, *command, **environment):
        """Runs a command of the tree to its end and returns what it printed (both streams)."""
        result = subprocess.run(
            [os.path.join(self.home, "bin", command[0]), *command[1:]],
            env=dict(self.environment, **environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if result.returncode:
            raise SystemExit("%s: %s failed:\n%s" % (self.name, " ".join(command), result.stdout[-3000:]))
        return result.stdout

    def jar(self, pattern):
        found = glob.glob(os.path.join(self.home, "share", "hadoop", pattern))
        if len(found) != 1:
            raise SystemExit("%s: not one jar matches %s: %s" % (self.name, pattern, found))
        return found[0]


def rpc_latency(tree):
    """Mean round trip in microseconds by payload size."""
    path = tree.run("hadoop", "classpath", "--glob").strip().splitlines()[-1]
    bench = glob.glob(os.path.join(tree.home, "share", "howdah", "howdah-bench-*.jar"))
    java = [tree.environment["JAVA_HOME"] + "/bin/java", "-Xmx512m", "-cp", ":".join([path, *bench])]
    main = ["io.howdah.bench.rpc.RpcLatency"]
    with subprocess.Popen(
        java + main + ["server", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        port = server.stdout.readline().strip()
        client = subprocess.run(
            java + main + ["client", port, str(RPC_ITERATIONS), *map(str, RPC_SIZES)],
            capture_output=True,
            text=True,
            check=True,
        )
        server.stdin.close()
    lines = [line.split("\t") for line in client.stdout.splitlines() if re.match(r"\d+\t", line)]
    return {"rpc %d B" % int(size): float(mean) for size, mean, *_ in lines}


def cluster_jobs(tree, size_mb, scratch):
    """TestDFSIO throughput in MB/s and TeraSort's seconds, on a fresh cluster of this tree."""
    folder = tempfile.mkdtemp(prefix=tree.name, dir=scratch)
    cluster = os.path.join(folder, "cluster")
    figures = {}
    tree.run("howdah", "cluster", "start", "--dir", cluster)
    try:
        site = dict(HADOOP_CONF_DIR=os.path.join(cluster, "conf"))
        dfsio = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar"), "TestDFSIO"]
        shape = ["-nrFiles", "4", "-size", "%dMB" % (size_mb // 4)]
        for step in ("write", "read"):
            printed = tree.run(*dfsio, "-" + step, *shape, **site)
            figures["dfsio " + step] = float(re.search(r"Throughput mb/sec:\s*([\d.]+)", printed).group(1))
        examples = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-examples-*.jar")]
        tree.run(*examples, "teragen", str(size_mb * 2**20 // 100), "/tera/in", **site)
        started = time.monotonic()
        tree.run(*examples, "terasort", "/tera/in", "/tera/out", **site)
        figures["terasort"] = time.monotonic() - started
    finally:
        tree.run("howdah", "cluster", "stop", "--dir", cluster)
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def alternate(what, rounds, trees, measure):
    """Runs measure(tree) for each side in each round. Returns {case: {side: [figure a round]}}."""
    figures = {}
    for number in range(rounds):
        for tree in trees if number % 2 == 0 else trees[::-1]:
            started = time.monotonic()
            seen = measure(tree)
            for case, value in seen.items():
                figures.setdefault(case, {}).setdefault(tree.name, []).append(value)
            shown = ", ".join("%s %.1f" % item for item in seen.items())
            print(
                "%s, round %d of %d, %s, %d s: %s"
                % (what, number + 1, rounds, tree.name, time.monotonic() - started, shown),
                flush=True,
            )
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the cluster's jobs; RPC does as many (default 5)")
    parser.add_argument("--size", type=int, default=256, help="MB that TestDFSIO and TeraSort move (default 256)")
    options = parser.parse_args()
    if options.rounds < 1 or options.size < 4:
        parser.error("--rounds must be at least 1, --size at least 4")

    trees = [Tree("ours", options.ours, options.java_home), Tree("stock", options.stock, options.java_home)]
    result = report.Report(
        "stock",
        "stock Hadoop 2.8.1, official jars",
        options.root,
        jdk=report.jdk(options.java_home),
        transport="tcp (RDMA off)",
        cluster="3 DataNodes, 2 NodeManagers, one machine",
        size_mb=options.size,
    )
    rpc = alternate("rpc", options.rounds, trees, rpc_latency)
    scratch = tempfile.mkdtemp(prefix="howdah-bench-")
    try:
        jobs = alternate("jobs", options.rounds, trees, lambda tree: cluster_jobs(tree, options.size, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    for case, sides in rpc.items():
        result.add("latency", case, "us", "lower", sides["ours"], sides["stock"])
    for case, sides in jobs.items():
        measure, unit, better = ("throughput", "MB/s", "higher") if "dfsio" in case else ("time", "s", "lower")
        result.add(measure, case, unit, better, sides["ours"], sides["stock"])
    print(result.write())
    return 0 if all(row["within_spread"] for row in result.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
