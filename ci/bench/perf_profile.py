"""Where the processors' time goes while something is measured: a profile of the whole system by perf, in a dozen kinds of
work, so that a figure of a benchmark comes with what bounds it.
"""

import collections
import os
import re
import shutil
import signal
import subprocess

HERTZ = 999
IDLE = "idle"
MOVERS = r"^(shuffle-(client|serve)|rdma-block|howdah-)"
# Kinds of work by thread, by object and by symbol, the first that fits; a pattern that is not given fits everything. jit and
# gc are the JVM's compilers and collectors, movers the threads that only move blocks, k. is the kernel: copying, clearing pages, sockets, waiting and waking, files with
# their page cache, all else (entering and leaving it, interrupts); checksum and engine are libhowdah's.
# Symbols of compiled Java are not known: such code is told by being in no object.
KINDS = (
    (IDLE, {"comm": r"^swapper"}),
    ("jit", {"comm": r"^C[12] Compiler"}),
    ("gc", {"comm": r"^(GC |G1 |CMS|Concurrent Mark|VM Thread|ParGC|Gang worker)"}),
    # Threads of Netty and of ours, with what they do in the kernel.
    ("movers", {"comm": MOVERS}),
    ("k.copy", {"dso": r"kernel", "symbol": r"rep_movs|copy_user|copy_page|copyin|copyout|copy_(to|from)_(user|iter)|copy_(page|folio)_(to|from)_iter|memcpy"}),
    ("k.clear", {"dso": r"kernel", "symbol": r"clear_(page|user)|memset"}),
    ("k.sockets", {"dso": r"kernel", "symbol": r"tcp|skb|sock|inet|\bip_|ipv4|\bnet_|napi|loopback|__dev_|nf_|qdisc"}),
    (
        "k.wait",
        {"dso": r"kernel", "symbol": r"futex|sched|ttwu|wake|pick_|enqueue|dequeue|switch|poll|wait|update_|hrtimer|_fair|idle"},
    ),
    (
        "k.files",
        {"dso": r"kernel", "symbol": r"shmem|filemap|folio|page|ext4|xfs|jbd2|iomap|btrfs|vfs_|xas_|inode|write|read|lru|fault|blk_|bio"},
    ),
    ("k.other", {"dso": r"kernel|vdso|\.ko"}),
    ("checksum", {"dso": r"libhowdah", "symbol": r"crc"}),
    ("engine", {"dso": r"libhowdah"}),
    ("libc.copy", {"dso": r"libc[.-]", "symbol": r"mem(cpy|move|set)"}),
    ("jvm", {"dso": r"libjvm|libjava|libnio|libnet|libzip"}),
    ("java", {"dso": r"unknown|anon|\.map$|JIT|interpreter|jsa"}),
    ("other", {}),
)
ORDER = [kind for kind, _ in KINDS[1:]] + [IDLE]
# comm may have spaces and is padded; then time:, symbol (with spaces in C++) and (object).
LINE = re.compile(r"^\s*(?P<comm>.*?)\s+(?P<time>\d+\.\d+):\s+(?P<symbol>.*)\s+\((?P<dso>.*)\)\s*$")


def unavailable():
    """Why there can't be a profile here; None if there can."""
    if not shutil.which("perf"):
        return "perf is not installed (apt install linux-perf, yum install perf)"
    tried = subprocess.run(["perf", "stat", "-a", "-e", "cpu-clock", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else "perf can't look at all of the system: %s" % tried.stderr.strip()[:200]


def add_option(parser):
    """The option of every benchmark that can have a profile."""
    parser.add_argument("--profile", choices=("yes", "no"), default="yes", help="one more round, under perf (default %(default)s)")


def wanted(options, result):
    """Whether there is to be a profile; the report's conditions say why not."""
    why = "not asked for" if options.profile == "no" else unavailable()
    if why:
        result.conditions["no_profile"] = why
        print("no profile: " + why)
    return not why


class Recorder:
    """Records from its beginning to its end; samples() may be called afterwards."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        # The processors' clock, because counters of cycles are not there in most virtual machines; CLOCK_MONOTONIC, as
        # System.nanoTime() has it.
        command = ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", str(HERTZ), "-k", "CLOCK_MONOTONIC", "-o", self.path]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate()[1]
        if not os.path.exists(self.path):
            raise RuntimeError("perf record: " + said.decode(errors="replace").strip())

    def samples(self):
        """(seconds, kind) of each sample."""
        command = ["perf", "script", "-i", self.path, "-F", "comm,time,ip,sym,dso"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace") as script:
            yield from filter(None, map(sample_of, script.stdout))


def sample_of(line):
    """(seconds, kind) of a line of `perf script`; None if it is not a sample's."""
    found = LINE.match(line)
    if not found:
        return None
    fields = found.groupdict()
    fields["symbol"] = re.sub(r"^[0-9a-f]+\s+", "", fields["symbol"])  # its address
    for kind, patterns in KINDS:
        if all(re.search(pattern, fields[field]) for field, pattern in patterns.items()):
            return float(fields["time"]), kind
    raise AssertionError("the last kind fits everything")


def seconds_by_kind(samples, windows):
    """Processor seconds by kind of work in each window: {name: {kind: seconds}}.

    windows: {name: (begin, end) or a list of them}, CLOCK_MONOTONIC in seconds. Each processor's idle time is in it, so that the kinds of a
    window add up to its length times the processors, but for samples that were lost.
    """
    spent = {name: collections.Counter() for name in windows}
    parts = [(*part, spent[name]) for name, each in windows.items() for part in (each if isinstance(each, list) else [each])]
    for at, kind in samples:
        for begin, end, kinds in parts:
            if begin <= at < end:
                kinds[kind] += 1
    return {name: {kind: round(count / HERTZ, 3) for kind, count in kinds.items()} for name, kinds in spent.items()}


def table(profiles):
    """The profiles, {title: {kind: seconds}}, as text: a row for each title, a column for each kind of work that was seen."""
    kinds = kinds_of(profiles)
    widths = [max(9, len(kind)) for kind in kinds]
    first = max(26, *map(len, profiles))
    lines = ["%-*s %s" % (first, "processor seconds", " ".join("%*s" % each for each in zip(widths, kinds)))]
    for title, profile in profiles.items():
        seconds = " ".join("%*.2f" % (width, profile.get(kind, 0)) for width, kind in zip(widths, kinds))
        lines.append("%-*s %s" % (first, title, seconds))
    return "\n".join(lines)


def kinds_of(profiles):
    """The kinds of work that were seen, in order: java.checksum and the like, as java_profile.py divides it, with java."""
    seen = {kind for profile in profiles.values() for kind in profile}
    place = {kind: number for number, kind in enumerate(ORDER)}
    return sorted(seen, key=lambda kind: (place[kind.partition(".")[0] if kind.startswith("java.") else kind], kind))


def plot(profiles, title, path):
    """Draws each profile as a bar of its kinds of work. Leaves nothing where matplotlib is not installed; plot() of
    report.py says so."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.4 * len(profiles)))
    colours = pyplot.get_cmap("tab20").colors + pyplot.get_cmap("tab20b").colors
    drawn = [0.0] * len(profiles)
    for number, kind in enumerate(kinds_of(profiles)):
        seconds = [profile.get(kind, 0) for profile in profiles.values()]
        if any(seconds):
            colour = "white" if kind == IDLE else colours[number % len(colours)]
            axes.barh(range(len(profiles)), seconds, left=drawn, label=kind, color=colour, edgecolor="grey", linewidth=0.3)
            drawn = [before + more for before, more in zip(drawn, seconds)]
    axes.set_yticks(range(len(profiles)), list(profiles))
    axes.invert_yaxis()
    axes.set_xlabel("processor seconds")
    axes.set_title(title)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(figure)
    print("plot: " + path)
