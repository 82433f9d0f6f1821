"""Lists of known exceptions, and the command line that checks of a tree share."""

import sys


def read(file):
    """(line number, words, reason) for each line `WORD...: reason`; # begins a comment. An exception needs a reason."""
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            head, _, reason = line.partition(": ")
            if not reason.strip():
                raise SystemExit(f"{file}:{number}: an exception needs a reason: {line}")
            yield number, head.split(), reason.strip()


def unused(file, listed, needed):
    """One message for each listed exception that nothing needs any more: the list says what is, not what was."""
    return [f"{file}: nothing needs '{' '.join(key)}' any more" for key in sorted(listed - needed)]


def run(usage, problems):
    """CHECK TREE EXCEPTIONS: prints what problems(tree, exceptions) finds and ends the process, with 1 if that is anything."""
    if len(sys.argv) != 3:
        raise SystemExit(usage)
    found = problems(*sys.argv[1:])
    for message in found:
        print(message, file=sys.stderr)
    sys.exit(1 if found else 0)
