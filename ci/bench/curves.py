"""Figures of several ways to do the same, by size: a table for the terminal, and a plot of lines as papers have it."""

import statistics


def make(unit, runs):
    """What a report's JSON holds of runs, {way: {bytes: [a figure a run]}}: median, least and greatest by size."""
    return {
        "unit": unit,
        "ways": {
            way: [
                {"bytes": size, "median": round(statistics.median(seen), 3), "spread": [round(min(seen), 3), round(max(seen), 3)]}
                for size, seen in sorted(by_size.items())
            ]
            for way, by_size in runs.items()
        },
    }


def table(title, curves):
    """A line for each size, the medians of each way in it."""
    ways = curves["ways"]
    sizes = sorted({point["bytes"] for points in ways.values() for point in points})
    lines = ["%-24s" % ("%s, %s" % (title, curves["unit"])) + "".join("%12s" % way for way in ways)]
    for size in sizes:
        found = [[point["median"] for point in points if point["bytes"] == size] for points in ways.values()]
        lines.append("%-24s" % ("%d B" % size) + "".join("%12s" % ("%g" % at[0] if at else "") for at in found))
    return "\n".join(lines)


def plot(title, curves, path):
    """Draws a line for each way with its spread, both axes logarithmic."""
    try:
        import matplotlib
    except ImportError:
        return  # the report's own plot says so
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for way, points in curves["ways"].items():
        middle = [point["median"] for point in points]
        errors = [
            [point["median"] - point["spread"][0] for point in points],
            [point["spread"][1] - point["median"] for point in points],
        ]
        axes.errorbar([point["bytes"] for point in points], middle, errors, label=way, marker="o", capsize=3)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel(curves["unit"])
    axes.set_title(title)
    axes.legend()
    axes.grid(True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print("plot: " + path)
