"""The table of docs/benchmarks/storage.md, made of what ci/bench-storage wrote: storage_page.py build/bench/storage.json."""

import json
import sys

TITLES = {"disk": "ours, all on disk", "hhh": "HHH", "hhh-m": "HHH-M", "hhh-l": "HHH-L"}
NAMES = {
    ("throughput", "dfsio write"): "TestDFSIO write, MB/s a task",
    ("throughput", "dfsio read"): "TestDFSIO read, MB/s a task",
    ("daemons' processor time", "dfsio write"): "daemons' processors for 1 GB written, s",
    ("daemons' processor time", "dfsio read"): "daemons' processors for 1 GB read, s",
    ("time", "sort"): "Sort, s",
    ("time", "teragen"): "TeraGen, s",
    ("time", "terasort"): "TeraSort, s",
}


def figure(value):
    """Three digits."""
    return "%.0f" % value if value >= 100 else "%.3g" % value


def with_spread(value, spread):
    least, most = spread
    return figure(value) if least == most else "%s (%s-%s)" % tuple(map(figure, (value, least, most)))


def cell(row):
    text = "%s, %.2f times" % (with_spread(row["ours"], row["ours_spread"]), row["ratio"])
    if "target" in row:
        text += ", asked %.2f%s" % (row["target"], "" if row["met"] else ", **missed**")
    return text


def table(rows):
    """One table of the rows of one limit: a line for each measure and case, a column for each side."""
    lines, sides = {}, []
    for row in rows:
        case, side, _ = row["case"].split(", ")
        lines.setdefault((row["measure"], case), {})[side] = row
        if side not in sides:
            sides.append(side)
    text = ["| | stock | " + " | ".join(TITLES[side] for side in sides) + " |", "|---" * (2 + len(sides)) + "|"]
    for name, cells in lines.items():
        first = next(iter(cells.values()))
        columns = [NAMES[name], with_spread(first["reference"], first["reference_spread"])]
        columns += [cell(cells[side]) if side in cells else "" for side in sides]
        text.append("| " + " | ".join(columns) + " |")
    return "\n".join(text)


def notes(conditions, disk):
    """What has no line in the table."""
    share = conditions.get("hot share", {}).get(disk)
    if share:
        yield "Of the reads of a hot file that was not in RAM at first %.0f %% are from RAM." % (100 * share["hhh"])
    pace = conditions.get("beside moves", {}).get(disk)
    if pace:
        yield "A write that fills RAM three times over has, beside the mover that makes room (%.0f MB), %.0f %% of the pace that it has without moves." % (
            conditions["moved MB"][disk]["hhh"],
            100 * pace["hhh"],
        )
    seconds = conditions.get("behind s", {}).get(disk, {})
    for side, megabytes in conditions.get("behind MB", {}).get(disk, {}).items():
        yield "%s: %.0f MB were to be persisted when TestDFSIO's writes ended, %.1f s later nothing." % (
            TITLES[side],
            megabytes,
            seconds[side],
        )


def of(path):
    """The tables of a result, each under what its disk was limited to, with the machine above them."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    conditions = document["conditions"]
    parts = [
        "Commit %s, %s; %s, %d cores%s, %d GB, Linux %s; rounds: %d, %d MB a job, blocks of %d MB."
        % (
            document["commit"][:7],
            document["date"][:10],
            conditions["cpu"],
            conditions["cores"],
            " of a virtual machine" if conditions["in_vm"] else "",
            conditions["memory_gb"],
            conditions["kernel"],
            document["rows"][0]["runs"],
            conditions["size_mb"],
            conditions["block_mb"],
        )
    ]
    limits = {}
    for row in document["rows"]:
        limits.setdefault(row["case"].split(", ")[2], []).append(row)
    for disk, rows in limits.items():
        parts += ["## " + disk[0].upper() + disk[1:], table(rows), *notes(conditions, disk)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(of(sys.argv[1]))
