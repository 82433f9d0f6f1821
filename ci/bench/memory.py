"""Memory that a hypervisor would take back between measurements.

A virtual machine may report its free memory to the host, which takes it, a few seconds after it became free, and gives it again at
the first touch of each page. Writing to fresh pages then costs several times as much: one that was looked at wrote 384
to 613 MB/s to files in memory after a rest, and 2,300 to 2,800 MB/s when its memory was its own. Benchmarks that write gigabytes between
pauses would measure that.

Free memory is reported in blocks of 2 MB. So all of it is taken once, and given back but for a page in each of those blocks. As long as
these pages are held nearly nothing is reported, and a machine's memory is as fast as one's that has no such host.
"""

import glob
import mmap
import time

BLOCK = 2 << 20
PAGE = mmap.PAGESIZE
# What is left alone: what runs meanwhile, and the system, need some.
RESERVE = 1500 << 20
# A feature of virtio's balloon, by its number: the machine reports free pages.
REPORTING = 5
MADV_POPULATE_WRITE = 23


def reports_free_pages(features="/sys/bus/virtio/drivers/virtio_balloon/virtio*/features"):
    """Whether a hypervisor is told of free memory."""
    for path in glob.glob(features):
        with open(path) as file:
            bits = file.read().strip()
        if len(bits) > REPORTING and bits[REPORTING] == "1":
            return True
    return False


def free_bytes(meminfo="/proc/meminfo"):
    """Memory that nobody uses."""
    with open(meminfo) as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemFree:"))


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
        self.seconds = 0.0
        size = (free_bytes() - RESERVE) // BLOCK * BLOCK
        if wanted == "no" or (wanted == "auto" and not reports_free_pages()) or size <= 0:
            return
        start = time.monotonic()
        self._hold(size)
        self.seconds = time.monotonic() - start
        print("kept %d MB of memory warm, %.0f s" % (self.megabytes, self.seconds), flush=True)

    def _hold(self, size):
        area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        area.madvise(mmap.MADV_NOHUGEPAGE)
        try:
            area.madvise(MADV_POPULATE_WRITE)
        except OSError as error:
            area.close()
            print("memory is not kept warm: %s; the first touch of a page may cost more than its use" % error, flush=True)
            return
        for at in range(0, size, BLOCK):
            area.madvise(mmap.MADV_DONTNEED, at + PAGE, BLOCK - PAGE)
        self.area = area
        self.megabytes = size >> 20

    def conditions(self):
        """What a report should say of it."""
        return {"memory_kept_mb": self.megabytes}
