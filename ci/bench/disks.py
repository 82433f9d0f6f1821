"""Disks that are no faster than they are told to be, for all processes of a benchmark alike.

By io.max: the devices under the folders are limited for a cgroup of their own (cgroup v2). What the page cache takes and does
not write yet is not limited, so files have to be larger than that for the limit to show.
By fuse: a file system of user space (ci/lib/faultfs.c) stands before each folder. The kernel keeps what was read, and holds back
few writes (a hundredth of what it would for a disk), so a short run is as one that writes more than memory holds.
"""

import collections
import contextlib
import os
import subprocess
import tempfile
import time

WAYS = ("io.max", "fuse")
CGROUPS = "/sys/fs/cgroup"
# Seconds that a file system has to come up, and to be idle so that it can be taken away.
PATIENCE = 30

# Where clusters are, and where the shared path of HHH-L is.
Places = collections.namedtuple("Places", "scratch shared")


@contextlib.contextmanager
def limited(way, bytes_a_second, places, faultfs=None):
    """The places to use in the body: reads and writes of each one's disk together are no faster; 0: no limit."""
    if not bytes_a_second:
        yield places
    elif way == "fuse":
        with contextlib.ExitStack() as stack:
            yield Places(*(stack.enter_context(behind_fuse(faultfs, bytes_a_second >> 20, folder)) for folder in places))
    else:
        with in_cgroup(bytes_a_second, *places):
            yield places


@contextlib.contextmanager
def in_cgroup(bytes_a_second, *folders):
    group = os.path.join(CGROUPS, "howdah-bench-%d" % os.getpid())
    try:
        os.mkdir(group)
        for device in {os.stat(folder).st_dev for folder in folders}:
            limit = (os.major(device), os.minor(device), bytes_a_second, bytes_a_second)
            write(group, "io.max", "%d:%d rbps=%d wbps=%d" % limit)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.rmdir(group)
        raise SystemExit(
            "the disk of %s cannot be limited (%s): that takes root, the io controller of cgroup v2, and a folder on a whole "
            "device; --limit-by fuse needs none of them, --limits 0 measures without a limit" % (" and ".join(folders), error)
        ) from error
    with open("/proc/self/cgroup", encoding="ascii") as file:
        own = CGROUPS + file.read().strip().rsplit(":", 1)[1]
    write(group, "cgroup.procs", os.getpid())
    try:
        yield
    finally:
        write(own, "cgroup.procs", os.getpid())
        with contextlib.suppress(OSError):
            os.rmdir(group)


def write(group, name, text):
    with open(os.path.join(group, name), "w", encoding="ascii") as file:
        file.write(str(text))


@contextlib.contextmanager
def behind_fuse(program, megabytes_a_second, parent):
    """A folder that shows a new one in `parent`, and is no faster; both go in the end."""
    with tempfile.TemporaryDirectory(prefix="howdah-bench-disk-", dir=parent) as folder:
        source, shown, control = (os.path.join(folder, name) for name in ("source", "shown", "control"))
        os.mkdir(source)
        os.mkdir(shown)
        with open(control, "w", encoding="ascii") as file:
            file.write("".join("%s pace %d\n" % (call, megabytes_a_second) for call in ("read", "write")))
        try:
            subprocess.run([program, "-c", control, source, shown], check=True, stderr=subprocess.PIPE, text=True)
            wait_for(lambda: os.path.ismount(shown))
        except (OSError, TypeError, subprocess.CalledProcessError, TimeoutError) as error:
            raise SystemExit("no file system can be mounted at %s: %s" % (shown, getattr(error, "stderr", None) or error)) from error
        try:
            yield shown
        finally:
            wait_for(lambda: unmounted(shown))


def unmounted(folder):
    """Whether it is now; not while a process is in it. Others than root have a program for it, as for mounting."""
    command = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    return subprocess.run([*command, folder], check=False, stderr=subprocess.DEVNULL).returncode == 0


def wait_for(done):
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("not within %d s" % PATIENCE)
        time.sleep(0.1)
