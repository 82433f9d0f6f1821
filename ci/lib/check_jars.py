#!/usr/bin/env python3
"""Checks that the jars of a tree go together.

usage: check_jars.py TREE EXCEPTIONS

Fails if a jar stands in the tree twice, if an artifact stands in it in two versions, or if two jars hold a class of the
same name with different bytes, so that the order of a class path would decide what runs. Symbolic links are not looked
at: they are names of a jar that is there once.

EXCEPTIONS lists what is known and why that is no harm, one a line, # begins a comment:

    versions ARTIFACT: reason         the artifact may be there in several versions
    classes ARTIFACT ARTIFACT: reason  these two jars may differ in classes that both have

An exception that nothing needs any more is an error too: the list says what is, not what was.
"""

import hashlib
import itertools
import os
import re
import zipfile
from collections import defaultdict

import exceptions

NAME = re.compile(r"(?P<artifact>.+?)-(?P<version>\d[^-]*(?:-(?!tests$)[^-]+)*)(?P<classifier>-tests)?$")


class Jar:
    """One jar of the tree: its path in it, its artifact's name, its version."""

    def __init__(self, tree, path):
        self.path = os.path.relpath(path, tree)
        self.file = path
        stem = os.path.basename(path)[: -len(".jar")]
        match = NAME.match(stem)
        self.artifact = match["artifact"] + (match["classifier"] or "") if match else stem
        self.version = match["version"] if match else ""

    def digest(self):
        with open(self.file, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()

    def classes(self):
        """Class name -> (checksum, size), as the jar's own table of contents has them."""
        with zipfile.ZipFile(self.file) as archive:
            return {
                entry.filename: (entry.CRC, entry.file_size)
                for entry in archive.infolist()
                if entry.filename.endswith(".class")
                and not entry.filename.startswith("META-INF/")
                and os.path.basename(entry.filename) not in ("module-info.class", "package-info.class")
            }


def jars_of(tree):
    found = []
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for file in sorted(files):
            path = os.path.join(folder, file)
            if file.endswith(".jar") and not os.path.islink(path):
                found.append(Jar(tree, path))
    return found


def read_exceptions(file):
    """The exceptions as a set of tuples: ("versions", artifact) and ("classes", artifact, artifact)."""
    found = set()
    for number, words, _ in exceptions.read(file):
        if (words[0], len(words)) not in (("versions", 2), ("classes", 3)):
            raise SystemExit(f"{file}:{number}: not an exception: {' '.join(words)}")
        found.add((words[0], *sorted(words[1:])))
    return found


def same_jars(jars):
    groups = defaultdict(list)
    for jar in jars:
        groups[jar.digest()].append(jar.path)
    return [f"one jar stands in the tree twice: {' '.join(paths)}" for paths in groups.values() if len(paths) > 1]


def several_versions(jars):
    """(exception that would allow it, message) for each artifact in more than one version."""
    groups = defaultdict(list)
    for jar in jars:
        groups[jar.artifact].append(jar)
    for artifact, group in groups.items():
        if len({jar.version for jar in group}) > 1:
            yield ("versions", artifact), f"{artifact} is there in several versions: {' '.join(j.path for j in group)}"


def differing_classes(jars):
    """(exception that would allow it, message) for each pair of jars with classes of one name and different bytes."""
    owners = defaultdict(list)
    for jar in jars:
        for name, content in jar.classes().items():
            owners[name].append((jar, content))
    pairs = defaultdict(list)
    for name, group in owners.items():
        for (a, x), (b, y) in itertools.combinations(group, 2):
            if x != y:
                pairs[a, b].append(name)
    for (a, b), names in pairs.items():
        key = ("classes", *sorted((a.artifact, b.artifact)))
        yield key, f"{a.path} and {b.path} differ in {len(names)} classes, such as {min(names)}"


def problems(tree, exceptions_file):
    """What is wrong with the tree, one message each."""
    allowed = read_exceptions(exceptions_file)
    jars = jars_of(tree)
    if not jars:
        return [f"{tree} holds no jar"]
    found = same_jars(jars)
    used = set()
    for key, message in itertools.chain(several_versions(jars), differing_classes(jars)):
        if key in allowed:
            used.add(key)
        else:
            found.append(message)
    return found + exceptions.unused(exceptions_file, allowed, used)


if __name__ == "__main__":
    exceptions.run(__doc__, problems)
