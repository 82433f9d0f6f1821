"""Memory that a hypervisor would take back between measurements.

A virtual machine may report its free memory to the host, which takes it within seconds and gives it again at the first
touch of each page. Writing to fresh pages then costs several times as much: one machine wrote 384 to 613 MB/s to files
in memory after a rest, and 2,300 to 2,800 MB/s when its memory was its own. Benchmarks that write gigabytes between
pauses would measure that.

Free memory is reported in blocks of 2 MB. So all of it, and what the page cache has, is taken once and given back but for
a page in each of those blocks. As long as these pages are held nearly nothing is reported, and memory is as fast as a
machine's of its own. The page cache is part of it because it frees pages, too: a benchmark of writes to a disk that left it
out had two of three writes at half speed.
"""

import glob
import mmap
import os
import sys
import time

BLOCK = 2 << 20
PAGE = mmap.PAGESIZE
# What is left alone: what runs meanwhile, and the system, need some.
RESERVE = 1500 << 20
# A feature of virtio's balloon, by its number: the machine reports free pages.
REPORTING = 5
MADV_POPULATE_WRITE = 23
# Limit and use of memory, of control groups of version 2 and 1.
GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def reports_free_pages(features="/sys/bus/virtio/drivers/virtio_balloon/virtio*/features"):
    """Whether a hypervisor is told of free memory."""
    for path in glob.glob(features):
        with open(path) as file:
            bits = file.read().strip()
        if len(bits) > REPORTING and bits[REPORTING] == "1":
            return True
    return False


def available_bytes(meminfo="/proc/meminfo"):
    """Memory that nobody uses, and the page cache, which makes room: what it frees later would be taken, too."""
    with open(meminfo) as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))


def allowed_bytes(groups=GROUPS):
    """What this process's control group may still have, as its container sees it; more than there is if no limit is set."""
    room = sys.maxsize
    for limit, used in groups:
        if os.path.exists(limit):
            with open(limit) as most, open(used) as now:
                words = most.read().strip(), now.read().strip()
            if words[0] != "max":
                room = min(room, int(words[0]) - int(words[1]))
    return room


def add_option(parser):
    """An argparse option, keep_memory, of what Kept is to do."""
    parser.add_argument(
        "--keep-memory",
        choices=("auto", "yes", "no"),
        default="auto",
        help="hold free memory, so that no hypervisor takes it back between measurements (default auto: where one would)",
    )


class Kept:
    """Keeps the machine's memory as long as it lives; nothing where no hypervisor would take it. Not thread-safe."""

    def __init__(self, wanted):
        """wanted: as the option has it."""
        self.area = None
        self.megabytes = 0
        size = (min(available_bytes(), allowed_bytes()) - RESERVE) // BLOCK * BLOCK
        if wanted == "no" or (wanted == "auto" and not reports_free_pages()) or size <= 0:
            return
        start = time.monotonic()
        self._hold(size)
        print("kept %d MB of memory warm, %.0f s" % (self.megabytes, time.monotonic() - start), flush=True)

    def _hold(self, size):
        try:
            area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            area.madvise(mmap.MADV_NOHUGEPAGE)
            area.madvise(MADV_POPULATE_WRITE)
        except OSError as error:  # an older kernel, or one that promises no more than it has
            print("memory is not kept warm: %s; the first touch of a page may cost more than its use" % error, flush=True)
            return
        for at in range(0, size, BLOCK):
            area.madvise(mmap.MADV_DONTNEED, at + PAGE, BLOCK - PAGE)
        self.area = area
        self.megabytes = size >> 20

    def conditions(self):
        """What a report should say of it."""
        return {"memory_kept_mb": self.megabytes}
