"""HDFS over the engine against stock Hadoop's: latency, throughput, TestDFSIO and processor time.

Each round runs one side after the other, the order changing from round to round, each on a fresh cluster of the same shape:
three DataNodes on this machine, replication 3, short-circuit reads off, data on the medium that is asked for. Beside ours as
it is by default there are its variants: all replicas at once, and stages on DataNodes. Short-circuit reads are measured on
both sides, and against the engine: client and DataNodes share this machine.
"""

import argparse
import functools
import glob
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import threading
import time

import java_profile
import memory
import perf_profile
import report
import stock

ENGINE = ("dfs.rdma.enabled=true", "dfs.rdma.required=true")
# What the issue asks for: how many times better, by measure.
TARGETS = {
    ("latency", "write"): 1 / 0.6,
    ("latency", "random"): 2.0,
    ("rate", "small files"): 3.0,
    ("throughput", "dfsio write"): 2.06,
    ("throughput", "dfsio read"): 1.5,
    ("time", "dfsio write"): 1 / 0.8,
    ("time", "dfsio read"): 1 / 0.8,
    ("processor time", "DataNodes"): 1.0,
    ("processor time", "clients"): 1.0,
    ("latency p50", "64 writers"): 1.0,
    ("latency p90", "64 writers"): 1.0,
    ("latency p99", "64 writers"): 1.0,
    ("latency max", "64 writers"): 1.0,
    ("memory", "engine of a DataNode"): 1.0,
}
SHORT_CIRCUIT = "dfs.client.read.shortcircuit=true"
# As dist/etc/hadoop/hdfs-site.xml has it, which clusters of tests do not read.
OWN_BUFFER = "dfs.client.read.shortcircuit.buffer.size=65536"
VARIANTS = {
    "parallel": "dfs.replication.parallel.enabled=true",
    "stages": "dfs.rdma.stages.enabled=true",
    "short-circuit": SHORT_CIRCUIT,
}
STOCK_SHORT_CIRCUIT = "stock short-circuit"
READS = ("read", "random", "readers")
MEDIA = {"tmpfs": "/dev/shm", "disk": None}
DATANODES = ("datanode-1", "datanode-2", "datanode-3")
CPU_DAEMONS = ("namenode", *DATANODES)
MB = 2**20
# Not a row: what the memory of the engine is compared with.
LIMIT = ("memory", "limit of an engine")


class Cluster:
    """A cluster of one side, from its start to its stop."""

    def __init__(self, tree, folder, settings):
        self.tree = tree
        self.folder = os.path.join(folder, "c")
        self.settings = [word for setting in settings for word in ("-D", setting)]
        self.site = dict(HADOOP_CONF_DIR=os.path.join(self.folder, "conf"))

    def __enter__(self):
        self.tree.run("howdah", "cluster", "start", "--dir", self.folder, "--datanodes", "3", *self.settings)
        return self

    def __exit__(self, *_):
        self.tree.run("howdah", "cluster", "stop", "--dir", self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def cpu_seconds(self):
        """Processor time that the HDFS daemons have had."""
        total = 0
        for daemon in CPU_DAEMONS:
            with open("/proc/%s/stat" % self.pid(daemon)) as file:
                fields = file.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def pid(self, daemon):
        with open(os.path.join(self.folder, "run", daemon + ".pid")) as file:
            return file.read().split()[0]

    def resident(self):
        """MB that the DataNode with the most had resident at its peak."""
        return max(peak_resident(self.pid(daemon)) for daemon in DATANODES)

    def engine_memory(self):
        """MB that a DataNode's engine held at its peak, and its limit, at the DataNode where it was the most."""
        counters = (engine_bytes(self.tree.run("howdah", "stat", self.pid(daemon))) for daemon in DATANODES)
        return [size / MB for size in max(counters)]


class Busy(threading.Thread):
    """Processor seconds of this machine, seen often enough to tell what a part of a second took."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen = []
        self.ended = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def run(self):
        while not self.ended.is_set():
            with open("/proc/stat") as file:
                ticks = [int(word) for word in file.readline().split()[1:9]]
            busy = sum(ticks) - ticks[3] - ticks[4] - ticks[7]  # idle, waiting for a disk, stolen
            self.seen.append((time.monotonic(), busy / os.sysconf("SC_CLK_TCK")))
            self.ended.wait(0.02)

    def between(self, begin, end):
        """Processor seconds from begin to end, of time.monotonic()."""
        return self.until(end) - self.until(begin)

    def until(self, moment):
        """Processor seconds at a moment, on the line between the two nearest readings."""
        before, after = self.seen[0], self.seen[-1]
        for reading in self.seen:
            if reading[0] <= moment:
                before = reading
            else:
                after = reading
                break
        if moment <= before[0] or after[0] <= before[0]:
            return before[1]
        return before[1] + (after[1] - before[1]) * min(1, (moment - before[0]) / (after[0] - before[0]))


def engine_bytes(printed):
    """What `howdah stat` says that the engines of a process had at their peak, and what they may have, in bytes."""
    return tuple(
        sum(map(int, re.findall(r"^\s+%s\s+(\d+)$" % name, printed, re.M))) for name in (r"memory\.pinned\.peak", r"memory\.limit")
    )


def peak_resident(pid):
    with open("/proc/%s/status" % pid) as file:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.M).group(1)) / 1024


def figures_of(samples):
    """The benchmark's samples as {(measure, case): (unit, better, figure)}."""
    figures = {}
    for sample in samples:
        name, values, clients = sample["measure"], sample["values"], sample["clients"]
        if name == "random":
            figures["latency", "random"] = ("ms", "lower", values["mean"])
            figures["latency p99", "random"] = ("ms", "lower", values["p99"])
        elif name == "small":
            figures["rate", "small files"] = ("files/s", "higher", 1000 / values["mean"])
            figures["latency p99", "small files"] = ("ms", "lower", values["p99"])
        elif clients == 1 and "mb_s" not in values:
            figures["latency", name] = ("ms", "lower", values["mean"])
        else:
            case = "%d %s" % (clients, name)
            figures["throughput", case] = ("MB/s", "higher", values["mb_s"])
            for percentile in ("p50", "p90", "p99", "max"):
                figures["latency " + percentile, case] = ("ms", "lower", values[percentile])
    return figures


def dfsio(cluster, megabytes, windows):
    """TestDFSIO's throughput, MB/s a task, and how long its jobs took."""
    tree = cluster.tree
    job = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar"), "TestDFSIO"]
    figures = {}
    for step in ("write", "read"):
        shape = ["-nrFiles", "4", "-size", "%dMB" % max(1, megabytes // 4)]
        shape += ["-resFile", os.path.join(cluster.folder, "TestDFSIO_results.log")]  # or it is left where we are
        begin = time.monotonic()
        printed = tree.run(*job, "-" + step, *shape, **cluster.site)
        windows["dfsio " + step] = (begin, time.monotonic())
        rate = float(re.search(r"Throughput mb/sec:\s*([\d.]+)", printed).group(1))
        seconds = float(re.search(r"Test exec time sec:\s*([\d.]+)", printed).group(1))
        figures["throughput", "dfsio " + step] = ("MB/s", "higher", rate)
        figures["time", "dfsio " + step] = ("s", "lower", seconds)
    return figures


def clients_seconds():
    """Processor time of the processes that were run and have ended. Daemons of a cluster have not."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sides_of(trees, variants):
    """(name, tree, settings) of all that is measured."""
    ours, theirs = trees
    sides = [("ours", ours, []), ("stock", theirs, []), *((name, ours, [VARIANTS[name]]) for name in variants)]
    if "short-circuit" in variants:
        sides.append((STOCK_SHORT_CIRCUIT, theirs, [SHORT_CIRCUIT]))
    return sides


def measure(tree, extra, options, medium, windows=None):
    """One round of one side. When each of its parts ran, (begin, end) by CLOCK_MONOTONIC, is added to windows."""
    windows = {} if windows is None else windows
    scratch = tempfile.mkdtemp(prefix="howdah-hdfs-", dir=MEDIA[medium])
    by_file = SHORT_CIRCUIT in extra
    # A folder that nobody else may write to, nor any folder above it.
    sockets = tempfile.mkdtemp(prefix="howdah-bench-", dir="/run" if os.geteuid() == 0 else os.path.expanduser("~"))
    settings = ["dfs.replication=3", *extra]
    settings.append("dfs.domain.socket.path=%s/dn._PORT" % sockets if by_file else "dfs.client.read.shortcircuit=false")
    if tree.name == "ours":
        settings += [*ENGINE, "hadoop.rdma.transport=" + options.transport, OWN_BUFFER]
    try:
        with Cluster(tree, scratch, settings) as cluster, Busy() as busy:
            document = os.path.join(scratch, "figures.json")
            words = ["--size", options.size, "--client-size", options.client_size, "--clients", options.clients]
            words += ["--random", "20000", "--settle", str(options.settle)]
            if by_file:
                words += ["--measure", ",".join(READS)]
            before, clients_before = cluster.cpu_seconds(), clients_seconds()
            # A client holds up to 8 MB: 64 of them do not fit into the default heap.
            tree.run("howdah", "bench", "hdfs", *words, "--json", document, HOWDAH_OPTS="-Xmx1g", **cluster.site)
            spent = cluster.cpu_seconds() - before
            with open(document) as file:
                samples = json.load(file)["samples"]
            figures = figures_of(samples)
            windows.update((window_name(sample), (sample["begin"], sample["end"])) for sample in samples)
            for sample in samples:
                if sample["measure"] in READS:
                    taken = busy.between(sample["begin"], sample["end"])
                    figures["processor time", window_name(sample)] = ("s", "lower", taken)
            if by_file:
                check_short_circuit(cluster)
                return figures
            figures["processor time", "DataNodes"] = ("s", "lower", spent)
            figures["processor time", "clients"] = ("s", "lower", clients_seconds() - clients_before)
            if options.dfsio:
                figures.update(dfsio(cluster, options.dfsio, windows))
            figures["memory", "DataNode's peak"] = ("MB", "lower", cluster.resident())
            if tree.name == "ours":
                peak, limit = cluster.engine_memory()
                figures["memory", "engine of a DataNode"] = ("MB", "lower", peak)
                figures[LIMIT] = ("MB", "lower", limit)
            return figures
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)


def check_short_circuit(cluster):
    """Ends it all unless DataNodes passed files to the clients."""
    for log in glob.glob(os.path.join(cluster.folder, "logs", "datanode-*.log")):
        with open(log, errors="replace") as file:
            if any("REQUEST_SHORT_CIRCUIT_FDS" in line and "success: true" in line for line in file):
                return
    raise SystemExit("no DataNode passed a file to a client: short-circuit reads were not used")


def window_name(sample):
    """As the rows are named."""
    many = "mb_s" in sample["values"]
    return "%d %s" % (sample["clients"], sample["measure"]) if many else sample["measure"]


def profile(result, sides, options, medium):
    """Leaves in the report what the processors did in each part of one more round of either side, which counts nothing."""
    by_side = {}
    for name, tree in sides.items():
        windows = {}

        def work(jvm_options):
            with java_profile.all_jvms(jvm_options):
                measure(tree, [], options, medium, windows)

        by_side[name] = java_profile.profile(options.java_home, work, lambda _: windows)
        print("%s, profile, %s" % (medium, name), flush=True)
    for part in by_side["ours"]:
        for name in sides:
            result.profiles["%s, %s, %s" % (part, medium, name)] = by_side[name][part]


def add_rows(result, seen, medium, variants):
    """A row for each case, with what is asked for; and one for each variant, of which nothing is."""
    limits = seen.pop((LIMIT, "MB", "lower"), None)
    for ((kind, case), unit, better), sides in seen.items():
        row = "%s, %s" % (case, medium)
        if "stock" not in sides:  # beside the limit, then
            for name, held in sides.items():
                named = row if name == "ours" else "%s, %s" % (row, name)
                target = TARGETS[kind, case]
                result.add(kind, named, unit, better, held, limits[name], reference_name="memory.limit", target=target)
            continue
        result.add(kind, row, unit, better, sides["ours"], sides["stock"], target=TARGETS.get((kind, case)))
        for name in variants:
            if name != "short-circuit":
                result.add(kind, "%s, %s" % (row, name), unit, better, sides[name], sides["stock"])
            elif name in sides:
                by_file = sides[name]
                named = dict(reference_name="stock, short-circuit")
                result.add(kind, "%s, %s" % (row, name), unit, better, by_file, sides[STOCK_SHORT_CIRCUIT], **named)
                named = dict(reference_name="ours, short-circuit")
                result.add(kind, row + ", engine against file", unit, better, sides["ours"], by_file, **named)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each medium (default 3)")
    parser.add_argument("--transport", default="shm", help="what ours goes over (default shm)")
    parser.add_argument("--media", default="tmpfs,disk", help="where blocks are kept (default tmpfs,disk)")
    parser.add_argument("--size", default="1g", help="the one client's file (default 1g)")
    parser.add_argument("--client-size", default="64m", help="the file of each of many clients (default 64m)")
    parser.add_argument("--clients", default="4,64", help="how many clients at a time (default 4,64)")
    parser.add_argument("--dfsio", type=int, default=3072, help="MB that TestDFSIO moves; 0 leaves it out (default 3072)")
    parser.add_argument("--settle", type=int, default=12, help="seconds that JVMs settle before what counts (default 12)")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="of ours, as rows of their own (default all)")
    perf_profile.add_option(parser)
    memory.add_option(parser)
    options = parser.parse_args()
    variants = [name for name in options.variants.split(",") if name]
    media = options.media.split(",")
    if options.rounds < 1 or not set(media) <= set(MEDIA) or not set(variants) <= set(VARIANTS):
        parser.error("--rounds must be at least 1, --media of %s, --variants of %s" % (",".join(MEDIA), ",".join(VARIANTS)))

    trees = [stock.Tree("ours", options.ours, options.java_home), stock.Tree("stock", options.stock, options.java_home)]
    result = report.Report(
        "hdfs",
        "stock Hadoop 2.8.1, loopback TCP",
        options.root,
        jdk=report.jdk(options.java_home),
        transport=options.transport,
        cluster="3 DataNodes, replication 3, one machine",
        size=options.size,
    )
    profiled = perf_profile.wanted(options, result)
    kept = memory.Kept(options.keep_memory)
    result.conditions.update(kept.conditions())
    undisturbed = report.Undisturbed(2, options.rounds * len(media))
    for medium in media:
        seen = {}
        order = sides_of(trees, variants)
        for number in range(options.rounds):
            for name, tree, extra in order if number % 2 == 0 else order[::-1]:
                figures = undisturbed.measure(functools.partial(measure, tree, extra, options, medium))
                for case, (unit, better, value) in figures.items():
                    seen.setdefault((case, unit, better), {}).setdefault(name, []).append(value)
                print("%s, round %d of %d, %s" % (medium, number + 1, options.rounds, name), flush=True)
        add_rows(result, seen, medium, variants)
        if profiled:
            profile(result, {tree.name: tree for tree in trees}, options, medium)
        undisturbed.tell(result)
        print(result.write(), flush=True)  # of each medium, for whoever stops it
    return 0 if all(row.get("met", True) for row in result.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
