"""Until a batch job's command runs: the steps of its start, by the times of the files in the job's folder and of the daemons' logs.

    job.py ROOM OUT.json      ROOM as ci/bench-job leaves it: jobs/NODES-ROUND/, played-NODES/took
"""

import glob
import json
import os
import re
import statistics
import sys
import time

import report

MOST = {3: 20.0}  # seconds that a job of so many nodes may take until its command runs

# What happens, in its usual order; each is the time of the last node's.
STEPS = (
    "nodes and names known",
    "configuration written",
    "nodes reached, probed, seen by doctor",
    "NameNode formatted",
    "ResourceManager works",
    "NameNode works",
    "DataNodes registered",
    "NodeManagers registered",
    "command runs",
)
LINES = (
    ("NameNode works", "*-namenode-*.log", "NameNode RPC up at"),
    ("DataNodes registered", "*-namenode-*.log", "Adding a new node: "),
    ("ResourceManager works", "*-resourcemanager-*.log", "Transitioned to active state"),
    ("NodeManagers registered", "*-resourcemanager-*.log", "registered with capability"),
)


def stamp(line):
    """Seconds since the epoch of a line of log4j's, which has local time; none where the line has no time."""
    found = re.match(r"(\d{2,4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d)(?:,(\d{3}))?", line)
    if not found:
        return None
    form = "%y/%m/%d %H:%M:%S" if "/" in found.group(1) else "%Y-%m-%d %H:%M:%S"
    return time.mktime(time.strptime(found.group(1), form)) + int(found.group(2) or 0) / 1000


def last_time(pattern, words):
    """The time of the last line with these words in the logs of a pattern; none where there is no such line."""
    times = []
    for path in glob.glob(pattern):
        with open(path, encoding="utf-8", errors="replace") as file:
            times += [stamp(line) for line in file if words in line]
    return max((each for each in times if each is not None), default=None)


def number_in(path):
    with open(path, encoding="ascii") as file:
        return float(file.read())


def steps(folder):
    """Seconds from a job's start to the end of each step."""
    (job,) = glob.glob(os.path.join(folder, "howdah-job-*"))
    start = number_in(os.path.join(folder, "start"))
    ends = {
        "nodes and names known": os.path.getmtime(os.path.join(job, "site", "hdfs-site.xml")),
        "configuration written": os.path.getmtime(os.path.join(job, "settings")),
        "nodes reached, probed, seen by doctor": max(map(os.path.getmtime, glob.glob(os.path.join(job, "run", "node-*")))),
        "NameNode formatted": os.path.getmtime(os.path.join(job, "logs", "format.out")),
        "command runs": number_in(os.path.join(folder, "ready")),
    }
    for step, pattern, words in LINES:
        ends[step] = last_time(os.path.join(job, "logs", pattern), words)
    return {step: round(ends[step] - start, 2) for step in STEPS if ends[step] is not None}


def all_jobs(room):
    """{nodes: {step: [seconds of each round]}}"""
    found = {}
    for folder in sorted(glob.glob(os.path.join(room, "jobs", "*-*"))):
        nodes = int(os.path.basename(folder).split("-")[0])
        for step, seconds in steps(folder).items():
            found.setdefault(nodes, {}).setdefault(step, []).append(seconds)
    return found


def all_played(room):
    """{nodes: {what: seconds}}"""
    found = {}
    for path in glob.glob(os.path.join(room, "played-*", "took")):
        nodes = int(os.path.basename(os.path.dirname(path)).split("-")[1])
        with open(path, encoding="ascii") as file:
            found[nodes] = {what: float(seconds) for what, seconds in (line.rsplit(None, 1) for line in file)}
    return found


def table(jobs, played):
    """Lines of medians, with the least and the greatest of the rounds."""
    lines = ["%-40s" % "seconds from the job's start" + "".join("%22s" % ("%d node%s" % (n, "s" * (n > 1))) for n in sorted(jobs))]
    for step in STEPS:
        cells = []
        for nodes in sorted(jobs):
            rounds = jobs[nodes].get(step)
            cells.append("%.1f (%.1f to %.1f)" % (statistics.median(rounds), min(rounds), max(rounds)) if rounds else "-")
        lines.append("%-40s" % step + "".join("%22s" % cell for cell in cells))
    for nodes in sorted(played):
        lines += ["%-40s%22.2f" % ("%s, %d nodes" % (what, nodes), seconds) for what, seconds in played[nodes].items()]
    return lines


def missed(jobs):
    """A line for each size of a job that takes longer than it may."""
    medians = {nodes: statistics.median(found["command runs"]) for nodes, found in jobs.items()}
    return ["missed: a job of %d nodes takes %.1f s until its command runs, %.0f are asked" % (nodes, medians[nodes], most)
            for nodes, most in MOST.items() if medians.get(nodes, 0) > most]


def main(room, out):
    jobs, played = all_jobs(room), all_played(room)
    with open(out, "w", encoding="ascii") as file:
        json.dump({"machine": report.machine(), "load": os.getloadavg(), "jobs": jobs, "played": played}, file, indent=1)
    print("\n".join(table(jobs, played) + missed(jobs)))
    return 1 if missed(jobs) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
