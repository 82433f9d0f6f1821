# shellcheck shell=bash
# Running a suite of tests with its own runner and ending with one line that is the same for all:
#   N passed, N failed, N skipped
# Sourced by the steps that run tests. Each function leaves the runner's reports in build/test/NAME and returns 1
# when a test failed or none ran.

# counts PASSED FAILED SKIPPED: prints the line; fails if a test failed, or if none ran.
counts() {
    echo "$1 passed, $2 failed, $3 skipped"
    [ "$2" -eq 0 ] && [ "$(($1 + $3))" -gt 0 ]
}

# bats_suite NAME FILE...: TAP on the terminal and in the report folder; a skipped test names its reason there.
bats_suite() {
    local name=$1 report=$HOWDAH_BUILD/test/$1 status=0
    shift
    mkdir -p "$report"
    bats --timing --formatter tap --print-output-on-failure "$@" | tee "$report/tap" || status=$?
    local passed failed skipped
    # grep -c prints 0 and exits with 1 where nothing matches; that is a count like any other.
    skipped=$(grep -cE '^ok .* # skip' "$report/tap") || true
    passed=$(($(grep -c '^ok ' "$report/tap" || true) - skipped))
    failed=$(grep -c '^not ok ' "$report/tap") || true
    # A file that does not even parse has no "not ok" line.
    if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    counts "$passed" "$failed" "$skipped"
}

# unittest_suite NAME FOLDER: Python's own tests in FOLDER (test_*.py).
unittest_suite() {
    local report=$HOWDAH_BUILD/test/$1 status=0 ran failed skipped
    mkdir -p "$report"
    python3 -m unittest discover -s "$2" -v >"$report/log" 2>&1 || status=$?
    cat "$report/log"
    ran=$(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' "$report/log")
    skipped=$(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' "$report/log")
    failed=$(grep -cE '^(FAIL|ERROR): ' "$report/log") || true # 0 exits with 1; no number at all fails in counts
    if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    counts "$((${ran:-0} - failed - ${skipped:-0}))" "$failed" "${skipped:-0}"
}

# surefire_suite NAME FOLDER...: counts what Maven's Surefire left in the folders; Maven has run already.
surefire_suite() {
    local name=$1 file tests=0 failed=0 skipped=0 attribute
    shift
    mkdir -p "$HOWDAH_BUILD/test/$name"
    while read -r file; do
        cp "$file" "$HOWDAH_BUILD/test/$name/"
        for attribute in tests failures errors skipped; do
            local value
            value=$(xmllint --xpath "string(/testsuite/@$attribute)" "$file")
            case $attribute in
                tests) tests=$((tests + value)) ;;
                skipped) skipped=$((skipped + value)) ;;
                *) failed=$((failed + value)) ;;
            esac
        done
    done < <(find "$@" -name 'TEST-*.xml' -path '*surefire-reports*')
    counts "$((tests - failed - skipped))" "$failed" "$skipped"
}
