#!/usr/bin/env python3
"""Writes docs/guide/options.md from the tables in the sources that declare options and counters.

    ci/lib/option_table.py [--check] [PAGE]      --check: fails if the page is not what the tables say

It reads sources, not what was built, so `make option-table` needs nothing. The engine's options are read from
EngineOption.java, which EngineOptionTest compares with native/src/config/options.def.
"""
import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/options.md"
UPGRADE = "java/upgrade/src/main/java/io/howdah/upgrade"
ENGINE = "java/engine/src/main/java/io/howdah/engine/EngineOption.java"

HEAD = """# Options

Written by `make option-table` from the tables that the programs read; `make unit` compares it with them.

An option is read from the environment first, then by its key from the configuration, then by its other names, and else is the default.
A value that is not valid is refused with name, value, range and source. Sizes take `k`, `m`, `g`, `t` (1024 each); times in
milliseconds take `ms`, `s`, `min`, `h`, `d`; the engine's times also `ns`, `us`, `m`. `-` as a default: another option
decides. What the options are for is in the guide of each part ([index](README.md)); the names of HiBD are in
[Moving to Howdah](moving.md#from-hibd).

The option that switches all off and on is `hadoop.rdma.enabled`; see [RDMA is on](rdma.md#the-switch).
"""

ENGINE_HEAD = """
## The engine: `hadoop.rdma.*`

In `core-site.xml`, or any other site file that the process reads. Spark takes each also as `spark.shuffle.rdma.*`, in `spark-defaults.conf` or by
`--conf`; so `hadoop.rdma.chunk.size` is `spark.shuffle.rdma.chunk.size` there. `howdah conf --explain` shows the values in force, with their origin.
A command and a task have `hadoop.rdma.memory.limit` of 64 MB unless it is set ([memory](memory.md)).
"""

TUNING_HEAD = """
## Defaults by architecture and link

These replace the engine's built-in defaults where processor, link and speed fit; of the rows that fit, the last one holds. `rdma` is `ib`, `roce`
and `udapl`; `soft` is a device in software. What overrides them: [tuning](tuning.md).
"""

COUNTERS_HEAD = """
## Counters

Of each engine, by `howdah stat PID`, JMX (`io.howdah:type=Engine`) and Spark's metrics (`engine.*`). Those that end in `.now` go down, too.
"""

# Heading and site file of the keys that begin so, in the page's order; the first that fits.
SECTIONS = [
    ("Storage modes of HDFS", "hdfs-site.xml", ["dfs.rdma.hhh.", "dfs.rdma.memory.", "dfs.rdma.lustre", "dfs.rdma.placement.",
                                                "dfs.rdma.use.", "dfs.rdma.promotion.", "dfs.rdma.mover.", "dfs.rdma.burst"]),
    ("HDFS", "hdfs-site.xml", ["dfs."]),
    ("MapReduce's shuffle", "mapred-site.xml; NodeManagers read yarn-site.xml, too", ["mapred."]),
    ("Spark", "spark-defaults.conf", ["spark."]),
    ("The switch and Hadoop RPC", "core-site.xml", [""]),
]


CALL = r"\s*\.(alias|environment)\("


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def split_arguments(text):
    """Arguments of a call, from the text after its opening parenthesis; and what follows the closing one."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        if c == '"':
            i += 1
            while text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return parts + [text[start:i].strip()], text[i + 1:]
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    raise SystemExit("option_table.py: a call without an end: " + text[:80])


def string(text):
    """The value of Java's literals, joined by +."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


def number(text):
    """The value of a constant expression of Java: 512 << 10, 600_000, 1L << 60, Integer.MAX_VALUE."""
    plain = re.sub(r"(?<=[0-9])[Ll]\b", "", text.replace("_", "").replace("Integer.MAXVALUE", str(2**31 - 1)))
    if not re.fullmatch(r"[0-9 <*+()-]+", plain):
        raise SystemExit("option_table.py: not a number: " + text)
    return eval(plain)  # nothing but digits and operators


def size(value):
    for unit, name in ((1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def millis(value):
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return f"{value}ms" if value else "0"


def within(least, top, text):
    """A range; one that only the type ends has no upper end."""
    return f"from {text(least)}" if top == 2**31 - 1 else f"{text(least)} to {text(top)}"


def declared(kind, args):
    """(values, default, help) of an option that is made by Option.KIND(args)."""
    if kind == "mode":
        return "auto, true, required, false", "auto" if "AUTO" in args[1] else "-", args[2]
    if kind == "flag":
        return "true, false", args[1] if args[1] != "null" else "-", args[2]
    if kind == "count":
        least, top = number(args[2]), number(args[3])
        return "number, " + within(least, top, str), str(number(args[1])), args[4]
    if kind == "millis":
        least, top = number(args[2]), number(args[3])
        return "time, " + within(least, top, millis), millis(number(args[1])), args[4]
    if kind == "bytes":
        return f"size, {size(number(args[2]))} to {size(number(args[3]))}", size(number(args[1])), args[4]
    if kind == "text":
        return "text", string(args[1]) if args[1] != "null" else "-", args[2]
    if kind == "choice":
        return ", ".join(string(a) for a in args[3:]), string(args[1]), args[2]
    if kind == "share":
        return "above 0, to 1", args[1], args[2]
    raise SystemExit(f"option_table.py: Option.{kind} is not known here")


def options():
    """Every option but the engine's: key, other names, variable, values, default, help."""
    for match in re.finditer(r"Option<\w+> \w+ = Option\.(\w+)\(", read(UPGRADE + "/Options.java")):
        args, rest = split_arguments(match.string[match.end():])
        values, default, text = declared(match.group(1), args)
        others, variable = [], ""
        call = re.match(CALL, rest)
        while call:
            more, rest = split_arguments(rest[call.end():])
            if call.group(1) == "alias":
                others += [string(m) for m in more]
            else:
                variable = string(more[0])
            call = re.match(CALL, rest)
        yield string(args[0]), others, variable, values, default, string(text)
    yield from component_options()
    name = "dfs.replication.parallel.enabled"
    if f'"{name}"' not in read("java/hdfs/src/main/java/org/apache/hadoop/hdfs/ReplicaFan.java"):
        raise SystemExit(f"option_table.py: ReplicaFan.java does not read {name} any more")
    yield name, [], "", "true, false", "false", "HiBD's: a client sends a block to all of its DataNodes at once; over sockets, too"


def components():
    """(subject, prefix, variable) of each host protocol."""
    found = re.findall(r'^  [A-Z]+\("([^"]+)", "([^"]+)", "([^"]+)", "[^"]+"\)', read(UPGRADE + "/Component.java"), re.M)
    if not found:
        raise SystemExit("option_table.py: Component.java has no components")
    return found


def component_options():
    """What each host protocol adds; Component.java makes these three of a prefix."""
    source = read(UPGRADE + "/Component.java")
    remember = split_arguments(source[source.index('Option.millis(prefix + "fallback.remember"') + len("Option.millis("):])[0]
    values, default, text = declared("millis", remember)
    for subject, prefix, variable in components():
        yield prefix + "enabled", [], variable, "auto, true, required, false", "`hadoop.rdma.enabled`", subject + " over the engine"
        yield prefix + "required", [], "", "true, false", "false", f"older way to write `{prefix}enabled=required`"
        yield prefix + "fallback.remember", [], "", values, default, string(text)


def engine_options():
    """Key, variable, values, default, help of each of the engine's."""
    pattern = re.compile(r'/\*\*(.*?)\*/\s*([A-Z0-9_]+)\("([^"]*)", "([^"]*)", "((?:[^"\\]|\\.)*)", "([^"]*)"\)', re.S)
    source = read(ENGINE)
    for text, name, key, kind, default, values in pattern.findall(source[source.index("enum EngineOption"):]):
        text = html.unescape(" ".join(line.strip().lstrip("*").strip() for line in text.strip().splitlines()))
        yield key, "HOWDAH_" + name, values_of(kind, values), default or "empty", text


def values_of(kind, values):
    if kind == "bool":
        return "true, false"
    if kind == "enum":
        return values.replace("|", ", ")
    return kind if kind == "text" else f"{ {'int': 'number'}.get(kind, kind) }, {values.replace(' .. ', ' to ')}"


def sentence(text):
    text = text.replace("|", "\\|").strip()
    first = text.split(" ", 1)[0]
    return (text if "." in first else text[:1].upper() + text[1:]) + ("" if text.endswith(".") else ".")


def row(key, others, variable, values, default, text):
    default = default if default in ("-", "empty") or "`" in default else f"`{default}`"
    if others:
        text = text.rstrip(".") + ". Also " + ", ".join(f"`{o}`" for o in others)
    return f"| `{key}` | {f'`{variable}`' if variable else ''} | {values} | {default} | {sentence(text)} |\n"


TABLE = "\n| key | environment | values | default | |\n|---|---|---|---|---|\n"


def section_of(key):
    return next(name for name, _, prefixes in SECTIONS if any(key.startswith(p) for p in prefixes))


def tuning():
    """Rows of tuning.def."""
    text = read("native/src/config/tuning.def")
    for match in re.finditer(r"^HD_TUNE\(", text, re.M):
        yield split_arguments(text[match.end():])[0]


def counters():
    """Names of the engine's counters, those of each transport once; and of a peer's."""
    text = re.sub(r"\\\n", " ", read("native/src/stats/counters.def"))
    shares = re.search(r"#define HD_BY_TRANSPORT\(transport, name\)(.*)", text).group(1)
    suffixes = re.findall(r'name "(\.[a-z.]+)"', shares)
    transports = re.findall(r'^HD_BY_TRANSPORT\(\w+, "(\w+)"\)', text, re.M)
    return (re.findall(r'^HD_COUNTER\(\w+, "([^"]+)"\)', text, re.M), suffixes, transports,
            re.findall(r'^HD_PEER_COUNTER\(\w+, "([^"]+)"\)', text, re.M))


def page():
    """The whole page."""
    rows = {}
    for option in options():
        rows.setdefault(section_of(option[0]), []).append(row(*option))
    out = HEAD
    for name in ["The switch and Hadoop RPC"] + [s[0] for s in SECTIONS[1:-1]] + ["Storage modes of HDFS"]:
        file = next(f for n, f, _ in SECTIONS if n == name)
        out += f"\n## {name}\n\nIn {re.sub(r'[a-z-]+-(?:site.xml|defaults.conf)', lambda m: f'`{m[0]}`', file)}.\n{TABLE}{''.join(rows[name])}"
    out += ENGINE_HEAD + TABLE + "".join(row(key, [], variable, values, default, text)
                                        for key, variable, values, default, text in engine_options())
    out += TUNING_HEAD + "\n| processor | link | from Gb/s | option | default | why |\n|---|---|---|---|---|---|\n"
    for arch, kind, speed, option, value, why in tuning():
        out += f"| {string(arch).replace('*', 'any')} | {string(kind).replace('*', 'any')} | {speed} | `{string(option)}` | `{string(value)}` | {string(why)} |\n"
    names, suffixes, transports, peers = counters()
    out += COUNTERS_HEAD + "\n" + wrapped(names)
    out += f"\nOf each transport ({', '.join(f'`{t}`' for t in transports)}), as `shm{suffixes[0]}`:\n\n" + wrapped([s[1:] for s in suffixes])
    return out + "\nOf each peer:\n\n" + wrapped(peers)


def wrapped(names, width=120):
    """Names as code, in lines."""
    lines = [""]
    for i, name in enumerate(names):
        word = f"`{name}`" + ("," if i + 1 < len(names) else "")
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    path = pathlib.Path(arguments[0]) if arguments else PAGE
    text = page()
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        sys.exit(f"{path} is not what the option tables say; run: make option-table")


if __name__ == "__main__":
    main()
