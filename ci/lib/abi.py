#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libhowdah as text: what a program that was built against the public headers relies on.

usage: abi.py HEADERS MAP            prints it
       abi.py HEADERS MAP --check F  compares it with the file F; the exit status is 1 if they differ, with the difference

HEADERS is the folder with howdah/howdah.h, MAP the linker's list of exported symbols. Functions have their types, structures
their size and each member's offset, enumerations and numeric macros their values. A compiler (gcc, or what the environment's
ABI_CC names) lays them out, and binutils' readelf shows what it did.

It goes by the headers and not by the library: the library is compiled from them, so a function whose type differs does not
compile, and types that are private, though in a file of the same name, do not appear.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"^ *<(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
# What is in front of a value depends on the version of binutils: its form, and where a text is.
ATTRIBUTE = re.compile(r"^ *<[0-9a-f]+> +DW_AT_(\w+) *: *(?:\(\w+\) *)?(?:\([^)]*offset: \w+\): *)?(.*?)\s*$")
MACRO = re.compile(r"^#define (HD_[A-Z0-9_]+) +(.+)$")
QUALIFIERS = {"const_type": "const", "volatile_type": "volatile", "restrict_type": "restrict", "atomic_type": "_Atomic"}


class Entry:
    """An entry of the debugging information, with those inside it."""

    def __init__(self, tag):
        self.tag, self.attributes, self.inside = tag, {}, []

    @property
    def name(self):
        return self.attributes.get("name")

    def number(self, attribute, otherwise=None):
        text = self.attributes.get(attribute)
        if text is None:
            return otherwise
        return int(text.split()[0], 0)


def read_entries(text):
    """{offset: entry} and the entries that are in no other, of readelf's output."""
    entries, stack, top = {}, [], []
    for line in text.splitlines():
        found = ENTRY.match(line)
        if found:
            depth, entry = int(found[1]), Entry(found[3])
            entries[found[2]] = entry
            del stack[depth:]
            (stack[-1].inside if stack else top).append(entry)
            stack.append(entry)
        elif stack:
            found = ATTRIBUTE.match(line)
            if found:
                stack[-1].attributes[found[1]] = found[2]
    return entries, [entry for unit in top for entry in unit.inside]


class Interface:
    def __init__(self, text):
        self.entries, self.top = read_entries(text)

    def type_of(self, entry):
        reference = entry.attributes.get("type")
        return self.entries[re.search(r"<0x([0-9a-f]+)>", reference)[1]] if reference else None

    def spell(self, entry, name=""):
        """A declaration of `name` with that type, as C has it."""
        if entry is None:
            return f"void {name}".strip()
        if entry.tag == "pointer_type":
            target = self.type_of(entry)
            inner = f"*{name}"
            return self.spell(target, f"({inner})" if target and target.tag == "subroutine_type" else inner)
        if entry.tag in QUALIFIERS:
            target, word = self.type_of(entry), QUALIFIERS[entry.tag]
            if target is not None and target.tag == "pointer_type":
                return self.spell(target, f"{word} {name}".strip())
            return f"{word} {self.spell(target, name)}"
        if entry.tag == "subroutine_type":
            of = [self.spell(self.type_of(one)) if one.tag == "formal_parameter" else "..." for one in entry.inside]
            return self.spell(self.type_of(entry), f"{name}({', '.join(of) or 'void'})")
        if entry.tag == "array_type":
            bounds = "".join(f"[{one.number('upper_bound', -1) + 1}]" for one in entry.inside)
            return self.spell(self.type_of(entry), name + bounds)
        word = {"structure_type": "struct ", "union_type": "union ", "enumeration_type": "enum "}.get(entry.tag, "")
        return f"{word}{entry.name} {name}".strip()

    def functions(self):
        for entry in self.top:
            if entry.tag == "variable" and (entry.name or "").startswith("abi_"):
                name = entry.name.removeprefix("abi_")
                yield f"{name}: {self.spell(self.type_of(self.type_of(entry)))}"

    def structures(self):
        for entry in self.top:
            if entry.tag not in ("structure_type", "union_type") or not (entry.name or "").startswith("hd_"):
                continue
            if "declaration" in entry.attributes:
                yield f"{self.spell(entry)}: opaque"
                continue
            members = [f"    {one.number('data_member_location', 0):4} {self.spell(self.type_of(one), one.name)}"
                       for one in entry.inside if one.tag == "member"]
            yield "\n".join([f"{self.spell(entry)}: {entry.number('byte_size')} bytes", *members])

    def enumerations(self):
        for entry in self.top:
            values = [(one.number("const_value"), one.name) for one in entry.inside if one.tag == "enumerator"]
            if entry.tag == "enumeration_type" and values and values[0][1].startswith("HD_"):
                lines = [f"    {value:4} {name}" for value, name in values]
                yield "\n".join([f"enum {entry.name or '(none)'}: {entry.number('byte_size')} bytes", *lines])

    def types(self):
        for entry in self.top:
            if entry.tag == "typedef" and entry.name.startswith("hd_"):
                yield f"typedef {self.spell(self.type_of(entry), entry.name)}"


def macros(text):
    """Those of ours that are numbers."""
    for line in text.splitlines():
        found = MACRO.match(line)
        if found and re.match(r"\(?(\(\w+\))?-?\d|UINT64_MAX", found[2]):
            yield f"#define {found[1]} {found[2]}"


def exported(path):
    return sorted(re.findall(r"\b(hd_\w+);", pathlib.Path(path).read_text(encoding="utf-8")))


def dump(headers, symbols):
    """The interface as text."""
    compiler = [os.environ.get("ABI_CC", "gcc"), "-std=c11", "-w", f"-I{headers}"]
    include = "#include <howdah/howdah.h>\n"
    source = include + "".join(f"__typeof__(&{name}) abi_{name};\n" for name in symbols)
    with tempfile.TemporaryDirectory(prefix="howdah-abi-") as folder:
        out = os.path.join(folder, "abi.o")
        subprocess.run([*compiler, "-gdwarf-4", "-O0", "-fno-eliminate-unused-debug-types", "-x", "c", "-", "-c", "-o", out],
                       input=source, text=True, check=True)
        shown = subprocess.run(["readelf", "--debug-dump=info", "--wide", out], text=True, check=True,
                               capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout
    defined = subprocess.run([*compiler, "-dM", "-E", "-x", "c", "-"], input=include, text=True, check=True,
                             capture_output=True).stdout
    interface = Interface(shown)
    parts = [interface.functions(), interface.structures(), interface.enumerations(), interface.types(), macros(defined)]
    head = "# The binary interface of libhowdah, by ci/lib/abi.py: compared in ci/native, written anew by ci/native --abi.\n"
    return head + "".join("\n" + "\n".join(sorted(part)) + "\n" for part in parts)


def check(now, path):
    """0 if the file has this interface, else 1, with the difference on standard error."""
    before = pathlib.Path(path).read_text(encoding="utf-8")
    if now == before:
        return 0
    lines = list(difflib.unified_diff(before.splitlines(), now.splitlines(), path, "the headers", n=1, lineterm=""))
    taken = any(line.startswith("-") for line in lines[2:])
    print(*lines, sep="\n", file=sys.stderr)
    print("The binary interface has changed: " +
          ("programs that were built before may not work any more." if taken else "there is more than before."),
          f"If that is meant: ci/native --abi, and commit {path}.", sep="\n", file=sys.stderr)
    return 1


def main(arguments):
    if len(arguments) not in (2, 4) or (len(arguments) == 4 and arguments[2] != "--check"):
        sys.exit(__doc__)
    text = dump(arguments[0], exported(arguments[1]))
    if len(arguments) == 2:
        print(text, end="")
        return 0
    return check(text, arguments[3])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
