#!/usr/bin/env python3
"""Writes docs/guide/package-files.md: sizes and file lists of the packages that were built; or checks it.

package_table.py [--check] DEBS RPMS PAGE

--check: the page must name the same packages and files; sizes may differ by a quarter, and half a megabyte, as compilers do.
Without rpms (the folder is missing) their sizes are taken from the page.
"""
import os
import re
import subprocess
import sys

HEAD = """# What is in the packages

Written by `make package-table`; a test compares it with the packages. Sizes are megabytes: of the package for apt, of the one
for yum, and installed. `*` stands for the files of a folder, `**` for all below it. The libraries of howdah-engine are in
`/usr/lib/x86_64-linux-gnu` (apt, amd64), `/usr/lib/powerpc64le-linux-gnu` (apt, ppc64el) or `/usr/lib64` (yum). Left out:
`/usr/share/doc`, and links in `/usr/bin` that apt's packages make when they are installed (update-alternatives). What each package is for: [packages.md](packages.md).
"""
DEPTH = 6
MANY = 12
WHOLE = {f"/usr/lib/howdah/{name}" for name in ("data", "examples", "python", "share/licenses")}


def files_of(deb):
    """Paths of files and links in a package for apt, and their bytes."""
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    listing = subprocess.run(["tar", "-tvf", "-"], stdin=tar.stdout, capture_output=True, text=True, check=True).stdout
    paths, size = [], 0
    for line in listing.splitlines():
        mode, _, length, _, _, path = line.split(None, 5)
        if mode.startswith("d"):
            continue
        path = path.split(" -> ")[0].split(" link to ")[0].lstrip(".")
        size += int(length)
        if not path.startswith("/usr/share/doc/"):
            paths.append(path)
    return sorted(paths), size


def lines_of(paths):
    """The paths, those of crowded folders as one line."""
    below, within = {}, {}
    for path in paths:
        parts = path.split("/")[1:]
        for depth in range(1, len(parts)):
            below.setdefault("/" + "/".join(parts[:depth]), []).append(path)
        within.setdefault(os.path.dirname(path), []).append(path)
    lines = []
    for path in paths:
        folder = os.path.dirname(path)
        deep = [f for f in below if path.startswith(f + "/") and len(below[f]) > MANY
                and (f.count("/") >= DEPTH or f in WHOLE)]
        if deep:
            top = min(deep, key=len)
            line = f"{top}/** ({len(below[top])} files)"
        elif len(within[folder]) > MANY:
            line = f"{folder}/* ({len(within[folder])} files)"
        else:
            line = path
        if line not in lines:
            lines.append(line)
    return lines


def megabytes(size):
    return f"{size / 1e6:.2f}" if size < 1e6 else f"{size / 1e6:.1f}"


def page_of(debs, rpms, known):
    """The page. known: sizes of packages for yum, where they were not built."""
    rows, lists = [], []
    rpm_sizes = {}
    for folder, _, names in os.walk(rpms):
        for name in names:
            match = re.match(r"(howdah-[a-z-]+)-[0-9].*\.(noarch|x86_64)\.rpm$", name)
            if match:
                rpm_sizes[match.group(1)] = os.path.getsize(os.path.join(folder, name))
    for folder in ("all", "amd64"):
        for name in sorted(os.listdir(os.path.join(debs, folder))):
            package = name.split("_")[0]
            if not name.endswith(".deb") or package.endswith("-dbgsym"):
                continue
            path = os.path.join(debs, folder, name)
            paths, installed = files_of(path)
            yum = package.replace("-dev", "-devel") if package.endswith("-dev") else package
            rpm = megabytes(rpm_sizes[yum]) if yum in rpm_sizes else known.get(package, "-")
            rows.append(f"| {package} | {megabytes(os.path.getsize(path))} | {rpm} | {megabytes(installed)} | {len(paths)} |")
            nothing = "HTML in `/usr/share/doc/howdah/html`.\n" if package == "howdah-doc" else "Nothing: it brings in others.\n"
            lists.append(f"\n## {package}\n\n" + ("".join(f"    {line}\n" for line in lines_of(paths)) or nothing))
    table = "| package | apt | yum | installed | files |\n|---|---:|---:|---:|---:|\n" + "\n".join(sorted(rows)) + "\n"
    return HEAD + "\n" + table + "".join(sorted(lists))


def table_of(text):
    return {m[1]: [m[2], m[3], m[4]] for m in re.finditer(r"^\| (howdah-[a-z-]+) \| (\S+) \| (\S+) \| (\S+) \|", text, re.M)}


def differences(old, new):
    """What differs: rows without a counterpart, sizes that are far off, file lists."""
    before, now = table_of(old), table_of(new)
    for package in sorted(before.keys() | now.keys()):
        for was, is_ in zip(before.get(package, ()), now.get(package, ())):
            if "-" not in (was, is_) and abs(float(was) - float(is_)) > max(0.5, float(was) / 4):
                yield f"{package}: {was} MB there, {is_} MB now"
    strip = [re.sub(r"^(\| howdah-[a-z-]+ \|).*\|", r"\1", text, flags=re.M).splitlines() for text in (old, new)]
    for line in sorted(set(strip[0]) ^ set(strip[1])):
        yield f"{'no longer' if line in strip[0] else 'not yet'} there: {line.strip()}"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    debs, rpms, page = arguments
    old = open(page).read() if os.path.exists(page) else ""
    new = page_of(debs, rpms, {name: sizes[1] for name, sizes in table_of(old).items()})
    if "--check" not in sys.argv:
        with open(page, "w") as out:
            out.write(new)
        return
    found = list(differences(old, new))
    if found:
        sys.exit("\n".join(found + [f"{page} is not what the packages are; run: make package-table"]))


main()
