"""The engine beside what is not ours: TCP loopback and memcpy on this machine; perftest on the same emulated RDMA
device in the virtual machine, where only the ratio of two programs means anything.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys

import curves
import report

# At most this many times the reference's latency, at least this share of its bandwidth; as ratios, above 1 is better.
VERBS_LATENCY = 1 / 1.15
VERBS_PULL = 0.90
UDAPL_LATENCY = 1 / 1.25
SHM_COPY = 0.6
HYBRID = 0.95
SHM_64_B_US = 1.0
JAVA_64_B_US = 2.0
JAVA_ROUNDS = 100000


def on_host(root, result, rounds):
    """Shared memory between two processes of this host."""
    perf = os.path.join(root, "build", "native", "tools", "hd-perf")
    sizes = ["--latency", "1,64,1k,4k,16k,64k,512k", "--bandwidth", "4k,64k,1m,4m", "--pull", "64k,1m,4m"]
    environment = dict(os.environ, HOWDAH_TRANSPORT="shm")
    figures = {}
    for number in range(rounds):
        printed = subprocess.run(
            [perf, "--json", "--rounds", "1", *sizes], env=environment, stdout=subprocess.PIPE, check=True, text=True
        ).stdout
        for row in json.loads(printed):
            key = row["measure"], row["bytes"], row["unit"], row["better"], row["reference_name"]
            ours, reference = figures.setdefault(key, ([], []))
            ours.append(row["ours"])
            reference.append(row["reference"])
        print("shm, round %d of %d" % (number + 1, rounds), flush=True)
    for (measure, size, unit, better, name), (ours, reference) in figures.items():
        copied = name == "memcpy" and size == 1 << 20
        result.add("shm " + measure, "%d B" % size, unit, better, ours, reference, name, SHM_COPY if copied else None)
    best = figures["latency", 64, "us", "lower", "TCP loopback"][0]
    result.add("shm latency", "64 B", "us", "lower", best, [SHM_64_B_US], "asked for", 1)


def java(root):
    """The command that runs the benchmark of the Java binding."""
    with open(os.path.join(root, "build", "prepare.env"), encoding="utf-8") as file:
        home = re.search(r"^JAVA_HOME=(.*)$", file.read(), re.M).group(1)
    jars = [jar for name in ("engine", "bench") for jar in glob.glob(os.path.join(root, "build", "java", "howdah-" + name, "*.jar"))]
    for name in ("slf4j-api", "slf4j-log4j12", "reload4j"):
        found = glob.glob(os.path.join(root, "build", "jars", "hadoop", name + "-*.jar"))
        if not found:
            raise SystemExit("build/jars/hadoop has no %s, which the engine's Java logs by; run: make dist" % name)
        jars += found
    logging = [
        "-Dlog4j.configuration=file:" + os.path.join(root, "dist", "etc", "hadoop", "log4j.properties"),
        "-Dhadoop.root.logger=WARN,console",
    ]
    return [home + "/bin/java", "-Xmx256m", *logging, "-cp", ":".join(jars), "io.howdah.bench.engine.EnginePing"]


def in_java(java, result, rounds):
    """The same from Java, between two JVMs; medians of single round trips."""
    environment = dict(os.environ, HOWDAH_TRANSPORT="shm")
    figures = {}
    for number in range(rounds):
        with subprocess.Popen(
            java + ["server"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as server:
            port = server.stdout.readline().strip()
            client = java + ["client", port, str(JAVA_ROUNDS), "1", "64", "1024", "4096"]
            printed = subprocess.run(client, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
        for way, size, p50, _ in re.findall(r"^(\w+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)$", printed, re.M):
            figures.setdefault((int(size), way), []).append(float(p50))
        print("java, round %d of %d" % (number + 1, rounds), flush=True)
    for size in sorted({size for size, _ in figures}):
        ours, tcp = figures[size, "shm"], figures[size, "tcp"]
        result.add("java shm latency", "%d B" % size, "us", "lower", ours, tcp, "TCP loopback")
    result.add("java shm latency", "64 B", "us", "lower", figures[64, "shm"], [JAVA_64_B_US], "asked for", 1)


def in_guest(root, rounds, parts):
    """{(side, measure, bytes, unit): [a figure a round]} from the virtual machine."""
    script = os.path.join(root, "tests", "rdma-vm", "engine-bench.sh")
    command = [os.path.join(root, "ci", "rdma-vm"), "run", "--time", str(600 + 300 * rounds), "--", script]
    command += [os.path.join(root, "build", "native", "tools", "hd-perf"), str(rounds), parts]
    figures, side, block = {}, None, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as guest:
        for line in guest.stdout:
            if line.startswith("#"):
                print("guest: " + line[1:].strip(), flush=True)
            elif line.startswith("== "):
                side, block = line.split()[1], []
            elif line.startswith("= "):
                name, measure, size, unit, value = line.split()[1:]
                figures.setdefault((name, measure.replace("_", " "), int(size), unit), []).append(float(value))
            else:
                block.append(line)
                if line.startswith("]"):
                    for row in json.loads("".join(block)):
                        whose = side + "-" + row["variant"] if "variant" in row else side
                        figures.setdefault((whose, row["measure"], row["bytes"], row["unit"]), []).append(row["ours"])
                        for kind in ("mean", "least"):
                            if "ours_" + kind in row:
                                key = whose, kind + " latency", row["bytes"], row["unit"]
                                figures.setdefault(key, []).append(row["ours_" + kind])
    if guest.returncode:
        print("".join(block), end="", flush=True)  # what it said last, for it is no figure
        raise SystemExit("the virtual machine ended with %d" % guest.returncode)
    return figures


def add_guest_rows(result, figures):
    """verbs against perftest, udapl against verbs, the choice of protocols against the better of its parts."""
    better = {"latency": "lower", "mean latency": "lower", "least latency": "lower", "pull": "higher"}
    asked = {"latency": VERBS_LATENCY, "pull": VERBS_PULL}
    for (side, measure, size, unit), ours in sorted(figures.items()):
        case = "%d B" % size
        if side == "verbs":
            target = asked.get(measure)
            reference = figures["perftest", measure, size, unit]
            result.add("verbs " + measure, case, unit, better[measure], ours, reference, "perftest", target, paired=True)
        elif side in ("udapl", "pair-udapl"):
            target = UDAPL_LATENCY if measure == "latency" else None
            reference = figures[side.replace("udapl", "verbs"), measure, size, unit]
            result.add("udapl " + measure, case, unit, better[measure], ours, reference, "verbs", target, paired=True)
        elif side == "protocol-auto" and measure == "latency":
            parts = {name: figures["protocol-" + name, measure, size, unit] for name in ("copy", "read", "write")}
            best = min(parts, key=lambda name: sorted(parts[name])[len(parts[name]) // 2])
            result.add("hybrid " + measure, case, unit, better[measure], ours, parts[best], best, HYBRID, paired=True)
    lines = protocols(figures)
    if lines:
        result.curves["protocols"] = curves.make("us", lines)


def protocols(figures):
    """The protocols over uDAPL and the choice among them, as in figure 4 of the paper on uDAPL."""
    names = {"protocol-auto": "hybrid", "protocol-copy": "copy", "protocol-read": "read", "protocol-write": "write"}
    lines = {}
    for (side, measure, size, _), seen in figures.items():
        if side in names and measure == "latency":
            lines.setdefault(names[side], {})[size] = seen
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--rounds", type=int, default=7, help="rounds on this machine (default 7)")
    parser.add_argument("--vm-rounds", type=int, default=9, help="rounds in the virtual machine (default 9)")
    parser.add_argument(
        "--only",
        choices=("host", "guest", "perftest"),
        help="one half only, or of the virtual machine only verbs beside perftest; the report then holds no other",
    )
    options = parser.parse_args()
    if options.rounds < 1 or options.vm_rounds < 1:
        parser.error("rounds must be at least 1")
    result = report.Report("engine", "what is not ours", options.root, guest="QEMU, emulated processor, Soft-RoCE")
    if options.only in (None, "host"):
        command = java(options.root)  # whatever it lacks is said before anything is measured
        on_host(options.root, result, options.rounds)
        in_java(command, result, options.rounds)
    if options.only != "host":
        parts = "perftest" if options.only == "perftest" else "all"
        add_guest_rows(result, in_guest(options.root, options.vm_rounds, parts))
    print(result.write())
    return 0 if all(row.get("met", True) for row in result.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
