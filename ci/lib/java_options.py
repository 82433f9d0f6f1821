#!/usr/bin/env python3
"""Writes EngineOption.java, the engine's option table for Java, from `howdah-conf --json` on standard input.

    build/native/tools/howdah-conf --json | ci/lib/java_options.py > \
        java/engine/src/main/java/io/howdah/engine/EngineOption.java

EngineOptionTest compares the committed file with the library's table, so a change of one without the other fails.
"""

import json
import sys

PREFIX = "hadoop.rdma."

HEAD = """package io.howdah.engine;

/**
 * The engine's options. Made by ci/lib/java_options.py from native/src/config/options.def, which declares them;
 * change that and make this anew.
 */
public enum EngineOption {
"""

TAIL = """
  private final String key;
  private final String type;
  private final String defaultValue;
  private final String range;

  EngineOption(String key, String type, String defaultValue, String range) {
    this.key = key;
    this.type = type;
    this.defaultValue = defaultValue;
    this.range = range;
  }

  /** The name in configuration files. */
  public String key() {
    return key;
  }

  /** The variable of the environment that overrides it. */
  public String environmentName() {
    return "HOWDAH_" + name();
  }

  /** One of int, size, time, bool, rate, enum, text. */
  public String type() {
    return type;
  }

  /** As a user would write it. */
  public String defaultValue() {
    return defaultValue;
  }

  /** As a user would read it: "4k .. 64m", or the words of an enum separated by |. */
  public String range() {
    return range;
  }
}
"""


def text(value):
    """A Java string literal."""
    return json.dumps(value)


def wrapped(words, first, rest, width=120):
    """Lines of at most `width` characters."""
    lines, line = [], first
    for word in words.split():
        if len(line) + 1 + len(word) > width and line.strip() not in ("", "*", "/**"):
            lines.append(line)
            line = rest + word
        else:
            line += ("" if line.endswith(" ") else " ") + word
    return lines + [line]


def comment(help_text):
    """The help as documentation; what HTML would take for itself is written otherwise."""
    safe = help_text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if len(safe) + 11 <= 120:
        return [f"  /** {safe} */"]
    return ["  /**"] + wrapped(safe, "   * ", "   * ") + ["   */"]


def constant(option):
    """The lines of one option."""
    name = option["key"][len(PREFIX):].replace(".", "_").upper()
    if option["env"] != "HOWDAH_" + name:
        raise SystemExit(f"java_options.py: {option['key']} has the variable {option['env']}, not HOWDAH_{name}")
    fields = ", ".join(text(option[field]) for field in ("key", "type", "default", "range"))
    return comment(option["help"]) + [f"  {name}({fields})"]


def main():
    """Reads JSON, writes Java."""
    options = [constant(option) for option in json.load(sys.stdin)]
    body = ",\n".join("\n".join(lines) for lines in options)
    sys.stdout.write(HEAD + body + ";\n" + TAIL)


if __name__ == "__main__":
    main()
