"""Spark's shuffles: the unpatched tree over loopback, ours over the engine, in turn within one run of `howdah bench spark`.

GroupBy and SortBy with OHB's parameters; both sides have the same heap, cores, scripts and logging. Options that are not
ours are those of `howdah bench spark`.
"""

import argparse
import json
import os
import subprocess
import sys

import report

# How many times better than stock, at least: 23.5 % shorter (the best of the POWER paper), waits halved.
TIME = 1 / (1 - 0.235)
WAIT = 2.0
LOWER = 1.0
# What one tick of the clock behind waits and collections is, in seconds: less was not measured.
TICK = 0.001

MEASURES = {"seconds": ("time", TIME), "wait": ("fetch wait", WAIT), "gc": ("gc time", LOWER)}


def by_case(samples):
    """{(job, executors): {side: {value: [a figure a round]}}}, in the order measured."""
    cases = {}
    for sample in samples:
        side = cases.setdefault((sample["job"], sample["executors"]), {}).setdefault(sample["side"], {})
        for name, value in sample["values"].items():
            side.setdefault(name, []).append(value)
    return cases


def add_rows(result, samples):
    """The rows, with what is asked of them."""
    for (job, executors), sides in by_case(samples).items():
        for name, (measure, target) in MEASURES.items():
            ours, reference = ([max(value, TICK) for value in sides[side][name]] for side in ("ours", "reference"))
            result.add(measure, "%s, %s ex." % (job, executors), "s", "lower", ours, reference, target=target)


def check(samples):
    """A run in which executors fetched nothing from each other measured no transfer."""
    for (job, executors), sides in by_case(samples).items():
        for side, values in sides.items():
            if executors > 1 and min(values["remoteMb"]) == 0:
                raise SystemExit("%s with %d executors, %s: nothing was fetched from another one" % (job, executors, side))


def missed(rows):
    """A line for each target that was not met: by how much."""
    return [
        "missed: %s, %s: %.2f times better than stock, asked for %.2f"
        % (row["measure"], row["case"], row["ratio"], row["target"])
        for row in rows
        if not row.get("met", True)
    ]


def bench(options, more):
    """Runs `howdah bench spark`; returns what it wrote."""
    folder = os.path.join(options.root, "build", "bench")
    os.makedirs(folder, exist_ok=True)
    raw = os.path.join(folder, "spark-samples.json")
    environment = dict(os.environ, JAVA_HOME=options.java_home)
    for variable in ("HADOOP_HOME", "HADOOP_CONF_DIR", "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CLASSPATH", "HOWDAH_OPTS"):
        environment.pop(variable, None)
    command = [os.path.join(options.ours, "bin", "howdah"), "bench", "spark", "--transport", options.transport]
    command += ["--against", options.stock, "--rounds", str(options.rounds), "--json", raw, *more]
    subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL)
    with open(raw, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--rounds", type=int, default=5, help="rounds, each with fresh clusters (default 5)")
    parser.add_argument("--transport", default="shm", help="what ours goes over (default shm)")
    options, more = parser.parse_known_args()
    if options.rounds < 1:
        parser.error("rounds must be at least 1")
    # Before the benchmark: what loads the machine during it is the benchmark.
    result = report.Report("spark", "stock Spark 2.1.3", options.root, jdk=report.jdk(options.java_home))
    document = bench(options, more)
    result.conditions.update(document["conditions"])
    check(document["samples"])
    add_rows(result, document["samples"])
    print(result.write())
    lines = missed(result.rows)
    print("\n".join(lines) if lines else "every target is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
