#!/usr/bin/env python3
"""Lays recompiled classes over a copy of an official jar.

What came from a touched source file is replaced as a whole (a recompiled file may have fewer or differently numbered
anonymous classes than before); every other entry stays as it was, byte for byte, which is checked on the written file.
The result also says what it is, in META-INF/howdah/ARTIFACT.properties:

    howdah.suffix   what the version is followed by, for example -howdah1
    howdah.upstream the official jar's file name
    howdah.patches  the series

The same input gives the same bytes.
"""

import argparse
import os
import posixpath
import sys
import zipfile

import classfile

# Entries that we add carry the oldest time that a zip file can hold, whenever they are made.
EPOCH = (1980, 1, 1, 0, 0, 0)


class OverlayError(Exception):
    """The jar can't be made, or is not what it should be; the message says why."""


def source_of(entry, data):
    """The path of the source file that a class came from ("org/x/Y.scala"), or None when the class does not tell."""
    name = classfile.source_file(data)
    return name and posixpath.join(posixpath.dirname(entry), name)


def files_below(folder, ending=""):
    """Paths relative to folder, with /, sorted."""
    found = []
    for base, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(base, name), folder).replace(os.sep, "/") for name in names]
    return sorted(name for name in found if name.endswith(ending))


def read_classes(folder, sources):
    """The compiled classes by entry name; each must come from one of the sources."""
    classes = {}
    for name in files_below(folder, ".class"):
        with open(os.path.join(folder, name), "rb") as file:
            classes[name] = file.read()
        if source_of(name, classes[name]) not in sources:
            raise OverlayError("%s/%s does not come from a touched source file" % (folder, name))
    return classes


def marker(official, series, suffix):
    """Name and content of the entry by which a rebuilt jar is known."""
    file_name = os.path.basename(official)
    patches = [name for name in sorted(os.listdir(series)) if name.endswith(".patch")]
    name = "META-INF/howdah/%s.properties" % os.path.basename(series.rstrip("/")).split("_")[0]
    text = "howdah.suffix=%s\nhowdah.upstream=%s\nhowdah.patches=%s\n" % (suffix, file_name, " ".join(patches))
    return name, text.encode()


def write_jar(output, official, replaced, added):
    """Copies official but for the entries in replaced, then appends added (a dictionary), in a fixed order."""
    with zipfile.ZipFile(official) as old, zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename not in replaced:
                new.writestr(info, old.read(info), compress_type=info.compress_type)
        for name in sorted(added):
            info = zipfile.ZipInfo(name, EPOCH)
            info.external_attr = 0o644 << 16
            new.writestr(info, added[name], compress_type=zipfile.ZIP_DEFLATED)


def check_jar(output, official, replaced, added):
    """Reads the written jar back: what was not replaced must be the official jar's, and nothing else be there."""
    with zipfile.ZipFile(official) as old, zipfile.ZipFile(output) as new:
        expected = {name: old.read(name) for name in old.namelist() if name not in replaced}
        expected.update(added)
        found = {name: new.read(name) for name in new.namelist()}
    wrong = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    if wrong:
        raise OverlayError("%s differs from %s where it must not: %s" % (output, official, ", ".join(wrong[:5])))


def overlay(official, sources, classes, series, suffix, output):
    """Makes output. Returns how many official entries were replaced and how many classes took their place."""
    touched = set(files_below(sources))
    added = read_classes(classes, touched) if touched else {}
    compiled = {source_of(name, data) for name, data in added.items()}
    if touched - compiled:
        raise OverlayError("no class came out of %s" % ", ".join(sorted(touched - compiled)))
    with zipfile.ZipFile(official) as jar:
        replaced = {
            name
            for name in jar.namelist()
            if name.endswith(".class") and source_of(name, jar.read(name)) in touched
        }
    new_classes = len(added)
    added.update([marker(official, series, suffix)])
    partial = output + ".new"
    write_jar(partial, official, replaced, added)
    check_jar(partial, official, replaced, added)
    os.replace(partial, output)
    return len(replaced), new_classes


def compare_whole(official, sources, classes):
    """With the whole module compiled: the class names must be the official jar's, but for what a patch adds.

    Returns (names only in the official jar, names only in ours). Classes of the official jar that no source file of
    the module gave rise to (what upstream shades into it) do not count.
    """
    files = set(files_below(sources))
    with zipfile.ZipFile(official) as jar:
        names = [name for name in jar.namelist() if name.endswith(".class")]
        theirs = {name for name in names if source_of(name, jar.read(name)) in files}
    ours = set(files_below(classes, ".class"))
    return sorted(theirs - ours), sorted(ours - theirs)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name in ("official", "sources", "classes", "series", "suffix", "scope", "output"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args(arguments)
    name = os.path.basename(options.output)
    try:
        if options.scope == "all":
            missing, new = compare_whole(options.official, options.sources, options.classes)
            print("[whole] %s: compiled; %d classes missing, %d new" % (name, len(missing), len(new)))
            for entry in missing[:20]:
                print("[whole]   missing: " + entry)
            return 1 if missing else 0
        old, new = overlay(
            options.official, options.sources, options.classes, options.series, options.suffix, options.output
        )
    except (OverlayError, OSError, ValueError, zipfile.BadZipFile) as error:
        print("[overlay] error: %s: %s" % (name, error), file=sys.stderr)
        return 1
    print("[overlay] %s: %d classes in place of %d, all else as in the official jar" % (name, new, old))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
