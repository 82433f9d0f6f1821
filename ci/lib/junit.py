#!/usr/bin/env python3
"""JUnit's XML of what the suites leave in their own forms, for a CI server to show.

    junit.py TEST_FOLDER OUTPUT

TEST_FOLDER is build/test. Read are TAP (*/tap), Python's unittest (*/log) and CTest with the fuzzers' and fault schedules' lines
(native/VARIANT). OUTPUT gets TEST-SUITE.xml for each. What Surefire and the conformance runner leave is JUnit's XML already.
A report without a test, as a build that broke leaves it, is one failed test that has its last lines.
"""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

# What XML 1.0 cannot hold; tests of hostile peers print such bytes.
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

TAP = re.compile(r"(not )?ok (?:\d+ )?(.*?)(?: in (\d+) ?(ms|s|sec))?(?: # skip ?(.*))?$")
UNITTEST = re.compile(r"(\w+) \(([\w.]+)\)(?:\n.*?)?\s\.\.\. (?:.*?)(ok|FAIL|ERROR|skipped(?: '(.*)')?)$")
CTEST = re.compile(r"\s*\d+/\d+ Test +#\d+: (\S+) \.*\s*(Passed|\*\*\*(?:\w|\s|:)+?)\s+([\d.]+) sec$")
NATIVE = re.compile(r"(fuzz|soak) (\w+): (passed|failed.*)$")


class Case:
    """A test: its name, seconds, and why it failed or was skipped (None if it did not)."""

    def __init__(self, name, seconds=0.0, failed=None, skipped=None):
        self.name, self.seconds, self.failed, self.skipped = name, seconds, failed, skipped


def read_tap(lines):
    """Cases of TAP; the comments after a failed test are what it said."""
    cases = []
    for line in lines:
        match = TAP.match(line)
        if match:
            seconds = float(match[3] or 0) / (1000 if match[4] == "ms" else 1)
            cases.append(Case(match[2].lstrip("-: "), seconds, "" if match[1] else None, match[5]))
        elif line.startswith("#") and cases and cases[-1].failed is not None:
            cases[-1].failed += line[1:].strip() + "\n"
    return cases


def read_unittest(lines):
    """Cases of `python3 -m unittest -v`; a first line of a docstring may stand between a test's name and its result."""
    cases, pending = [], ""
    for line in lines:
        match = UNITTEST.match(line) or UNITTEST.match(f"{pending}\n{line}" if pending else "")
        if match:
            failed = match[3] if match[3] in ("FAIL", "ERROR") else None
            cases.append(Case(f"{match[2]}", 0.0, failed, match[4] if match[3].startswith("skipped") else None))
        pending = line if not match and re.match(r"\w+ \([\w.]+\)", line) else ""
    return cases


def read_native(lines):
    """Cases of one variant of the engine's tests."""
    cases = []
    for line in lines:
        match = CTEST.match(line)
        if match:
            word = match[2].strip("* ")
            failed = None if word in ("Passed", "Skipped") else word
            cases.append(Case(match[1], float(match[3]), failed, word if word == "Skipped" else None))
            continue
        match = NATIVE.match(line)
        if match:
            cases.append(Case(f"{match[1]} {match[2]}", 0.0, None if match[3] == "passed" else match[3]))
        elif line.startswith(("skipped: ", "left out: ", "not available: ")):
            cases.append(Case(line.split(": ", 1)[0], 0.0, None, line.split(": ", 1)[1]))
    return cases


def write(cases, suite, path):
    """One suite as XML."""
    root = ElementTree.Element("testsuite", name=suite, tests=str(len(cases)), errors="0",
                               failures=str(sum(case.failed is not None for case in cases)),
                               skipped=str(sum(case.skipped is not None for case in cases)),
                               time=f"{sum(case.seconds for case in cases):.3f}")
    for case in cases:
        item = ElementTree.SubElement(root, "testcase", classname=suite, name=UNPRINTABLE.sub("?", case.name),
                                      time=f"{case.seconds:.3f}")
        if case.failed is not None:
            ElementTree.SubElement(item, "failure").text = UNPRINTABLE.sub("?", case.failed)
        elif case.skipped is not None:
            ElementTree.SubElement(item, "skipped", message=UNPRINTABLE.sub("?", case.skipped))
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def reports(folder):
    """(suite, path, reader) of each report below build/test."""
    for suite in sorted(os.listdir(folder)):
        for name, reader in (("tap", read_tap), ("log", read_unittest)):
            path = os.path.join(folder, suite, name)
            if os.path.isfile(path):
                yield suite, path, reader
    native = os.path.join(folder, "native")
    for variant in sorted(os.listdir(native)) if os.path.isdir(native) else ():
        yield f"native-{variant}", os.path.join(native, variant), read_native


def main(folder, output):
    os.makedirs(output, exist_ok=True)
    for suite, path, reader in reports(folder):
        with open(path, encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
        cases = reader(lines) or [Case("the suite runs", failed="\n".join(lines[-40:]))]
        write(cases, suite, os.path.join(output, f"TEST-{suite}.xml"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
