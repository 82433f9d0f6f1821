#!/usr/bin/env python3
"""Checks that each file of the engine uses only files of its own row or of rows below it.

usage: check_layers.py ROWS SOURCES

ROWS lists rows from the top to the bottom, a name and its files (paths below SOURCES without their ending; a name with a slash at
its end is a folder), and below a line "known:" upward uses that are still there, as "FILE -> FILE". A use is a call or a pointer
of a function that another file defines, or an include of its header. An upward use that is not listed, a listed one that is gone,
and a file that is in no row are errors, so the list only gets shorter. The exit status is 1 if there is one.
"""

import os
import re
import sys
from collections import defaultdict

COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
DEFINITION = re.compile(r"^(?!static\b|typedef\b|return\b)[A-Za-z_][\w \t*]*?[\s*](\w+)\(([^;{}]*)\)\s*\{", re.M)
INCLUDE = re.compile(r"^#include \"([\w/]+)\.h\"", re.M)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def read_rows(text):
    """{file or folder/: number of its row, from the top}, and the set of known upward uses."""
    rows, known, at = {}, set(), 0
    listing = False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line == "known:":
            listing = True
        elif listing:
            user, arrow, used = line.partition(" -> ")
            if not arrow:
                sys.exit(f"line {number}: not FILE -> FILE: {line}")
            known.add((user.strip(), used.strip()))
        else:
            for name in line.split()[1:]:
                if name in rows:
                    sys.exit(f"line {number}: {name} is in two rows")
                rows[name] = at
            at += 1
    return rows, known


def unit_of(path):
    """What a row lists: a file without its ending, or the folder it is in."""
    return path.split("/")[0] + "/" if "/" in path else os.path.splitext(path)[0]


def read_sources(folder):
    """{unit: text without comments, strings and includes}, and the (unit, unit) of includes."""
    texts, includes = defaultdict(str), set()
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.relpath(os.path.join(where, name), folder)
            with open(os.path.join(where, name), encoding="utf-8") as stream:
                text = stream.read()
            unit = unit_of(path)
            for header in INCLUDE.findall(text):
                beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
                target = beside if os.path.exists(os.path.join(folder, beside + ".h")) else header
                if os.path.exists(os.path.join(folder, target + ".h")):
                    includes.add((unit, unit_of(target + ".h")))
            texts[unit] += COMMENTS.sub(" ", text) + "\n"
    return texts, includes


def uses(texts, includes):
    """{(unit, unit): names of functions used, or "its header"}."""
    home = {}
    for unit, text in texts.items():
        for match in DEFINITION.finditer(text):
            home.setdefault(match[1], unit)
    found = defaultdict(set)
    for unit, text in texts.items():
        for word in set(WORD.findall(text)):
            if home.get(word, unit) != unit and word.startswith("hd_"):
                found[unit, home[word]].add(word)
    for edge in includes:
        if edge[0] != edge[1]:
            found[edge].add("its header")
    return found


def check(rows_text, folder):
    """The messages."""
    rows, known = read_rows(rows_text)
    texts, includes = read_sources(folder)
    messages = [f"{unit} is in no row" for unit in sorted(texts) if unit not in rows]
    messages += [f"{name} is in a row, and not there" for name in sorted(rows) if name not in texts]
    upward = {}
    for (user, used), names in uses(texts, includes).items():
        if user in rows and used in rows and rows[used] < rows[user]:
            upward[user, used] = names
    for edge in sorted(set(upward) - known):
        messages.append(f"{edge[0]} uses {edge[1]}, which is above it: {', '.join(sorted(upward[edge]))}")
    for user, used in sorted(known - set(upward)):
        messages.append(f"known: {user} -> {used} is no more; take it off the list")
    return messages


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as rows_stream:
        wrong = check(rows_stream.read(), sys.argv[2])
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
