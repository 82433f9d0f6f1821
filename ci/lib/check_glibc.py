#!/usr/bin/env python3
"""Checks that native code loads on old systems.

usage: check_glibc.py VERSION PATH...
       rpm -qp --requires PACKAGE... | check_glibc.py VERSION -

Looks at every ELF file for x86_64 and POWER in the folders, and in the jars there. Fails, and names each file, if one needs symbols of a newer
glibc than VERSION, or if there is no ELF file at all. With - it reads requirements of packages in place of files.
"""

import os
import re
import subprocess
import sys
import tempfile
import zipfile

MACHINES = (62, 21)  # x86_64, ppc64
NEEDED = re.compile(r"\bGLIBC_(\d+(?:\.\d+)*)\b")


def number(version):
    return tuple(int(part) for part in version.split("."))


def is_ours(head):
    """Whether the first 20 bytes of a file say that it is ELF, little endian, and for a machine that we ship to."""
    return head[:4] == b"\x7fELF" and head[5] == 1 and int.from_bytes(head[18:20], "little") in MACHINES


def newest(text):
    """The newest version that the text names, or None."""
    return max(NEEDED.findall(text), key=number, default=None)


def needed_by(file):
    """The newest glibc whose symbols an ELF file needs, or None. readelf knows every architecture."""
    return newest(
        subprocess.run(["readelf", "--version-info", "--wide", file], check=True, capture_output=True, text=True).stdout
    )


def elf_files(folder):
    """(name, path) of each ELF file below a folder, and of those in its jars, which are unpacked for the time being."""
    for path, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            full = os.path.join(path, file)
            if os.path.islink(full):
                continue
            with open(full, "rb") as stream:
                ours = is_ours(stream.read(20))
            if ours:
                yield full, full
            elif file.endswith(".jar"):
                yield from elf_files_of_jar(full)


def elf_files_of_jar(jar):
    with zipfile.ZipFile(jar) as archive, tempfile.TemporaryDirectory() as work:
        for entry in archive.infolist():
            if ".so" not in os.path.basename(entry.filename):
                continue
            content = archive.read(entry)
            if is_ours(content[:20]):
                file = os.path.join(work, "file")
                with open(file, "wb") as stream:
                    stream.write(content)
                yield f"{jar}!/{entry.filename}", file


def too_new(version, limit):
    return version is not None and number(version) > number(limit)


def main(limit, paths):
    if paths == ["-"]:
        found = newest(sys.stdin.read())
        if found is None:
            print("no requirement names a version of glibc", file=sys.stderr)
        elif too_new(found, limit):
            print(f"the packages need glibc {found}, and {limit} is what they may need", file=sys.stderr)
        return int(found is None or too_new(found, limit))
    seen, bad = 0, 0
    for path in paths:
        for name, file in elf_files(path):
            seen += 1
            found = needed_by(file)
            if too_new(found, limit):
                bad += 1
                print(f"{name} needs glibc {found}, and {limit} is what it may need", file=sys.stderr)
    if not seen:
        print(f"no ELF file in {' '.join(paths)}", file=sys.stderr)
    return int(bad > 0 or not seen)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
