"""What the tests of the documents need: the pages' links, names and log lines, and the sources' texts."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
SOURCES = ("java", "native", "dist", "slurm-pbs", "packages", "patches")
GAP = 400  # characters of code between two fixed parts of a line


def pages():
    """All documents of the repository."""
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True,
                         check=True)
    return [ROOT / name for name in out.stdout.split() if (ROOT / name).exists()]


def text_of(page):
    return page.read_text(encoding="utf-8")


def prose_of(text):
    """The page without its code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return "\n".join(re.sub(r"`[^`]*`", "", line) for line in text.splitlines() if not line.startswith("    "))


def anchors_of(text):
    """Names of the headings, as a page's viewer makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-"))
    return found


def bad_links(page):
    """Links of a page to a file or heading that is not there."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(text_of(page))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: {target} does not exist"
        elif anchor and anchor not in anchors_of(text_of(file)):
            yield f"{page.relative_to(ROOT)}: {name} has no heading #{anchor}"


def entries(text):
    """(symptom, log lines) of the troubleshooting page: each heading of the third level with the indented lines below it."""
    parts = re.split(r"^### (.*)$", text, flags=re.M)
    for symptom, body in zip(parts[1::2], parts[2::2]):
        body = re.split(r"^## ", body, maxsplit=1, flags=re.M)[0]
        yield symptom, re.findall(r"^    (\S.*)$", body, re.M), body


def said(source):
    """A source's texts as they come out: literals that the compiler joins are one, escapes are resolved."""
    source = source.replace("HD_KEY_PREFIX ", '"hadoop.rdma."')
    source = re.sub(r'"\s*\+?\s*"', "", source)
    return source.replace('\\"', '"').replace("\\n", " ")


def fixed_parts(line):
    """What a line always has, without the colons that join a message and its cause."""
    parts = [part.strip(" :") for part in re.split(r"<[^>]*>", line)]
    return [part for part in parts if len(part) > 2]


def pattern_of(line):
    """What finds a line's fixed parts, in their order and near each other."""
    return re.compile((r"(?s:.{0,%d}?)" % GAP).join(re.escape(part) for part in fixed_parts(line)))


def sources():
    """The texts of all programs, tests left out."""
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *SOURCES], cwd=ROOT, capture_output=True, text=True,
                         check=True)
    for name in out.stdout.splitlines():
        path = ROOT / name
        if "/test/" in name or name.endswith((".md", ".txt", ".xml", ".png")) or not path.is_file():
            continue
        try:
            yield name, said(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # no text, so nothing that anybody says
