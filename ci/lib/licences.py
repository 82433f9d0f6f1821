#!/usr/bin/env python3
"""Collects the licences of a tree's third-party jars.

usage: licences.py TREE LIST

LIST says under which licence each artifact stands (ARTIFACT: LICENCE, # begins a comment). Writes
TREE/share/licenses/THIRD-PARTY, a table of every jar, and TREE/share/licenses/ARTIFACT/ with the licence and notice
files that the jar carries. Fails if a jar's artifact is not in LIST.
"""

import os
import re
import sys
import zipfile

from check_jars import jars_of

# Hadoop, Spark and we ourselves: LICENSE and NOTICE of the tree say it, their jars' own files are kept all the same.
OURS = ("hadoop-", "spark-", "howdah-")
PAPER = re.compile(r"(META-INF/|license/)?(LICEN[SC]E|NOTICE|COPYING|ABOUT|DEPENDENCIES)[^/]*", re.IGNORECASE)


def read_list(file):
    licences = {}
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.split("#")[0].strip()
            if line:
                artifact, colon, licence = line.partition(": ")
                if not colon or not licence:
                    raise SystemExit(f"{file}:{number}: not ARTIFACT: LICENCE")
                licences[artifact] = licence
    return licences


def papers(jar):
    """File name -> content of the licence and notice files in the jar."""
    with zipfile.ZipFile(jar.file) as archive:
        return {
            os.path.basename(name): archive.read(name)
            for name in sorted(archive.namelist())
            if PAPER.fullmatch(name) and not name.endswith((".class", "/"))
        }


def collect(tree, licences):
    """Writes the papers and the table; returns the artifacts that the list lacks."""
    folder = os.path.join(tree, "share", "licenses")
    rows, missing = [], []
    for jar in jars_of(tree):
        for name, content in papers(jar).items():
            os.makedirs(os.path.join(folder, jar.artifact), exist_ok=True)
            with open(os.path.join(folder, jar.artifact, name), "wb") as stream:
                stream.write(content)
        licence = "Apache-2.0" if jar.artifact.startswith(OURS) else licences.get(jar.artifact)
        if licence is None:
            missing.append(jar.artifact)
        rows.append((jar.artifact, jar.version, licence or "?", jar.path))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "THIRD-PARTY"), "w", encoding="utf-8") as table:
        for row in sorted(rows):
            table.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[3] + "\n")
    return missing


def main(arguments):
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    missing = collect(arguments[0], read_list(arguments[1]))
    for artifact in missing:
        print(f"{arguments[1]}: {artifact} is missing", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
