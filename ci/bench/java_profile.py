"""What Java code does while something is measured, by the JVM's own flight recorder: perf sees that a JVM runs compiled code,
not which.

The recorder looks at a few threads at a time, so its samples give shares, not times: they divide what perf counted as java.
"""

import collections
import contextlib
import datetime
import glob
import json
import os
import re
import subprocess
import tempfile
import time

import perf_profile

# Kinds of work by the class and method of a frame, A.B.method: the frame nearest to the top that fits one decides.
KINDS = (
    ("checksum", r"DataChecksum|PureJavaCrc32|Crc32C|\.CRC32"),
    ("protobuf", r"^com\.google\.protobuf\.|Proto(s|col)?\$|\.proto\."),
    ("engine", r"^io\.howdah\.(?!bench\.|examples\.)|\.Rdma|\.network\.rdma\."),
    ("sockets", r"^sun\.nio\.ch\.(Socket|IOUtil|EPoll|Selector)|^java\.net\.|\.SocketOutputStream|\.SocketInputStream"),
    ("files", r"^sun\.nio\.ch\.File|^java\.io\.(File|RandomAccessFile)"),
    ("netty", r"^io\.netty\."),
    ("serialize", r"[sS]erializ|^java\.io\.Object(In|Out)putStream"),
    ("compress", r"\.lz4\.|\.snappy\.|^com\.ning\."),
    ("merge", r"\.Merger|\.PrefixMerge|\.RecordInput|\.MergeManagerImpl|^org\.apache\.hadoop\.util\.PriorityQueue"),
    ("collect", r"\.MapTask\$MapOutputBuffer|\.PagedMapOutput|\.RecordPages|\.MapSpills|\.PrefixSort|\.mapred\.IFile"),
    ("sort", r"TimSort|\.sort\(|Sorter|SortDataFormat"),
)
OTHER = "other"
DEPTH = 16
# All JVMs heed it, whoever starts them.
VARIABLE = "JAVA_TOOL_OPTIONS"
# A folder has each JVM make up the name of its file.
OPTIONS = (
    "-XX:StartFlightRecording=settings=profile,dumponexit=true,filename=%s -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"
)


def kind_of(frames):
    """The kind of work of a stack, its top first."""
    for frame in frames:
        for kind, pattern in KINDS:
            if re.search(pattern, frame):
                return kind
    return OTHER


@contextlib.contextmanager
def all_jvms(options):
    """Has all JVMs that are started meanwhile take these options. Not for Spark: the JVM that makes its command lines prints
    them where the recorder speaks, too."""
    before = os.environ.get(VARIABLE)
    if options:
        os.environ[VARIABLE] = options
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


class Recorder:
    """Recordings of JVMs that were started with its options and have ended. Where the JDK has no flight recorder, there are
    neither."""

    def __init__(self, folder, java_home):
        self.folder = folder
        self.tool = os.path.join(java_home, "bin", "jfr")
        self.options = OPTIONS % folder if os.access(self.tool, os.X_OK) else ""
        self.offset = time.time() - time.monotonic()

    def samples(self):
        """(seconds by CLOCK_MONOTONIC, kind) of each sample of all JVMs."""
        for path in sorted(glob.glob(os.path.join(self.folder, "*.jfr"))):
            command = [self.tool, "print", "--json", "--events", "jdk.ExecutionSample", "--stack-depth", str(DEPTH), path]
            printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if printed.returncode:  # of a JVM that was killed while it wrote: what was measured counts all the same
                print("profile without %s: %s" % (os.path.basename(path), printed.stdout.strip()[:200]), flush=True)
                continue
            for event in json.loads(printed.stdout)["recording"]["events"]:
                if not is_mover(event["values"]):
                    yield sample_of(event["values"], self.offset)


def is_mover(values):
    """Whether perf counts the thread of an event as a mover, so that it is no part of java."""
    thread = values.get("sampledThread") or {}
    return bool(re.search(perf_profile.MOVERS, thread.get("javaName") or ""))


def sample_of(values, offset):
    """(seconds, kind) of an event as jfr prints it."""
    stamp = re.sub(r"(\.\d{6})\d*", r"\1", values["startTime"]).replace("Z", "+00:00")
    frames = [frame["method"] for frame in (values["stackTrace"] or {"frames": []})["frames"]]
    names = ["%s.%s" % (method["type"]["name"].replace("/", "."), method["name"]) for method in frames]
    return datetime.datetime.fromisoformat(stamp).timestamp() - offset, kind_of(names)


def shares(samples, windows):
    """{window: {kind: share of its samples}}; windows are those of perf_profile.seconds_by_kind()."""
    counts = {name: collections.Counter() for name in windows}
    for at, kind in samples:
        for name, each in windows.items():
            for begin, end in each if isinstance(each, list) else [each]:
                if begin <= at < end:
                    counts[name][kind] += 1
    return {name: {kind: n / sum(kinds.values()) for kind, n in kinds.items()} for name, kinds in counts.items()}


def divide(profile, share):
    """A profile of perf, {kind: seconds}, with its java divided: java.checksum and so on; as it is where there are no samples."""
    divided = dict(profile)
    java = divided.pop("java", 0) if share else 0
    for kind, part in share.items():
        if java:
            divided["java." + kind] = round(java * part, 3)
    return divided


def profile(java_home, work, windows_of):
    """Runs work(), which is given options for JVMs, under both recorders. {window: {kind: processor seconds}}, java divided;
    windows_of() makes the windows of what work() returned."""
    with tempfile.TemporaryDirectory(prefix="howdah-profile-", dir="/var/tmp") as folder:
        java = Recorder(folder, java_home)
        with perf_profile.Recorder(os.path.join(folder, "perf.data")) as perf:
            done = work(java.options)
        windows = windows_of(done)
        seconds = perf_profile.seconds_by_kind(perf.samples(), windows)
        parts = shares(java.samples(), windows)
        return {name: divide(seconds[name], parts[name]) for name in seconds}
