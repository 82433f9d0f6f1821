"""HDFS in a storage mode: jobs on stock Hadoop, on ours with all blocks on disk, and on ours in HHH, HHH-M and HHH-L, in turn.

Each round starts a new cluster for each side, the order changing from round to round, and runs TestDFSIO, Sort and TeraSort
on it. With a limit no process of a cluster, of any side, reads or writes more bytes of its disk, nor of the one with the
shared path, in a second; what limits is in disks.py.
"""

import argparse
import contextlib
import glob
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request

import disks
import memory
import report
import stock
import storage_page

# What papers on the reference system report: throughput of writes, time of Sort and of TeraSort.
GOALS = {
    "hhh": {"dfsio write": 2.06, "sort": 1 / (1 - 0.41), "terasort": 1 / (1 - 0.12)},
    "hhh-m": {"dfsio write": 2.26, "cpu dfsio write": 2, "sort": 1 / (1 - 0.55), "terasort": 1 / (1 - 0.21)},
}
# Which of them do not depend on the disk.
WITHOUT_LIMIT = {"cpu dfsio write"}
MEASURES = {"dfsio": ("throughput", "MB/s", "higher"), "cpu": ("daemons' processor time", "s/GB", "lower")}
# Share of the reads served from RAM of a file that was read three times before, and did not fit when it was written.
HOT_SHARE = 0.9
# Pace of a write while RAM is full and the mover makes room, of that without moves.
BESIDE_MOVES = 0.85
# What is written after an acknowledgement, in the modes that do so; seen at the end of TestDFSIO's writes.
BEHIND = {"hhh-m": "UnpersistedBytes", "hhh-l": "UnsharedBytes"}
LONGEST_BEHIND = 600
SIDES = ("stock", "disk", "hhh", "hhh-m", "hhh-l")
NO_ROWS = ("hot share", "behind MB", "behind s", "beside moves", "moved MB")


class Side(stock.Tree):
    """A tree, and the storage mode of its clusters: None has all blocks on disk."""

    def __init__(self, name, home, java_home, mode=None):
        super().__init__(name, home, java_home)
        self.mode = mode


def ticks(cluster):
    """Processor seconds of a cluster's daemons so far."""
    total = 0
    for path in glob.glob(os.path.join(cluster, "run", "*.pid")):
        with open(path, encoding="ascii") as file:
            pid = file.read().split()[0]
        with open("/proc/%s/stat" % pid, encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def run_dfsio(side, site, *arguments):
    return side.run("hadoop", "jar", side.jar("mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar"), "TestDFSIO", *arguments, "-resFile", os.devnull, **site)


def throughput(side, site, step, size_mb):
    """MB/s of a task that writes or reads."""
    printed = run_dfsio(side, site, "-" + step, "-nrFiles", "4", "-size", "%dMB" % (size_mb // 4))
    return float(re.search(r"Throughput mb/sec:\s*([\d.]+)", printed).group(1))


def dfsio(side, cluster, site, size_mb):
    figures = {}
    for step in ("write", "read"):
        before = ticks(cluster)
        figures["dfsio " + step] = throughput(side, site, step, size_mb)
        if step == "write" and side.mode in BEHIND:
            figures.update(written_behind(side, cluster))
        figures["cpu dfsio " + step] = (ticks(cluster) - before) / (size_mb / 1000)
    run_dfsio(side, site, "-clean")
    return figures


def sorts(side, site, size_mb):
    """Seconds of Sort, TeraGen and TeraSort, start of their clients included."""

    def seconds(*arguments):
        started = time.monotonic()
        side.run("hadoop", "jar", examples, *arguments, **site)
        return time.monotonic() - started

    examples = side.jar("mapreduce/hadoop-mapreduce-examples-*.jar")
    seconds("randomwriter", "-D", "mapreduce.randomwriter.totalbytes=%d" % (size_mb << 20), "/sort/in")
    figures = {"sort": seconds("sort", "/sort/in", "/sort/out")}
    # With three replicas in RAM both jobs' files would take 12 times the size.
    side.run("hdfs", "dfs", "-rm", "-r", "-skipTrash", "/sort", **site)
    figures["teragen"] = seconds("teragen", str((size_mb << 20) // 100), "/tera/in")
    figures["terasort"] = seconds("terasort", "/tera/in", "/tera/out")
    return figures


def datanodes(cluster):
    """What the JMX of each DataNode shows of its storage mode."""
    with open(os.path.join(cluster, "cluster.properties"), encoding="utf-8") as file:
        properties = dict(line.strip().split("=", 1) for line in file if "=" in line)
    for name, port in properties.items():
        if re.fullmatch(r"port\.datanode-\d+\.http", name):
            url = "http://localhost:%s/jmx?qry=Hadoop:service=DataNode,name=HowdahStorage-*" % port
            with urllib.request.urlopen(url, timeout=30) as answer:
                yield json.load(answer)["beans"][0]


def sums(cluster, *names):
    beans = list(datanodes(cluster))
    return [sum(bean[name] for bean in beans) for name in names]


def written_behind(side, cluster):
    """What was acknowledged and is not persisted yet, and how long it takes: its processor time counts, too."""
    first = left = sums(cluster, BEHIND[side.mode])[0]
    started = time.monotonic()
    while left:
        if time.monotonic() > started + LONGEST_BEHIND:
            raise SystemExit("%s: %d bytes are not persisted after %d s" % (side.name, left, LONGEST_BEHIND))
        time.sleep(0.5)
        left = sums(cluster, BEHIND[side.mode])[0]
    return {"behind MB": first / 1e6, "behind s": time.monotonic() - started}


def hot_share(side, cluster, site, scratch):
    """The share of reads from RAM of a file with one replica, which is not in RAM at first, after three reads of it."""
    file = os.path.join(scratch, "hot")
    with open(file, "wb") as out:
        out.write(os.urandom(32 << 20))
    side.run("hdfs", "dfs", "-D", "dfs.replication=1", "-put", file, "/hot", **site)
    for _ in range(3):
        side.run("hdfs", "dfs", "-get", "/hot", file + ".back", **site)
        os.remove(file + ".back")
    deadline = time.monotonic() + 60
    while sums(cluster, "CopiesInRamBytes")[0] < 32 << 20 and time.monotonic() < deadline:
        time.sleep(0.5)
    before = sums(cluster, "Reads", "ReadsFromRam")
    for _ in range(3):
        side.run("hdfs", "dfs", "-get", "/hot", file + ".back", **site)
        os.remove(file + ".back")
    reads, from_ram = (now - then for now, then in zip(sums(cluster, "Reads", "ReadsFromRam"), before))
    return from_ram / reads


def start_options(mode, ram, shared):
    if mode is None:
        return []
    return ["--mode", mode, "--ram", ram] + (["--shared", shared] if mode == "hhh-l" else [])


@contextlib.contextmanager
def new_cluster(side, options, places, **properties):
    """A cluster of a side (its folder, a command's environment), in folders that go with it: a stopped cluster's blocks stay in RAM."""
    properties["dfs.blocksize"] = options.block << 20
    with contextlib.ExitStack() as stack:
        folder, ram, shared = (
            stack.enter_context(tempfile.TemporaryDirectory(prefix="howdah-bench-%s-" % side.name, dir=parent))
            for parent in (places.scratch, options.ram, places.shared)
        )
        cluster = os.path.join(folder, "cluster")
        settings = [word for item in properties.items() for word in ("-D", "%s=%s" % item)]
        side.run("howdah", "cluster", "start", "--dir", cluster, *settings, *start_options(side.mode, ram, shared))
        stack.callback(side.run, "howdah", "cluster", "stop", "--dir", cluster)
        yield cluster, {"HADOOP_CONF_DIR": os.path.join(cluster, "conf")}


def beside_moves(side, options, places):
    """The pace of a write that fills RAM three times over, beside the mover that makes room, and of one without moves."""
    figures = {}
    for interval in ("1s", "1h"):
        # A replica in RAM, of three; each of three DataNodes fills 70 % of its RAM folder.
        properties = {"dfs.rdma.memory.capacity": max(64, options.size // 6) << 20, "dfs.rdma.mover.interval": interval}
        with new_cluster(side, options, places, **properties) as (cluster, site):
            figures[interval] = throughput(side, site, "write", options.size)
            if interval == "1s":
                moved = sums(cluster, "MovedBytes")[0] / 1e6
    return {"beside moves": figures["1s"] / figures["1h"], "moved MB": moved}


def jobs(side, options, places):
    """{case: figure} of a new cluster of a side."""
    with new_cluster(side, options, places) as (cluster, site):
        figures = dfsio(side, cluster, site, options.size)
        if side.mode == "hhh":
            figures["hot share"] = hot_share(side, cluster, site, os.path.dirname(cluster))
        figures.update(sorts(side, site, options.size))
    if side.mode == "hhh":
        figures.update(beside_moves(side, options, places))
    return figures


def disk_of(limit):
    return "%d MB/s of disk" % (limit >> 20) if limit else "disk not limited"


def add(result, figures, limit):
    """Rows of {case: {side: [figure a round]}}."""
    disk = disk_of(limit)
    for case, sides in figures.items():
        if case in NO_ROWS:
            result.conditions.setdefault(case, {})[disk] = {
                side: round(statistics.median(values), 3) for side, values in sides.items()
            }
            continue
        measure, unit, better = MEASURES.get(case.split()[0], ("time", "s", "lower"))
        for side, values in sides.items():
            if side != "stock":
                goal = GOALS.get(side, {}).get(case) if limit or case in WITHOUT_LIMIT else None
                name = "%s, %s, %s" % (case[4:] if case.startswith("cpu ") else case, side, disk)
                result.add(measure, name, unit, better, values, sides["stock"], target=goal, paired=True)


def missed_hot_share(figures):
    """What to say of the share of reads from RAM; nothing if it is met."""
    least = min((share for values in figures.get("hot share", {}).values() for share in values), default=None)
    return [] if least is None or least >= HOT_SHARE else ["missed: %.0f %% of the reads of a hot file are from RAM" % (100 * least)]


def missed_pace(figures):
    """What to say of the pace of a write beside moves, the median of the rounds'; nothing if it is met."""
    paces = figures.get("beside moves", {}).values()
    least = min((statistics.median(values) for values in paces), default=1)
    return [] if least >= BESIDE_MOVES else ["missed: a write beside moves has %.0f %% of its pace without" % (100 * least)]


def missed(rows):
    return [
        "missed: %s, %s: %.2f times better than stock, the goal is %.2f" % (row["measure"], row["case"], row["ratio"], row["target"])
        for row in rows
        if not row.get("met", True)
    ]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--rounds", type=int, default=4, help="clusters of each side, the order changing (default 4)")
    parser.add_argument("--size", type=int, default=1024, help="MB that each job writes (default 1024)")
    parser.add_argument("--block", type=int, default=16, help="MB of a block (default 16)")
    parser.add_argument("--ram", default="/dev/shm", help="a folder on a tmpfs (default /dev/shm)")
    parser.add_argument("--shared", help="a folder for the shared path of HHH-L (default: beside the clusters)")
    parser.add_argument("--sides", default=",".join(SIDES), help="stock, and what is compared with it (default all)")
    parser.add_argument("--limits", default="150,0", help="MB/s of disk, a set of rows each; 0: not limited (default 150,0)")
    parser.add_argument("--limit-by", choices=disks.WAYS, default="io.max", help="what limits: a cgroup (default), or a file system before the folders")
    parser.add_argument("--faultfs", help="the program that limits by fuse")
    memory.add_option(parser)
    options = parser.parse_args()
    if min(options.rounds, options.block) < 1 or options.size < 4:
        parser.error("--rounds and --block must be at least 1, --size at least 4")
    if not re.fullmatch(r"\d{1,6}(,\d{1,6})*", options.limits):
        parser.error("--limits: numbers of MB/s with commas between are needed")
    options.sides = options.sides.split(",")
    if "stock" not in options.sides or not set(options.sides) <= set(SIDES):
        parser.error("--sides of %s, among them stock" % ",".join(SIDES))
    return options


def sides_of(options):
    trees = [("stock", options.stock, None), ("disk", options.ours, None)]
    trees += [(mode, options.ours, mode) for mode in ("hhh", "hhh-m", "hhh-l")]
    return [Side(name, home, options.java_home, mode) for name, home, mode in trees if name in options.sides]


def main():
    options = arguments()
    scratch = tempfile.mkdtemp(prefix="howdah-bench-")
    sides = sides_of(options)
    result = report.Report(
        "storage",
        "stock Hadoop 2.8.1",
        options.root,
        jdk=report.jdk(options.java_home),
        cluster="3 DataNodes, 2 NodeManagers, one machine",
        size_mb=options.size,
        block_mb=options.block,
    )
    kept = memory.Kept(options.keep_memory)
    result.conditions.update(kept.conditions())
    result.conditions["limit by"] = options.limit_by
    lines = []
    try:
        for limit in (int(number) << 20 for number in options.limits.split(",")):
            with disks.limited(options.limit_by, limit, disks.Places(scratch, options.shared or scratch), options.faultfs) as places:
                figures = stock.alternate("jobs", options.rounds, sides, lambda side, places=places: jobs(side, options, places))
            add(result, figures, limit)
            lines += missed_hot_share(figures) + missed_pace(figures)
            path = result.write()  # after each limit, for whoever stops it
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(path)
    print(storage_page.of(path))
    lines += missed(result.rows)
    print("\n".join(lines) if lines else "every goal is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
