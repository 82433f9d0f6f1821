#!/usr/bin/env python3
"""Checks that what the classes of a tree call is there: a jar replaced by a newer one may lack a method of the old one.

usage: check_links.py TREE EXCEPTIONS

For each method and field that a class of one jar takes from a class of another, looks whether that class or an ancestor
has it with that descriptor. Classes that no jar of the tree has (the JDK's, optional libraries) are taken as complete.
What is not there would be a NoSuchMethodError or NoSuchFieldError when it is reached.

EXCEPTIONS lists what is known and why that is no harm, one a line, # begins a comment:

    CALLER-ARTIFACT OWNER-ARTIFACT: reason

An exception that nothing needs any more is an error too.
"""

import os
import struct
import zipfile
from collections import defaultdict

import exceptions
from check_jars import jars_of

_SIZE = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_POLYMORPHIC = {"java/lang/invoke/MethodHandle", "java/lang/invoke/VarHandle"}


class Class:
    """What a class file says of itself: its name, parents, members, and the members of others that it refers to."""

    __slots__ = ("name", "parents", "members", "references")

    def __init__(self, data):
        pool, offset = self._pool(data)

        def name_at(index):
            return pool[pool[index]]

        this, parent, interfaces = struct.unpack_from(">HHH", data, offset + 2)
        self.name = name_at(this)
        self.parents = [name_at(parent)] if parent else []
        self.parents += [name_at(i) for i in struct.unpack_from(">%dH" % interfaces, data, offset + 8)]
        offset += 8 + 2 * interfaces
        self.members = set()
        for _ in range(2):
            offset = self._read_members(data, offset, pool)
        self.references = set()
        for entry in pool:
            if isinstance(entry, tuple) and len(entry) == 3:
                name, descriptor = pool[entry[2]]
                self.references.add((name_at(entry[1]), pool[name], pool[descriptor]))

    @staticmethod
    def _pool(data):
        """The constant pool: strings, class entries as an index, names with types as pairs, references as triples."""
        count, offset = struct.unpack_from(">H", data, 8)[0], 10
        pool, index = [None] * count, 1
        while index < count:
            tag = data[offset]
            if tag == 1:
                size = 2 + struct.unpack_from(">H", data, offset + 1)[0]
                pool[index] = data[offset + 3 : offset + 1 + size].decode("utf-8", "replace")
            else:
                size = _SIZE[tag]
                if tag == 7:
                    pool[index] = struct.unpack_from(">H", data, offset + 1)[0]
                elif tag == 12:
                    pool[index] = struct.unpack_from(">HH", data, offset + 1)
                elif tag in (9, 10, 11):
                    pool[index] = (tag, *struct.unpack_from(">HH", data, offset + 1))
            offset += 1 + size
            index += 2 if tag in (5, 6) else 1
        return pool, offset

    def _read_members(self, data, offset, pool):
        count, offset = struct.unpack_from(">H", data, offset)[0], offset + 2
        for _ in range(count):
            name, descriptor, attributes = struct.unpack_from(">HHH", data, offset + 2)
            self.members.add((pool[name], pool[descriptor]))
            offset += 8
            for _ in range(attributes):
                offset += 6 + struct.unpack_from(">I", data, offset + 2)[0]
        return offset


class Tree:
    """All classes of all jars; of a name in several jars, each is kept."""

    def __init__(self, tree):
        self.classes = defaultdict(list)
        self.callers = []
        for jar in jars_of(tree):
            if jar.path.startswith("share/hadoop/tests/") or jar.artifact.endswith("-tests"):
                continue  # runs in programs of its own only
            with zipfile.ZipFile(jar.file) as archive:
                for entry in archive.namelist():
                    if entry.endswith(".class") and not entry.startswith("META-INF/"):
                        found = Class(archive.read(entry))
                        self.classes[found.name].append((jar, found))
                        self.callers.append((jar, found))

    def has(self, owner, member, seen=None):
        """Whether owner, in one of its copies, or an ancestor has the member; true where an ancestor is not in the tree."""
        seen = seen if seen is not None else set()
        if owner in seen:
            return False
        seen.add(owner)
        copies = self.classes.get(owner)
        if not copies:
            # Object's own methods are few, and the end of every search; any other class outside may have anything.
            return owner != "java/lang/Object" or member[0] in _OBJECT
        return any(member in found.members or any(self.has(p, member, seen) for p in found.parents) for _, found in copies)

    def broken(self):
        """(caller's jar, owner's jar) -> what is missing, with one caller each."""
        known, missing = {}, defaultdict(dict)
        for jar, caller in self.callers:
            for owner, name, descriptor in caller.references:
                if owner.startswith("[") or owner in _POLYMORPHIC or owner not in self.classes:
                    continue
                if any(other.path == jar.path for other, _ in self.classes[owner]):
                    continue
                key = owner, name, descriptor
                if key not in known:
                    known[key] = self.has(owner, (name, descriptor))
                if not known[key]:
                    missing[jar.artifact, self.classes[owner][0][0].artifact][key] = caller.name
        return missing


_OBJECT = {"<init>", "clone", "equals", "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait"}


def read_exceptions(file):
    """The exceptions as a set of (caller's artifact, owner's artifact)."""
    found = set()
    for number, words, _ in exceptions.read(file):
        if len(words) != 2:
            raise SystemExit(f"{file}:{number}: not an exception: {' '.join(words)}")
        found.add(tuple(words))
    return found


def problems(tree, exceptions_file):
    """What is wrong with the tree, one message each."""
    allowed = read_exceptions(exceptions_file)
    broken = Tree(tree).broken()
    found = []
    for pair in sorted(broken):
        if pair not in allowed:
            for (owner, name, descriptor), caller in sorted(broken[pair].items())[:5]:
                found.append(f"{pair[0]} {pair[1]}: {caller} uses {owner}.{name}{descriptor}, which is not there")
    return found + exceptions.unused(exceptions_file, allowed, set(broken))


if __name__ == "__main__":
    exceptions.run(__doc__, problems)
