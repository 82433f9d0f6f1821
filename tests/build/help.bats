# make help: the one way in, so nothing that can be made may be missing in it. And what a step says about itself.

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

# Those that hand their options on are not asked: what they start has a help of its own.
@test "ci/STEP --help shows the step's first lines, and does nothing else" {
    cd "$BATS_TEST_DIRNAME/../.."
    local step first
    for step in ci/*; do
        [[ -f $step && -x $step && $step != ci/@(bench-*|bigtop|conformance|demo|mvn) ]] || continue
        first=$(sed -n '2,4s/^# \([A-Z].*\)/\1/p' "$step" | grep -v SPDX | head -n 1)
        run -0 "$step" --help
        [[ -n $first && ${lines[0]} == "$first" ]] || { echo "$step says: $output" >&2; return 1; }
        [[ $output != *' passed, '* ]]
    done
}
