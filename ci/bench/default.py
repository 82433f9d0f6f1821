"""A user's commands on the stock tree and on ours, both with their default configuration, in turn within one run.

The demo's jobs, by time and processor seconds; `hdfs dfs -ls /`; and a file written and read on a cluster of which one DataNode
is of the stock tree, and there by a client of the stock tree, against a cluster that is all stock.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import report
import stock

# No job more than 3 % slower, all together at least 5 % faster; -ls at most 5 % slower; a mixed cluster no slower.
JOB = 1 / 1.03
SUM = 1 / 0.95
LIST = 1 / 1.05
MIXED = 1.0
# Of the demo's rows: a check of all files, which takes no part in the sum that users wait for.
NO_JOB = ("fsck",)


class Side(stock.Tree):
    """A tree whose commands run as a user's do."""

    @property
    def environment(self):
        environment = super().environment
        for variable in ("HADOOP_ROOT_LOGGER", "HADOOP_CLIENT_OPTS", "HADOOP_OPTS", "YARN_CONF_DIR", "SPARK_CONF_DIR"):
            environment.pop(variable, None)
        return environment


def demo_figures(rows):
    """{"time JOB": seconds, "cpu JOB": seconds} of the demo's rows."""
    figures = {}
    for row in rows:
        figures["time " + row["job"]] = row["seconds"]
        figures["cpu " + row["job"]] = row["cpuSeconds"]
    return figures


def demo(tree, options, scratch):
    folder = tempfile.mkdtemp(prefix=tree.name + "-demo", dir=scratch)
    try:
        tree.run("howdah", "demo", "--size", options.size, "--text", options.text, "--dir", folder)
        with open(os.path.join(folder, "demo.json"), encoding="utf-8") as file:
            return demo_figures(json.load(file)["rows"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def add_jobs(result, figures):
    """A row for each job's time and processor seconds, and one for their sums."""
    for measure, asked, asked_of_sum in (("time", JOB, SUM), ("cpu", None, None)):
        sums = {}
        for case, sides in figures.items():
            kind, job = case.split(" ", 1)
            if kind != measure:
                continue
            if job not in NO_JOB:
                for side, values in sides.items():
                    sums[side] = [a + b for a, b in zip(sums.get(side, [0] * len(values)), values)]
            target = None if job in NO_JOB else asked
            result.add(measure, job, "s", "lower", sides["ours"], sides["stock"], target=target, paired=True)
        result.add(measure, "sum of jobs", "s", "lower", sums["ours"], sums["stock"], target=asked_of_sum, paired=True)


def client_time(tree, *command, **environment):
    """Seconds and processor seconds of a client's command."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    tree.run(*command, **environment)
    took, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def add_lists(result, runs):
    """runs: {side: [(seconds, processor seconds), ...]}."""
    for index, (measure, target) in enumerate((("time", LIST), ("client cpu", None))):
        ours, reference = ([run[index] for run in runs[side]] for side in ("ours", "stock"))
        result.add(measure, "ls /", "s", "lower", ours, reference, target=target, paired=True)


def add_mixed(result, runs):
    """runs: {case: {"mixed": [seconds], "stock": [seconds]}}; a difference within the spread is none."""
    for case, sides in runs.items():
        result.add("time", case, "s", "lower", sides["mixed"], sides["stock"], target=MIXED, paired=True)
        row = result.rows[-1]
        row["met"] = row["met"] or row["within_spread"]


@contextlib.contextmanager
def cluster(tree, scratch):
    """A cluster of HDFS alone with three DataNodes; gives its folder."""
    folder = os.path.join(tempfile.mkdtemp(prefix=tree.name, dir=scratch), "cluster")
    tree.run("howdah", "cluster", "start", "--dir", folder, "--no-yarn")
    try:
        yield folder
    finally:
        tree.run("howdah", "cluster", "stop", "--dir", folder)


@contextlib.contextmanager
def other_datanode(tree, folder, daemon="datanode-3"):
    """A DataNode of the cluster becomes one of another tree, with the same data and ports."""
    with open(os.path.join(folder, "run", daemon + ".pid"), encoding="ascii") as file:
        pid = int(file.read().split()[0])
    os.kill(pid, 15)
    wait("the end of " + daemon, lambda: not os.path.exists("/proc/%d" % pid))
    environment = dict(tree.environment, HADOOP_CONF_DIR=os.path.join(folder, "conf", daemon), HADOOP_HEAPSIZE="256")
    with open(os.path.join(folder, "logs", "other-%s.log" % daemon), "w", encoding="utf-8") as log:
        with subprocess.Popen(
            ["setsid", os.path.join(tree.home, "bin", "hdfs"), "datanode"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ) as process:
            try:
                wait("%s to register" % daemon, lambda: registered(folder, daemon, process))
                yield
            finally:
                process.terminate()


def registered(folder, daemon, process):
    if process.poll() is not None:
        raise SystemExit("%s of the other tree died: see %s/logs" % (daemon, folder))
    with open(os.path.join(folder, "cluster.properties"), encoding="utf-8") as file:
        properties = dict(line.strip().split("=", 1) for line in file if "=" in line)
    url = "http://localhost:%s/jmx?qry=Hadoop:service=DataNode,name=DataNodeInfo" % properties["port.%s.http" % daemon]
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(json.load(answer)["beans"][0]["ClusterId"])
    except (OSError, IndexError, KeyError, ValueError):
        return False


def wait(what, condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited %d s for %s" % (seconds, what))
        time.sleep(0.25)


def write_and_read(tree, folder, file, name):
    """Seconds that a client of the tree takes to write a file and to read it."""
    site = {"HADOOP_CONF_DIR": os.path.join(folder, "conf")}
    written, _ = client_time(tree, "hdfs", "dfs", "-put", file, "/" + name, **site)
    read, _ = client_time(tree, "hdfs", "dfs", "-get", "/" + name, file + ".back", **site)
    os.remove(file + ".back")
    tree.run("hdfs", "dfs", "-rm", "-skipTrash", "/" + name, **site)
    return written, read


def in_turn(rounds, measures):
    """Calls each of measures (by name) in each round, the order changing. Returns {name: [result a round]}."""
    names, results = list(measures), {name: [] for name in measures}
    for number in range(rounds):
        for name in names if number % 2 == 0 else names[::-1]:
            results[name].append(measures[name](number))
    return results


def commands(ours, reference, options, scratch):
    """(runs of -ls, runs on the mixed cluster), as add_lists() and add_mixed() take them."""
    file = os.path.join(scratch, "file")
    with open(file, "wb") as out:
        for _ in range(options.file_size):
            out.write(os.urandom(1 << 20))
    with cluster(ours, scratch) as mixed, cluster(reference, scratch) as plain:

        def listing(tree, folder):
            return lambda _: client_time(tree, "hdfs", "dfs", "-ls", "/", HADOOP_CONF_DIR=os.path.join(folder, "conf"))

        def copying(tree, folder):
            return lambda number: write_and_read(tree, folder, file, "%s-%d" % (tree.name, number))

        lists = in_turn(options.lists, {"ours": listing(ours, mixed), "stock": listing(reference, plain)})
        print("%d runs of -ls on each side" % options.lists, flush=True)
        with other_datanode(reference, mixed):
            sides = {
                "stock DataNode": copying(ours, mixed),
                "stock client": copying(reference, mixed),
                "stock": copying(reference, plain),
            }
            runs = in_turn(options.mixed_rounds, sides)
    return lists, mixed_cases(runs)


def mixed_cases(runs):
    """{case: {"mixed": [seconds], "stock": [seconds]}} of {side: [(written, read), ...]}."""
    cases = {}
    for side, pairs in runs.items():
        if side != "stock":
            for index, what in enumerate(("write", "read")):
                cases["%s, %s" % (what, side)] = {
                    "mixed": [pair[index] for pair in pairs],
                    "stock": [pair[index] for pair in runs["stock"]],
                }
    return cases


def missed(rows):
    """A line for each target that was not met: by how much."""
    return [
        "missed: %s, %s: %.3f times better than stock, asked for %.3f" % (row["measure"], row["case"], row["ratio"], row["target"])
        for row in rows
        if not row.get("met", True)
    ]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--text", required=True, help="what the demo counts the words of")
    parser.add_argument("--rounds", type=int, default=4, help="demos on each side, the order changing (default 4)")
    parser.add_argument("--size", default="1g", help="what the demo sorts (default 1g)")
    parser.add_argument("--lists", type=int, default=20, help="runs of -ls on each side (default 20)")
    parser.add_argument("--mixed-rounds", type=int, default=6, help="files that each client writes and reads (default 6)")
    parser.add_argument("--file-size", type=int, default=512, help="MB of such a file (default 512)")
    options = parser.parse_args()
    if min(options.rounds, options.lists, options.mixed_rounds, options.file_size) < 1:
        parser.error("--rounds, --lists, --mixed-rounds and --file-size must be at least 1")
    return options


def main():
    options = arguments()
    ours, reference = (Side(name, getattr(options, name), options.java_home) for name in ("ours", "stock"))
    result = report.Report(
        "default",
        "stock tree",
        options.root,
        jdk=report.jdk(options.java_home),
        configuration="default on both sides",
        demo_size=options.size,
        file_mb=options.file_size,
    )
    scratch = tempfile.mkdtemp(prefix="howdah-bench-")
    try:
        lists, mixed = commands(ours, reference, options, scratch)
        jobs = stock.alternate("demo", options.rounds, [ours, reference], lambda tree: demo(tree, options, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    add_jobs(result, jobs)
    add_lists(result, lists)
    add_mixed(result, mixed)
    print(result.write())
    lines = missed(result.rows)
    print("\n".join(lines) if lines else "every target is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
