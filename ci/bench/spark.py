"""Spark: the unpatched tree over loopback, ours over the engine, in turn within one run of `howdah bench spark`.

First the shuffles (OHB's GroupBy and SortBy, TeraSort), with 1, 2 and 4 executors that share cores and memory, then GroupBy and
SortBy at the largest size that fits, then the batch workloads, then, on a machine for which `howdah spark plan` has several executors, the
shuffles by one and as planned, bound to NUMA nodes, all by several applications one after the other. Both sides have the
same heap, cores, scripts and logging. Options that are not ours are those of `howdah bench spark`; with any of what a pass sets, that
is all that is run.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import java_profile
import memory
import perf_profile
import report

SHUFFLES = ("GroupBy", "SortBy", "TeraSort")
# How many times better than stock, at least: 23.5 % shorter (the best of the POWER paper), waits halved.
TIME = 1 / (1 - 0.235)
WAIT = 2.0
LOWER = 1.0
# No workload more than 3 % slower.
NOT_SLOWER = 1 / 1.03
# What is run if nothing else is asked for. After one warming round, compilers still had a quarter to half of a shuffle's processor
# time, with four executors until the sixth; a workload runs longer, and often several times in a round.
PASSES = {
    "": {"--jobs": "shuffles", "--executors": "1,2,4", "--warm-up": "6"},
    "2 GB": {
        "--jobs": "GroupBy,SortBy",
        "--executors": "2",
        "--warm-up": "3",
        "--maps": "128",
        "--reducers": "64",
        "--memory": "8192",
    },
    "workloads": {"--jobs": "workloads", "--executors": "2", "--warm-up": "2"},
}
# (applications, rounds of each): what the compilers make of a workload differs by up to a tenth between applications. Even
# numbers of applications, for the side that starts first is the slower by 3 % or so, and the sides start in turn.
REPEATS = {"workloads": (6, 2)}
OTHER_REPEATS = (2, 3)
# MB of memory that a pass needs: the heaps of both sides, the engine's memory, shuffle files of two jobs.
NEEDS = {"2 GB": 22000}
PROFILED = ("", "2 GB")
PLANNED = "as planned"
# Conditions that are not the same in all passes.
OF_PASS = ("bind", "shape", "shuffled_mb", "warm_up", "executors_together", "run_again", "disturbed")
# What one tick of the clock behind waits and collections is, in seconds: less was not measured. Likewise a megabyte.
TICK = 0.001
# MB: the least that Spark leaves an executor on YARN beside its heap, and the engine's limit unless it is set.
OVERHEAD, OVERHEAD_SHARE = 384, 0.10
ENGINE_LIMIT = 1024
LIMIT = "spark.shuffle.rdma.memory.limit"


def target(value, job, executors):
    """What is asked of a figure; None: nothing."""
    if job not in SHUFFLES or executors == 1:
        return NOT_SLOWER if value == "seconds" else None
    return {
        "seconds": LOWER if job == "TeraSort" else TIME,
        "wait": None if job == "TeraSort" else WAIT,
        "gc": LOWER,
        "moversHeapMb": LOWER,
    }.get(value)


# By value: the measure, its unit, and whether it is shown for all jobs or for the shuffles alone.
MEASURES = {
    "seconds": ("time", "s", True),
    "wait": ("fetch wait", "s", False),
    "cpu": ("cpu", "s", True),
    "gc": ("gc time", "s", True),
    "moversHeapMb": ("fetch path's heap", "MB", False),
    "heapMb": ("heap allocated", "MB", False),
    "rssMb": ("peak memory", "MB", False),
}


def by_case(samples):
    """{(job, executors): {side: {value: [a figure a round]}}}, in the order measured."""
    cases = {}
    for sample in samples:
        side = cases.setdefault((sample["job"], sample["executors"]), {}).setdefault(sample["side"], {})
        for name, value in sample["values"].items():
            side.setdefault(name, []).append(value)
    return cases


def case_of(job, executors, size):
    return ", ".join(filter(None, (job, "%s ex." % executors, size if job in SHUFFLES else "")))


def add_rows(result, samples, size=""):
    """The rows, with what is asked of them; size is named in them if it is not the usual one."""
    for (job, executors), sides in by_case(samples).items():
        for name, (measure, unit, everywhere) in MEASURES.items():
            if not everywhere and job not in SHUFFLES:
                continue
            ours, reference = ([max(value, TICK) for value in sides[side][name]] for side in ("ours", "reference"))
            # The sides' runs follow each other, so that what slows the machine down for a while slows both.
            case = case_of(job, executors, size)
            asked = target(name, job, executors)
            result.add(measure, case, unit, "lower", ours, reference, target=asked, paired=name == "seconds")


def planned(lines):
    """Options of a pass that compares one executor with what `howdah spark plan --workers` has printed; None: it has one only."""
    workers = [line.split() for line in lines.splitlines() if not line.startswith("howdah ")]
    executors = sum(int(worker[2]) for worker in workers)
    if executors < 2:
        return None
    options = ["--jobs", "shuffles", "--executors", "1,%d" % executors, "--warm-up", "6"]
    options += ["--memory", str(executors * int(workers[0][4]))]
    for numa, processors, count in (worker[:3] for worker in workers if worker[0] != "-"):
        options += ["--bind", "numactl --physcpubind=%s --membind=%s" % (processors, numa)] * int(count)
    return options


def plan_of(options, megabytes):
    """What `howdah spark plan --workers` says of this machine, for so much memory."""
    command = [os.path.join(options.ours, "bin", "howdah"), "spark", "plan", "--workers", "--memory", "%dm" % megabytes]
    environment = dict(os.environ, JAVA_HOME=options.java_home)
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def add_plan_rows(result, samples):
    """Several executors, as planned, beside one that has all cores and memory, both of ours."""
    times = {}
    for (job, executors), sides in by_case(samples).items():
        times.setdefault(job, {})[executors] = sides["ours"]["seconds"]
    for job, seconds in times.items():
        most = max(seconds)
        result.add("time", "%s, %d ex. %s" % (job, most, PLANNED), "s", "lower", seconds[most], seconds[1], "one executor")


def bound_mb(conditions, executors):
    """What an executor may have resident: its heap, what Spark leaves beside it on YARN, and the engine's limit."""
    heap = int(re.search(r"(\d+) MB of heap", conditions["executors_together"]).group(1)) // executors
    limit = ENGINE_LIMIT
    for setting in conditions["settings"] + conditions.get("ours_conf", "").split():
        name, _, value = setting.partition("=")
        if name == LIMIT:
            number, unit = re.fullmatch(r"(\d+)([mg]?)", value).groups()
            limit = int(number) * {"m": 1, "g": 1024, "": 1 / 2**20}[unit]
    return heap + max(OVERHEAD, OVERHEAD_SHARE * heap) + limit


def check_bound(conditions, samples):
    """A line for each executor that had more resident than it may have."""
    lines = []
    for (job, executors), sides in by_case(samples).items():
        most, bound = max(sides["ours"]["rssMb"]), bound_mb(conditions, executors)
        if most > bound:
            lines.append("missed: %s, %s ex.: an executor had %d MB resident, %d are its bound" % (job, executors, most, bound))
    return lines


def shapes(samples):
    """A line for each job that was run in several shapes: which was the fastest on either side, by the best run."""
    best = {}
    for (job, executors), sides in by_case(samples).items():
        for side, values in sides.items():
            best.setdefault((job, side), []).append((min(values["seconds"]), executors))
    return [
        "%s, %s: %s" % (job, side, ", ".join("%d ex. %.2f s" % (count, seconds) for seconds, count in sorted(times)))
        for (job, side), times in best.items()
        if len(times) > 1
    ]


def check(samples):
    """A shuffle in which executors fetched nothing from each other measured no transfer."""
    for (job, executors), sides in by_case(samples).items():
        for side, values in sides.items():
            if job in SHUFFLES and executors > 1 and min(values["remoteMb"]) == 0:
                raise SystemExit("%s with %d executors, %s: nothing was fetched from another one" % (job, executors, side))


def missed(rows):
    """A line for each target that was not met: by how much."""
    return [
        "missed: %s, %s: %.2f times better than stock, asked for %.2f"
        % (row["measure"], row["case"], row["ratio"], row["target"])
        for row in rows
        if not row.get("met", True)
    ]


def passes(more, megabytes, plan=None):
    """({name: options of a run of `howdah bench spark`}, what is left out and why) where there is so much memory, and such a plan."""
    given = {word.split("=")[0] for word in more}
    if given & {"-h", "--help", *(option for options in PASSES.values() for option in options)}:
        return {"": more}, []
    left_out = [
        "%s: it needs %d MB of memory, here are %d" % (name, needs, megabytes)
        for name, needs in NEEDS.items()
        if needs > megabytes
    ]
    found = {name: words for name, words in PASSES.items() if NEEDS.get(name, 0) <= megabytes}
    found = {name: [word for each in words.items() for word in each] + more for name, words in found.items()}
    if plan:
        found[PLANNED] = plan + more
    else:
        left_out.append(PLANNED + ": howdah spark plan has one executor for this machine, so nothing is to be compared")
    return found, left_out


def profile_windows(samples, size=""):
    """{title: [(begin, end), ...]} of the profile's rounds."""
    windows = {}
    for sample in samples:
        title = "%s, %s" % (case_of(sample["job"], sample["executors"], size), sample["side"])
        begin = sample["values"]["begin"]
        windows.setdefault(title, []).append((begin, begin + sample["values"]["spent"]))
    return windows


def profile(result, options, words, number, size):
    """Leaves in the report what the processors did in one more round of each job on either side, which counts nothing."""

    def work(jvm_options):
        recording = ["--conf", "spark.executor.extraJavaOptions=" + jvm_options] if jvm_options else []
        return bench(options, [*words, *recording, *repeats(1, 1)], "profile-%d" % number)

    found = java_profile.profile(options.java_home, work, lambda document: profile_windows(document["samples"], size))
    result.profiles.update(found)


def repeats(applications, rounds):
    return ["--applications", str(applications), "--rounds", str(rounds)]


def repeats_of(name, options):
    """How often a pass runs: as often as was asked for, else as the pass needs it."""
    applications, rounds = REPEATS.get(name, OTHER_REPEATS)
    return repeats(options.applications or applications, options.rounds or rounds)


def bench(options, more, number):
    """Runs `howdah bench spark`; returns what it wrote."""
    folder = os.path.join(options.root, "build", "bench")
    os.makedirs(folder, exist_ok=True)
    raw = os.path.join(folder, "spark-samples-%s.json" % number)
    environment = dict(os.environ, JAVA_HOME=options.java_home)
    for variable in ("HADOOP_HOME", "HADOOP_CONF_DIR", "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CLASSPATH", "HOWDAH_OPTS"):
        environment.pop(variable, None)
    command = [os.path.join(options.ours, "bin", "howdah"), "bench", "spark", "--transport", options.transport]
    command += ["--against", options.stock, "--json", raw, *more]
    status = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode
    if status:
        raise SystemExit(status)
    with open(raw, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--applications", type=int, help="of each side, one after the other (default 2; all workloads: 6)")
    parser.add_argument("--rounds", type=int, help="how often each job is run by each of them (default 3; all workloads: 2)")
    parser.add_argument("--transport", default="shm", help="what ours goes over (default shm)")
    perf_profile.add_option(parser)
    memory.add_option(parser)
    options, more = parser.parse_known_args()
    if any(count is not None and count < 1 for count in (options.rounds, options.applications)):
        parser.error("rounds and applications must be at least 1")
    # Before the benchmark: what loads the machine during it is the benchmark.
    result = report.Report("spark", "stock Spark 2.1.3", options.root, jdk=report.jdk(options.java_home))
    profiled = perf_profile.wanted(options, result)
    kept = memory.Kept(options.keep_memory)
    result.conditions.update(kept.conditions())
    lines, compared, stolen = [], [], []
    megabytes = min(result.conditions["memory_gb"] << 10, memory.allowed_bytes() >> 20)
    # Both sides' heaps are there at a time.
    runs, left_out = passes(more, megabytes, planned(plan_of(options, megabytes // 3)))
    for reason in left_out:
        print("left out: " + reason)
    result.conditions["left_out"] = left_out
    for number, (name, words) in enumerate(runs.items(), 1):
        document = bench(options, [*words, *repeats_of(name, options)], number)
        conditions, samples = document["conditions"], document["samples"]
        load = result.conditions["load_before"]
        of_pass = {key: conditions.pop(key) for key in OF_PASS}
        result.conditions.update(conditions, load_before=load)
        result.conditions.setdefault("passes", []).append(dict(of_pass, options=" ".join(words)))
        check(samples)
        add_rows(result, samples, name)
        if name == PLANNED:
            add_plan_rows(result, samples)
        lines += check_bound(dict(conditions, **of_pass), samples)
        compared += shapes(samples)
        stolen.append(max(sample["values"]["stolen"] for sample in samples))
        if profiled and name in PROFILED:
            profile(result, options, words, number, name)
    result.stolen_from_kept = max(stolen)
    print(result.write())
    for line in compared:
        print("shapes: " + line)
    lines = missed(result.rows) + lines
    print("\n".join(lines) if lines else "every target is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
