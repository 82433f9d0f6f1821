"""What every benchmark writes: build/bench/NAME.json, a table on the terminal, and a plot.

A benchmark measures two sides, "ours" and "reference", in turn within one run. A row holds both medians, the spreads
(least and greatest) and the ratio: how many times better ours is, above 1 is better whatever the unit. It is that of the
medians, or the median of the ratios of runs that belong together.
"""

import datetime
import json
import os
import re
import statistics
import subprocess
import time

import curves
import perf_profile

# From this share of the processors on, in percent, what others on the host do shows in the figures.
MUCH_STOLEN = 2.0


class Report:
    """Collects rows. Not thread-safe."""

    def __init__(self, name, reference_name, root, **conditions):
        self.name = name
        self.reference_name = reference_name
        self.folder = os.path.join(root, "build", "bench")
        self.commit = _output("git", "-C", root, "rev-parse", "HEAD") + (
            "-dirty" if _output("git", "-C", root, "status", "--porcelain") else ""
        )
        self.conditions = dict(machine(), **conditions)
        self.rows = []
        self.ticks_before = processor_ticks()
        # Processor seconds by kind of work, by title; see perf_profile.py.
        self.profiles = {}
        # Figures by size, by title; see curves.py.
        self.curves = {}
        # For a benchmark that measures again what was disturbed: what the host kept during what counts, in percent.
        self.stolen_from_kept = None

    def add(self, measure, case, unit, better, ours, reference, reference_name=None, target=None, paired=False):
        """Adds a row from both sides' runs (lists of one figure a run); better is "lower" or "higher".

        target is the least ratio asked for; the row then says whether it was met. paired: see make_row().
        """
        row = make_row(measure, case, unit, better, ours, reference, reference_name or self.reference_name, paired)
        if target is not None:
            row.update(target=target, met=row["ratio"] >= target)
        self.rows.append(row)

    def write(self):
        """Writes the JSON and, where matplotlib is installed, the plot; prints the table. Returns the JSON's path."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, self.name + ".json")
        stolen = self.conditions["stolen_percent"] = stolen_percent(self.ticks_before, processor_ticks())
        if self.stolen_from_kept is not None:
            stolen = self.conditions["stolen_from_kept_percent"] = round(self.stolen_from_kept, 1)
        document = {
            "name": self.name,
            "commit": self.commit,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "conditions": self.conditions,
            "rows": self.rows,
        }
        if self.profiles:
            document["profiles"] = self.profiles
        if self.curves:
            document["curves"] = self.curves
        with open(path + ".new", "w") as file:
            json.dump(document, file, indent=2)
            file.write("\n")
        os.replace(path + ".new", path)
        print(table(self.rows))
        if self.profiles:
            print("\n" + perf_profile.table(self.profiles))
            perf_profile.plot(self.profiles, self.name, os.path.join(self.folder, self.name + "-profile.png"))
        for title, figures in self.curves.items():
            print("\n" + curves.table(title, figures))
            curves.plot(title, figures, os.path.join(self.folder, "%s-%s.png" % (self.name, title)))
        if stolen >= MUCH_STOLEN:
            print("the host kept %g %% of this machine's processor time: it is not a quiet machine, measure again" % stolen)
        plot(self.rows, self.name, os.path.join(self.folder, self.name + ".png"))
        return path


class Undisturbed:
    """Measures again what the host of a virtual machine disturbed, as java/bench's Undisturbed does.

    Of all attempts the one counts that was stolen from least, whatever it measured. Not thread-safe.
    """

    def __init__(self, most_again, budget, ticks=None, pause=3):
        """most_again: attempts after the first one; budget: of these in all; pause: seconds between attempts."""
        self.most_again, self.budget, self.pause = most_again, budget, pause
        self.ticks = ticks or processor_ticks
        self.again = 0
        self.shares = []

    def measure(self, run):
        """Calls run() at least once; returns what the least disturbed call returned."""
        kept = least = None
        for attempt in range(self.most_again + 1):
            if attempt:
                self.again += 1
                time.sleep(self.pause)
            before = self.ticks()
            measured = run()
            share = stolen_percent(before, self.ticks())
            if least is None or share < least:
                kept, least = measured, share
            if least < MUCH_STOLEN or self.again >= self.budget:
                break
        self.shares.append(least)
        return kept

    def tell(self, result):
        """Leaves in a report how often was measured again, and what was stolen from what counts."""
        result.stolen_from_kept = max(self.shares)
        disturbed = sum(share >= MUCH_STOLEN for share in self.shares)
        result.conditions.update(measured_again=self.again, disturbed=disturbed)


def make_row(measure, case, unit, better, ours, reference, reference_name, paired=False):
    """A row as described in docs/benchmarks: medians, spreads, and the ratio.

    paired: the runs of one number followed each other at once, on a machine whose speed changes from run to run, so the
    ratio is the median of the pairs' ratios, not the ratio of the medians.
    """
    if paired and len(ours) != len(reference):
        raise ValueError("%s %s: %d runs beside %d make no pairs" % (measure, case, len(ours), len(reference)))
    mine, theirs = statistics.median(ours), statistics.median(reference)
    spread = max((max(side) - min(side)) / statistics.median(side) for side in (ours, reference))
    ratio = theirs / mine if better == "lower" else mine / theirs
    if paired:
        ratio = statistics.median(r / o if better == "lower" else o / r for o, r in zip(ours, reference))
    return {
        "measure": measure,
        "case": case,
        "unit": unit,
        "better": better,
        "ours": round(mine, 3),
        "reference": round(theirs, 3),
        "reference_name": reference_name,
        "runs": len(ours),
        "ours_spread": [round(min(ours), 3), round(max(ours), 3)],
        "reference_spread": [round(min(reference), 3), round(max(reference), 3)],
        "ratio": round(ratio, 3),
        "ratio_of": "pairs" if paired else "medians",
        # Is the difference smaller than what the same side differs by from run to run?
        "within_spread": abs(ratio - 1) <= spread,
    }


def machine():
    """The conditions that are the machine's."""
    with open("/proc/cpuinfo") as file:
        cpuinfo = file.read()
    with open("/proc/meminfo") as file:
        memory_kb = int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1))
    model = re.search(r"^(?:model name|cpu)\s*:\s*(.*)$", cpuinfo, re.M)
    return {
        "cpu": model.group(1) if model else "unknown",
        "cores": os.cpu_count(),
        "memory_gb": round(memory_kb / 2**20),
        "kernel": os.uname().release,
        "in_vm": "hypervisor" in cpuinfo,
        "load_before": os.getloadavg()[0],
    }


def processor_ticks():
    """(stolen, all) ticks of all processors since the start: what the host of a virtual machine gave to others, and the sum."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]  # guest time, behind these, is in user time already
    return ticks[7], sum(ticks)


def stolen_percent(before, after):
    """What share of the processors the host of a virtual machine kept between two readings of processor_ticks()."""
    stolen, passed = (now - then for then, now in zip(before, after))
    return round(100 * stolen / passed, 1) if passed else 0.0


def jdk(java_home):
    """The JDK's own first words about itself."""
    lines = subprocess.run([java_home + "/bin/java", "-version"], capture_output=True, text=True).stderr.splitlines()
    return lines[1] if len(lines) > 1 else "unknown"


def table(rows):
    """The rows as text for a terminal."""
    lines = [_line("measure", "case", "unit", "ours", "reference", "", "ours min-max", "reference min-max", "ratio", "asked")]
    for row in rows:
        spreads = ["%g-%g" % tuple(row[side + "_spread"]) for side in ("ours", "reference")]
        asked = "%g %s" % (row["target"], "ok" if row["met"] else "MISSED") if "target" in row else ""
        if not asked:
            asked = "within spread" if row["within_spread"] else ""
        figures = ("%g" % row["ours"], "%g" % row["reference"], row["reference_name"][:16])
        lines.append(_line(row["measure"], row["case"], row["unit"], *figures, *spreads, "%.3f" % row["ratio"], asked))
    return "\n".join(lines)


def _line(*columns):
    return ("%-18s %-12s %5s %11s %11s %-16s %20s %20s %8s  %s" % columns).rstrip()


def plot(rows, title, path):
    """Draws each row's ratio with the spread of both sides around it."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed (apt install python3-matplotlib)")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.45 * len(rows)))
    names = ["%s, %s" % (row["measure"], row["case"]) for row in rows]
    for position, row in enumerate(rows):
        for side, colour in (("ours", "tab:blue"), ("reference", "tab:gray")):
            low, high = (value / row["reference"] for value in row[side + "_spread"])
            offset = position + (0.12 if side == "ours" else -0.12)
            axes.plot([low, high], [offset, offset], color=colour, linewidth=5, solid_capstyle="butt")
            axes.plot([row[side] / row["reference"]], [offset], "|", color="black", markersize=9)
    axes.axvline(1, color="black", linewidth=0.5)
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set_xlabel("relative to the reference's median; blue: ours, grey: reference; bar: least to greatest")
    axes.set_title(title)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print("plot: " + path)


def _output(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
