# make help: the one way in, so nothing that can be made may be missing in it.

bats_require_minimum_version 1.5.0

@test "make help names every target, with a line that says what it is" {
    cd "$BATS_TEST_DIRNAME/../.."
    local targets target
    targets=$(sed -n 's/^\.PHONY://p' Makefile)
    [ "$(wc -w <<<"$targets")" -gt 20 ]
    run -0 make --no-print-directory help
    for target in $targets; do
        grep -qE "^  make $target +[^ ]" <<<"$output" || { echo "make help lacks $target" >&2; return 1; }
    done
}
