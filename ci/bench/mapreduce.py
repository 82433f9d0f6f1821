"""MapReduce's jobs on the stock tree, as it is by default and tuned, and on ours, in turn within one run.

TeraSort, a sort of random text, WordCount with and without a combiner, and an inverted index. Each round of a side has a cluster
of its own, with HDFS or with a shared folder in its place. Processor seconds are those of the tasks' processes, which their
counters have, and of the NodeManagers.
"""

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request

import java_profile
import perf_profile
import report
import stock

SORTS = "org.apache.hadoop.mapreduce.lib.%sput.SequenceFile%sputFormat"
TEXT_OUTPUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
# From this many MB on splits are of 512 MB, so that starting JVMs does not hide the work, and the targets hold.
LARGE = 8192
SPLIT, LARGE_SPLIT = 128, 512
# How many times better, at least. cpu: 0.60 of stock's default, 0.75 of tuned stock's; 25 % shorter; half of the wait.
LARGE_TARGETS = {("cpu", "stock"): 1 / 0.60, ("cpu", "tuned"): 1 / 0.75, ("time", "stock"): 1 / 0.75, ("wait", "stock"): 2.0}
# No job slower than stock's default at any size; a difference within the spread is none.
NOT_SLOWER = 1.0
# In a shared folder, against stock's default in the same mode: 20 % shorter at any size.
SHARED_TARGET = 1 / 0.80
# Bytes written to local disk for each byte of map output, at most.
DISK_MOST = 1.1
# Units of the measures.
MEASURES = {"time": "s", "cpu": "s", "disk bytes": "B/B", "wait": "s"}
# What a wait that the clock does not show counts as, in seconds.
TICK = 0.001


# Of a shared folder without HDFS. Stock's local file system is one object in a task, whose working directory the task itself
# changes, so TeraSort's tasks do not find the partitions' file of its own partitioner: all sides take the other one.
SHARED_OPTIONS = {"mapreduce.terasort.simplepartitioner": "true"}
OWN_FILE_SYSTEM = "shared:///"
# From this size on HDFS keeps one replica: three of each input would fill the one disk, and the page cache.
ONE_REPLICA = 4096


class Side(stock.Tree):
    """A tree with the options that each of its jobs gets, and the file system of a shared folder."""

    def __init__(self, name, home, java_home, options, file_system="file:///"):
        super().__init__(name, home, java_home)
        self.options = options
        self.file_system = file_system


def split_mb(size_mb):
    return LARGE_SPLIT if size_mb >= LARGE else SPLIT


def common_options(size_mb, reducers):
    """What all sides get: splits, reducers, and containers that hold a split's records."""
    # A JVM's old generation is two thirds of its heap; what a tuned map sorts in is one array, which has to fit in there.
    heap = max(split_mb(size_mb) * 2 + 256, split_mb(size_mb) * 3)
    return {
        "mapreduce.input.fileinputformat.split.minsize": split_mb(size_mb) << 20,
        "mapreduce.job.reduces": reducers,
        "mapreduce.map.memory.mb": heap + 384,
        "mapreduce.map.java.opts": "-Xmx%dm" % heap,
        "mapreduce.reduce.memory.mb": heap + 384,
        "mapreduce.reduce.java.opts": "-Xmx%dm" % heap,
    }


def tuned_options(size_mb):
    """docs/guide/mapreduce.md: a whole split is sorted in memory. The rest is what stock's own documentation advises."""
    return {
        "mapreduce.task.io.sort.mb": split_mb(size_mb) * 17 // 10,
        "mapreduce.map.sort.spill.percent": "0.95",
        "mapreduce.task.io.sort.factor": 64,
        "mapreduce.reduce.input.buffer.percent": "0.6",
    }


JOBS = ("TeraSort", "Sort", "WordCount", "WordCount, no combiner", "inverted index")


def jobs(tree, root=""):
    """{job: (command, [..., input, output])}; each command takes the options behind its program's name.

    root: the folder of all input and output
    """
    examples = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-examples-*.jar")]
    bench = glob.glob(os.path.join(tree.home, "share", "howdah", "howdah-bench-*.jar"))[0]
    words = ["hadoop", "jar", bench, "io.howdah.bench.mapreduce.Words"]
    sort = ["-inFormat", SORTS % ("in", "In"), "-outFormat", SORTS % ("out", "Out")]
    sort += ["-outKey", "org.apache.hadoop.io.Text", "-outValue", "org.apache.hadoop.io.Text"]
    commands = [
        (examples + ["terasort"], [root + "/tera", root + "/out-tera"]),
        (examples + ["sort"], [*sort, root + "/records", root + "/out-sort"]),
        (examples + ["wordcount"], [root + "/text", root + "/out-count"]),
        (words, ["count", root + "/text", root + "/out-plain"]),
        (words, ["index", root + "/text", root + "/out-index"]),
    ]
    return dict(zip(JOBS, commands))


def settings(options):
    return ["-D%s=%s" % item for item in options.items()]


def inputs(size_mb, root, words):
    """The commands of the examples' jar that write what jobs read. words: what follows their programs' names."""
    random = ["randomtextwriter", "-Dmapreduce.randomtextwriter.totalbytes=%d" % (size_mb << 20)]
    random += ["-Dmapreduce.randomtextwriter.bytespermap=%d" % (size_mb << 18)]
    commands = {
        root + "/tera": ["teragen", "-Dmapreduce.job.maps=4", str((size_mb << 20) // 100), root + "/tera"],
        root + "/records": [*random, root + "/records"],
        root + "/text": [*random, "-outFormat", TEXT_OUTPUT, root + "/text"],
    }
    read = {job[-2] for job in words}
    return [command for path, command in commands.items() if path in read]


def counters(printed):
    """{name: value} of the counters that a job's client printed."""
    return {name.strip(): int(value) for name, value in re.findall(r"^\s+([^=\n]+)=(\d+)\s*$", printed, re.M)}


def job_id(printed):
    return re.search(r"Job (job_\d+_\d+) completed successfully", printed).group(1)


def figures_of(found):
    """Processor seconds of a job's tasks, and bytes written to local disks for each byte of its maps' output."""
    return {
        "cpu": found["CPU time spent (ms)"] / 1000,
        "disk bytes": found["FILE: Number of bytes written"] / found["Map output materialized bytes"],
    }


def wait_of(attempts):
    """Seconds from the last map's end to the reducers' first calls: the median of those that succeeded."""
    done = [attempt for attempt in attempts if attempt["state"] == "SUCCEEDED"]
    last = max(attempt["finishTime"] for attempt in done if attempt["type"] == "MAP")
    merged = [attempt["mergeFinishTime"] for attempt in done if attempt["type"] == "REDUCE"]
    return max(TICK, (statistics.median(merged) - last) / 1000)


def attempts(port, job, seconds=120):
    """What the history server knows of a job's attempts. It learns of a job some seconds after its end."""
    base = "http://localhost:%s/ws/v1/history/mapreduce/jobs/%s/tasks" % (port, job)
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = []
            for task in ask(base)["tasks"]["task"]:
                found += ask("%s/%s/attempts" % (base, task["id"]))["taskAttempts"]["taskAttempt"]
            return found
        except (urllib.error.URLError, KeyError, TypeError):
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def ask(url):
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def nodemanager_seconds(cluster):
    """Processor seconds of the cluster's NodeManagers so far."""
    total = 0
    for file in glob.glob(os.path.join(cluster, "run", "nodemanager-*.pid")):
        with open(file, encoding="ascii") as pid:
            with open("/proc/%s/stat" % pid.read().split()[0], encoding="ascii") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def history_port(cluster):
    with open(os.path.join(cluster, "cluster.properties"), encoding="utf-8") as file:
        properties = dict(line.strip().split("=", 1) for line in file if "=" in line)
    return properties["port.historyserver.http"]


def start(tree, options, folder):
    """Starts a cluster in a folder. Returns its folder, and the folder of its jobs' files."""
    cluster = os.path.join(folder, "cluster")
    command = ["howdah", "cluster", "start", "--dir", cluster, "--memory", memory_of(options.size)]
    root = ""
    if options.mode:
        root = os.path.join(folder, "shared")
        os.mkdir(root)
        command += ["--mode", options.mode, "--shared", root, "-D", "fs.defaultFS=" + tree.file_system]
    elif options.size >= ONE_REPLICA:
        command += ["-D", "dfs.replication=1"]
    tree.run(*command)
    return cluster, root


def measure(tree, options, scratch, windows=None):
    """{"JOB|MEASURE": figure} of each job, once, on a fresh cluster of this tree.

    windows: receives when each job ran, {job: (begin, end)}
    """
    folder = tempfile.mkdtemp(prefix=re.sub(r"\W+", "-", tree.name), dir=scratch)
    examples = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-examples-*.jar")]
    figures = {}
    cluster, root = start(tree, options, folder)
    try:
        site = {"HADOOP_CONF_DIR": os.path.join(cluster, "conf")}
        wanted = {job: it for job, it in jobs(tree, root).items() if not options.job or job in options.job}
        for command in inputs(options.size, root, [words for _, words in wanted.values()]):
            tree.run(*examples, *command, **site)
        for job, (program, words) in wanted.items():
            began = time.monotonic()
            found = run(tree, cluster, [*program, *settings(tree.options), *words], site)
            if windows is not None:
                windows[job] = (began, began + found["time"])
            if options.mode:
                del found["disk bytes"]  # the counter has the job's output, too: all of it is in local files
            for name, value in found.items():
                figures["%s|%s" % (job, name)] = value
            if job == "TeraSort":
                tree.run(*examples, "teravalidate", root + "/out-tera", root + "/validated", **site)
            tree.run("hdfs", "dfs", "-rm", "-r", "-skipTrash", words[-1], **site)
    finally:
        tree.run("howdah", "cluster", "stop", "--dir", cluster)
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def memory_of(size_mb):
    """What a NodeManager lends: two containers and the ApplicationMaster's."""
    return "%dm" % (2 * common_options(size_mb, 1)["mapreduce.map.memory.mb"] + 512)


def run(tree, cluster, command, site):
    before, started = nodemanager_seconds(cluster), time.monotonic()
    printed = tree.run(*command, **site)
    figures = {"time": time.monotonic() - started}
    figures.update(figures_of(counters(printed)))
    figures["cpu"] += nodemanager_seconds(cluster) - before
    figures["wait"] = wait_of(attempts(history_port(cluster), job_id(printed)))
    return figures


def profile(result, sides, options, scratch):
    """Leaves in the report what the processors did in each job of one more round of each side, which counts nothing."""
    for tree in sides:
        windows = {}

        def work(jvm_options):
            with java_profile.all_jvms(jvm_options):
                measure(tree, options, scratch, windows)

        for job, kinds in java_profile.profile(options.java_home, work, lambda _: windows).items():
            result.profiles["%s, %s" % (job, tree.name)] = kinds
        print("profile, %s" % tree.name, flush=True)


def target_of(name, other, size_mb, mode):
    """How many times better than another side a measure is to be; None for no target."""
    if mode:
        return SHARED_TARGET if (name, other) == ("time", "stock") else None
    return LARGE_TARGETS.get((name, other)) if size_mb >= LARGE else None


def add_rows(result, figures, size_mb, mode=None):
    """figures: {"JOB|MEASURE": {side: [figure a round]}}. A row for each measure of each job, against each other side."""
    for case, sides in figures.items():
        job, name = case.rsplit("|", 1)
        for other in sides:
            if other == "ours":
                continue
            target = target_of(name, other, size_mb, mode)
            not_slower = target is None and (name, other) == ("time", "stock")
            result.add(
                name,
                job,
                MEASURES[name],
                "lower",
                sides["ours"],
                sides[other],
                reference_name=other,
                target=NOT_SLOWER if not_slower else target,
                paired=name in ("time", "cpu"),
            )
            row = result.rows[-1]
            if not_slower:
                row["met"] = row["met"] or row["within_spread"]


def missed(rows):
    """A line for each target that was not met."""
    lines = [
        "missed: %s, %s: %.2f times better than %s, asked for %.2f"
        % (row["measure"], row["case"], row["ratio"], row["reference_name"], row["target"])
        for row in rows
        if not row.get("met", True)
    ]
    written = {row["case"]: row["ours"] for row in rows if row["measure"] == "disk bytes" and row["ours"] > DISK_MOST}
    return lines + [
        "missed: disk bytes, %s: %.2f bytes written for each byte of map output, asked for %.1f" % (job, value, DISK_MOST)
        for job, value in written.items()
    ]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--size", type=int, default=1024, help="MB of each input (default 1024); from %d on the targets hold" % LARGE)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, the order of the sides changing (default 3)")
    parser.add_argument("--reducers", type=int, default=2, help="reducers of each job (default 2)")
    parser.add_argument("--job", action="append", default=[], help="only this job; may be given again")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="of our jobs only; may be given again")
    parser.add_argument("--no-tuned", action="store_true", help="without tuned stock")
    parser.add_argument("--no-stock", action="store_true", help="without stock's default, and so without targets against it")
    parser.add_argument(
        "--beside", action="append", default=[], metavar="NAME=VALUE", help="also our tree with this option; may be given again"
    )
    perf_profile.add_option(parser)
    parser.set_defaults(profile="no")
    parser.add_argument("--mode", choices=("lustre-local", "lustre-only"), help="without HDFS, in a shared folder")
    options = parser.parse_args()
    if min(options.size, options.rounds, options.reducers) < 1:
        parser.error("--size, --rounds and --reducers must be at least 1")
    if not all("=" in option for option in options.option + options.beside):
        parser.error("--option and --beside: NAME=VALUE was expected")
    unknown = set(options.job) - set(JOBS)
    if unknown:
        parser.error("--job: one of %s was expected, not %s" % (", ".join(JOBS), ", ".join(sorted(unknown))))
    if options.no_tuned and options.no_stock and not options.beside:
        parser.error("nothing to compare with")
    return options


def sides_of(options):
    """The sides that are compared; ours is the first."""
    common = common_options(options.size, options.reducers)
    if options.mode:
        common.update(SHARED_OPTIONS)
    own = dict(common, **dict(option.split("=", 1) for option in options.option))
    sides = [Side("ours", options.ours, options.java_home, own, OWN_FILE_SYSTEM)]
    if not options.no_stock:
        sides.append(Side("stock", options.stock, options.java_home, common))
    if not options.no_tuned:
        sides.append(Side("tuned", options.stock, options.java_home, dict(common, **tuned_options(options.size))))
    for beside in options.beside:
        name, value = beside.split("=", 1)
        short = ".".join(name.split(".")[-2:])
        sides.append(Side("%s=%s" % (short, value), options.ours, options.java_home, dict(own, **{name: value}), OWN_FILE_SYSTEM))
    return sides


def cluster_of(options):
    """What the figures were measured on, in words."""
    if options.mode:
        return "2 NodeManagers, %s, one machine" % options.mode
    return "3 DataNodes, %s, 2 NodeManagers, one machine" % (
        "one replica" if options.size >= ONE_REPLICA else "3 replicas"
    )


def main():
    options = arguments()
    sides = sides_of(options)
    result = report.Report(
        "mapreduce",
        "stock Hadoop 2.8.1",
        options.root,
        jdk=report.jdk(options.java_home),
        cluster=cluster_of(options),
        size_mb=options.size,
        split_mb=split_mb(options.size),
        tuned=tuned_options(options.size),
        own=options.option,
        beside=options.beside,
    )
    scratch = tempfile.mkdtemp(prefix="howdah-bench-")
    try:
        figures = stock.alternate(
            "jobs", options.rounds, sides, lambda tree: measure(tree, options, scratch)
        )
        if options.profile == "yes" and perf_profile.wanted(options, result):
            profile(result, sides, options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    add_rows(result, figures, options.size, options.mode)
    print(result.write())
    lines = missed(result.rows)
    print("\n".join(lines) if lines else "every target is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
