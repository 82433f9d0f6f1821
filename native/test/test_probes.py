#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library has the tracepoints that docs/design/engine.md has: test_probes.py LIBRARY TABLE ON|OFF [unittest arguments]."""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LIBRARY, TABLE, TRACED = sys.argv[1:4]
del sys.argv[1:4]
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.M)
NOTE = re.compile(r"Provider: (\w+)\s+Name: (\w+)\s+Location: 0x0*([0-9a-f]+), .*\s+Arguments: (.*)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def documented():
    """{probe: how many arguments}"""
    text = pathlib.Path(TABLE).read_text(encoding="utf-8").split("\n## Tracing\n")[1].split("\n## ")[0]
    return {name: arguments.count(",") + 1 for name, arguments in ROW.findall(text)}


def noted(library):
    """{probe: [(address, how many arguments) of each place]}"""
    found = collections.defaultdict(list)
    for provider, name, address, arguments in NOTE.findall(output("readelf", "--notes", "--wide", library)):
        if provider == "howdah":
            found[name].append((address, len(re.findall(r"(?:^|\s)-?\d+f?@", arguments))))
    return found


class Probes(unittest.TestCase):
    def test_they_are_those_of_the_table(self):
        table, library = documented(), noted(LIBRARY)
        self.assertEqual(sorted(table), sorted(library))
        for name, places in library.items():
            for address, arguments in places:
                self.assertEqual(table[name], arguments, f"arguments of {name} at {address}")

    def test_they_are_there_once_the_library_was_stripped(self):
        with tempfile.NamedTemporaryFile(prefix="howdah-probes-") as stripped:
            output("strip", "--strip-unneeded", "-o", stripped.name, LIBRARY)
            self.assertEqual(noted(LIBRARY), noted(stripped.name))

    def test_each_is_one_no_op(self):
        code = dict(re.findall(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t(.*?)\s*$", output("objdump", "-d", LIBRARY), re.M))
        for name, places in noted(LIBRARY).items():
            for address, _ in places:
                self.assertEqual("nop", code.get(address), f"{name} at {address}")


if __name__ == "__main__":
    if TRACED != "ON":
        print("skipped: tools_Probes: built without sys/sdt.h")
        sys.exit(77)
    unittest.main()
