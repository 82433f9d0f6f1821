# Names what failed in the logs of suites, one line each and at most six lines of what a test said, so that the end of a
# run alone tells where to look.
#   awk -f failures.awk LOG...
# It knows TAP and the linters ("not ok"), CTest, Surefire, Python's unittest and the conformance runner.

function shown(line) { print (length(line) > 160 ? substr(line, 1, 160) "..." : line) }
function failed(what) {
    if (!named[suite, what]++) shown("FAILED " suite ": " what)
    more = 6
}

FNR == 1 {
    suite = FILENAME
    sub(/.*\//, "", suite)
    sub(/\.log$/, "", suite)
    variant = cause = thrower = ""
    more = 0
}

# What bats and the guest's tests say of a failure follows it.
/^not ok/ { failed($0); next }
/^#/ && more > 0 { more--; shown("  " $0); next }
{ more = 0 }

# What Surefire says of a failure follows it: the exception, and where the test's own class is in its trace.
thrower != "" && /^\tat / {
    if (index($0, "at " thrower) > 0) { shown("  # " $0); thrower = "" }
    next
}
thrower != "" && !/^\[|^ *$/ {
    if (said++ < 5) shown("  # " $0)
    next
}
thrower != "" && /^\[/ { thrower = "" }

# CTest names the tests at the end of a variant; the assertion was further up.
/^\[native-tests\] engine / { variant = $3; cause = "" }
/^ERROR: |^\[  ERROR   \]|(ERROR|WARNING): [A-Za-z]*Sanitizer|: runtime error: / && cause == "" { cause = $0 }
/^\t *[0-9]+ - .* \([A-Za-z ]+\)$/ && !/\(Skipped\)$/ {
    line = $0
    sub(/^\t *[0-9]+ - /, "", line)
    failed(variant " " line)
    if (cause != "") shown("  # " cause)
}

/<<< (FAILURE|ERROR)!/ && !/Tests run:/ {
    line = $0
    sub(/^\[ERROR\] +/, "", line)
    sub(/ +(-- +)?Time elapsed:.*/, "", line)
    failed(line)
    more = said = 0
    thrower = line
    sub(/[.#($][^.#($]*$/, "", thrower)
}
/^(FAIL|ERROR): test/ { failed($0) }
/^\[conformance\] FAILED twice: / { failed(substr($0, 29)) }
