#!/usr/bin/env bats
# HTML of the documents (make docs). Slow: it installs MkDocs.

@test "make docs makes a page of each document, which needs nothing from other servers, and the guide's links lead to pages" {
    "$HOWDAH_ROOT/ci/docs"
    local page out=$HOWDAH_BUILD/docs
    for page in "$HOWDAH_ROOT"/docs/guide/*.md "$HOWDAH_ROOT"/docs/{design,benchmarks}/*.md; do
        page=${page#"$HOWDAH_ROOT/docs/"}
        [ "$page" != guide/README.md ] || page=guide/index.md
        [ -s "$out/${page%.md}.html" ] || { echo "there is no page of $page"; return 1; }
    done
    [ -s "$out/index.html" ]
    ! grep -rlE '<(script|link|img)[^>]*(src|href)="(https?:)?//' "$out" --include='*.html' | grep . || false
    grep -oE 'href="[a-z-]+\.html"' "$out/guide/index.html" | sort -u >"$BATS_TEST_TMPDIR/links"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/links")" -ge 20 ]
    while IFS='"' read -r _ page _; do [ -s "$out/guide/$page" ] || { echo "there is no $page"; return 1; }; done <"$BATS_TEST_TMPDIR/links"
}
