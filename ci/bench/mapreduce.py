"""MapReduce's jobs on the stock tree, as it is by default and tuned, and on ours, in turn within one run.

TeraSort, a sort of random text, WordCount with and without a combiner, and an inverted index. Each round of a side has a cluster
of its own. Processor seconds are those of the tasks' processes, which their counters have, and of the NodeManagers.
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
# Bytes written to local disk for each byte of map output, at most.
DISK_MOST = 1.1
# Units of the measures.
MEASURES = {"time": "s", "cpu": "s", "disk bytes": "B/B", "wait": "s"}
# What a wait that the clock does not show counts as, in seconds.
TICK = 0.001


class Side(stock.Tree):
    """A tree with the options that each of its jobs gets."""

    def __init__(self, name, home, java_home, options):
        super().__init__(name, home, java_home)
        self.options = options


def split_mb(size_mb):
    return LARGE_SPLIT if size_mb >= LARGE else SPLIT


def common_options(size_mb, reducers):
    """What all sides get: splits, reducers, and containers that hold a split's records."""
    heap = split_mb(size_mb) * 2 + 256
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


def jobs(tree):
    """{job: (command, input, output)}; each command takes the options behind its program's name."""
    examples = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-examples-*.jar")]
    bench = glob.glob(os.path.join(tree.home, "share", "howdah", "howdah-bench-*.jar"))[0]
    words = ["hadoop", "jar", bench, "io.howdah.bench.mapreduce.Words"]
    sort = ["-inFormat", SORTS % ("in", "In"), "-outFormat", SORTS % ("out", "Out")]
    sort += ["-outKey", "org.apache.hadoop.io.Text", "-outValue", "org.apache.hadoop.io.Text"]
    return {
        "TeraSort": (examples + ["terasort"], ["/tera", "/out-tera"]),
        "Sort": (examples + ["sort"], [*sort, "/records", "/out-sort"]),
        "WordCount": (examples + ["wordcount"], ["/text", "/out-count"]),
        "WordCount, no combiner": (words, ["count", "/text", "/out-plain"]),
        "inverted index": (words, ["index", "/text", "/out-index"]),
    }


def settings(options):
    return ["-D%s=%s" % item for item in options.items()]


def generate(tree, size_mb, site):
    """Writes the inputs of all jobs."""
    examples = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-examples-*.jar")]
    tree.run(*examples, "teragen", "-Dmapreduce.job.maps=4", str((size_mb << 20) // 100), "/tera", **site)
    random = ["randomtextwriter", "-Dmapreduce.randomtextwriter.totalbytes=%d" % (size_mb << 20)]
    random += ["-Dmapreduce.randomtextwriter.bytespermap=%d" % (size_mb << 18)]
    tree.run(*examples, *random, "/records", **site)
    tree.run(*examples, *random, "-outFormat", TEXT_OUTPUT, "/text", **site)


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


def measure(tree, size_mb, wanted, scratch):
    """{"JOB|MEASURE": figure} of each job, once, on a fresh cluster of this tree."""
    folder = tempfile.mkdtemp(prefix=tree.name, dir=scratch)
    cluster = os.path.join(folder, "cluster")
    figures = {}
    tree.run("howdah", "cluster", "start", "--dir", cluster, "--memory", memory_of(size_mb))
    try:
        site = {"HADOOP_CONF_DIR": os.path.join(cluster, "conf")}
        generate(tree, size_mb, site)
        for job, (program, words) in jobs(tree).items():
            if wanted and job not in wanted:
                continue
            for name, value in run(tree, cluster, [*program, *settings(tree.options), *words], site).items():
                figures["%s|%s" % (job, name)] = value
            if job == "TeraSort":
                examples = ["hadoop", "jar", tree.jar("mapreduce/hadoop-mapreduce-examples-*.jar")]
                tree.run(*examples, "teravalidate", "/out-tera", "/validated", **site)
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


def add_rows(result, figures, size_mb):
    """figures: {"JOB|MEASURE": {side: [figure a round]}}. A row for each measure of each job, against both kinds of stock."""
    for case, sides in figures.items():
        job, name = case.rsplit("|", 1)
        for other in ("stock", "tuned"):
            if other not in sides:
                continue
            target = LARGE_TARGETS.get((name, other)) if size_mb >= LARGE else None
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
    options = parser.parse_args()
    if min(options.size, options.rounds, options.reducers) < 1:
        parser.error("--size, --rounds and --reducers must be at least 1")
    if not all("=" in option for option in options.option):
        parser.error("--option: NAME=VALUE was expected")
    return options


def main():
    options = arguments()
    common = common_options(options.size, options.reducers)
    own = dict(option.split("=", 1) for option in options.option)
    sides = [
        Side("ours", options.ours, options.java_home, dict(common, **own)),
        Side("stock", options.stock, options.java_home, common),
    ]
    if not options.no_tuned:
        sides.append(Side("tuned", options.stock, options.java_home, dict(common, **tuned_options(options.size))))
    result = report.Report(
        "mapreduce",
        "stock Hadoop 2.8.1",
        options.root,
        jdk=report.jdk(options.java_home),
        cluster="3 DataNodes, 2 NodeManagers, one machine",
        size_mb=options.size,
        split_mb=split_mb(options.size),
        tuned=tuned_options(options.size),
        own=own,
    )
    scratch = tempfile.mkdtemp(prefix="howdah-bench-")
    try:
        figures = stock.alternate(
            "jobs", options.rounds, sides, lambda tree: measure(tree, options.size, options.job, scratch)
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    add_rows(result, figures, options.size)
    print(result.write())
    lines = missed(result.rows)
    print("\n".join(lines) if lines else "every target is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
