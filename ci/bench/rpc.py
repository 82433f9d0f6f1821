"""Hadoop RPC: the unpatched tree over loopback, ours over the engine, in turn within one run of `howdah bench rpc`.

With --vm the same benchmark runs in the virtual machine, where an emulated processor makes its figures say nothing: it
has to come to its end over the transport that was asked for, and is not compared.
"""

import argparse
import json
import os
import subprocess
import sys

import report

# How many times better than stock, at least; "best" is asked of the best size alone.
LATENCY = 2.5
LATENCY_BEST = 4.0
LATENCY_SIZES = range(1, 2**20 + 1)
THROUGHPUT = 2.0
MOST_CLIENTS = 64
# Processor time, garbage and the 99th percentile: lower than stock's, by whatever.
LOWER = 1.0

# A response above ipc.server.max.response.size (1 MB) is logged with its call, parameters and all.
QUIET = ["--measure", "latency", "--sizes", "1m", "-D", "ipc.server.max.response.size=%d" % 2**26]

COSTS = {
    "cpuClient": ("client cpu", "us"),
    "cpuServer": ("server cpu", "us"),
    "heapClient": ("client heap", "B"),
    "heapServer": ("server heap", "B"),
}


def size_of(count):
    for shift, unit in ((20, "MB"), (10, "KB")):
        if count >= 1 << shift and count % (1 << shift) == 0:
            return "%d %s" % (count >> shift, unit)
    return "%d B" % count


def by_case(samples):
    """{(measure, type, bytes, clients, handlers): {side: {value: [a figure a round]}}}, in the order measured."""
    cases = {}
    for sample in samples:
        key = tuple(sample[name] for name in ("measure", "type", "bytes", "clients", "handlers"))
        side = cases.setdefault(key, {}).setdefault(sample["side"], {})
        for name, value in sample["values"].items():
            side.setdefault(name, []).append(value)
    return cases


def add_row(result, sides, value, measure, case, unit, better="lower", target=None):
    ours, reference = sides["ours"][value], sides["reference"][value]
    # Within a round both sides are measured one after the other by processes of the same age.
    result.add(measure, case, unit, better, ours, reference, target=target, paired=True)
    return result.rows[-1]


def add_rows(result, samples):
    """The rows, with what the issue asks of them."""
    best = None
    for (measure, kind, count, clients, handlers), sides in by_case(samples).items():
        size = size_of(count)
        if measure == "latency":
            asked = count in LATENCY_SIZES
            row = add_row(result, sides, "mean", "latency", size, "us", target=LATENCY if asked else None)
            best = row if best is None or row["ratio"] > best["ratio"] else best
            add_row(result, sides, "p99", "latency p99", size, "us", target=LOWER)
            for value, (name, unit) in COSTS.items():
                add_row(result, sides, value, name, size, unit, target=LOWER)
        elif measure == "type":
            add_row(result, sides, "mean", "type " + kind, size, "us")
        elif measure == "throughput":
            case = "%s %d/%d" % (size, clients, handlers)
            asked = clients == MOST_CLIENTS and count in (512, 32768)
            add_row(result, sides, "rate", "throughput", case, "1/s", "higher", THROUGHPUT if asked else None)
            for value, (name, unit) in COSTS.items():
                add_row(result, sides, value, "load " + name, case, unit, target=LOWER if asked else None)
    if best:
        result.rows.append(dict(best, measure="best latency", target=LATENCY_BEST, met=best["ratio"] >= LATENCY_BEST))


def idle(samples):
    """Milliseconds of processor a second that each side takes while its connections rest: (client, server) medians."""
    cases = by_case(sample for sample in samples if sample["measure"] == "idle")
    return {
        side: ["%.1f" % (sorted(values[name])[len(values[name]) // 2] / 1e3) for name in ("cpuClient", "cpuServer")]
        for sides in cases.values()
        for side, values in sides.items()
    }


def most_stolen(samples):
    """What the host kept of the processors, in percent, during the most disturbed of the measurements that count."""
    return max(sample["values"]["stolen"] for sample in samples)


def missed(rows):
    """A line for each target that was not met: by how much."""
    return [
        "missed: %s, %s: %.2f times better than stock, asked for %g" % (row["measure"], row["case"], row["ratio"], row["target"])
        for row in rows
        if not row.get("met", True)
    ]


def add_quiet(result, samples):
    """What is left of 1 MB's ratio when servers do not warn of large responses: an explanation, no target."""
    for (measure, _, count, _, _), sides in by_case(samples).items():
        if measure == "latency":
            add_row(result, sides, "mean", "latency, no warning", size_of(count), "us")


def bench(options, more, name="rpc"):
    """Runs `howdah bench rpc`; returns what it wrote."""
    folder = os.path.join(options.root, "build", "bench")
    os.makedirs(folder, exist_ok=True)
    raw = os.path.join(folder, name + "-samples.json")
    environment = dict(os.environ, JAVA_HOME=options.java_home)
    for variable in ("HADOOP_HOME", "HADOOP_CONF_DIR", "SPARK_HOME", "HADOOP_CLASSPATH", "HOWDAH_OPTS"):
        environment.pop(variable, None)
    command = [os.path.join(options.ours, "bin", "howdah"), "bench", "rpc", "--transport", options.transport]
    command += ["--against", options.stock, "--rounds", str(options.rounds), "--json", raw]
    command += ["--html", os.path.join(folder, name + ".html"), *more]
    subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL)
    with open(raw, encoding="utf-8") as file:
        return json.load(file)


def in_guest(options):
    """The functional run over a device: over each asked-for transport once."""
    script = os.path.join(options.root, "tests", "rdma-vm", "rpc-bench.sh")
    command = [os.path.join(options.root, "ci", "rdma-vm"), "run", "--time", "1500", "--memory", "3G", "--"]
    return subprocess.run([*command, script, options.ours, options.vm], check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--stock", required=True)
    parser.add_argument("--java-home", required=True)
    parser.add_argument("--rounds", type=int, default=5, help="rounds, each with fresh processes (default 5)")
    parser.add_argument("--transport", default="shm", help="what ours goes over (default shm); tcp compares the sockets")
    parser.add_argument("--vm", choices=("verbs", "udapl"), help="run in the virtual machine instead, compare nothing")
    options, more = parser.parse_known_args()
    if options.rounds < 1:
        parser.error("rounds must be at least 1")
    if options.vm:
        return in_guest(options)
    # Before the benchmark: what loads the machine during it is the benchmark.
    result = report.Report("rpc", "stock Hadoop 2.8.1", options.root, jdk=report.jdk(options.java_home))
    document = bench(options, more)
    samples = document["samples"]
    result.stolen_from_kept = most_stolen(samples)
    result.conditions.update(document["conditions"], idle_ms_a_second=idle(samples))
    add_rows(result, samples)
    if not more:  # the whole benchmark
        add_quiet(result, bench(options, QUIET, "rpc-quiet")["samples"])
    print(result.write())
    lines = missed(result.rows)
    print("\n".join(lines) if lines else "every target is met")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
