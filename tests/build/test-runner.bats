# ci/test: what it makes of suites that pass, fail, break off or run side by side. The suites are stand-ins.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    CLONE=$BATS_TEST_TMPDIR/clone
    mkdir -p "$CLONE/ci" "$CLONE/build" "$CLONE/tests/folder"
    cp -r "$ROOT/ci/lib" "$ROOT/ci/test" "$CLONE/ci/"
    echo "JAVA_HOME=/nowhere" >"$CLONE/build/prepare.env"
}

# suite NAME COMMANDS: a step of that name.
suite() {
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$CLONE/ci/$1"
    chmod +x "$CLONE/ci/$1"
}

@test "counts are added up, and skips are named" {
    suite one 'echo "ok 1 it # skip there is none"; echo "3 passed, 0 failed, 1 skipped"'
    suite two 'echo "4 passed, 0 failed, 0 skipped"'
    run -0 "$CLONE/ci/test" one two
    [ "${lines[-1]}" = '7 passed, 0 failed, 1 skipped' ]
    [ "${lines[-2]}" = 'ok 1 it # skip there is none' ]
}

@test "the last of several counts is the suite's, also behind bytes that are no text" {
    suite one 'echo "1 passed, 0 failed, 0 skipped"; printf "\\0\\1\\377\\n"; echo "5 passed, 0 failed, 0 skipped"'
    "$CLONE/ci/test" one >"$BATS_TEST_TMPDIR/out"
    [ "$(tail -n 1 "$BATS_TEST_TMPDIR/out")" = '5 passed, 0 failed, 0 skipped' ]
}

@test "a failure does not keep the next suite from running, and is the end's" {
    suite bad 'echo "2 passed, 1 failed, 0 skipped"; exit 1'
    suite good 'echo "4 passed, 0 failed, 0 skipped"'
    run -1 "$CLONE/ci/test" bad good
    [ "${lines[-1]}" = '6 passed, 1 failed, 0 skipped' ]
}

@test "a suite that breaks off, or fails without a failed test, is one failure" {
    suite gone 'exit 0'
    suite odd 'echo "2 passed, 0 failed, 0 skipped"; exit 3'
    run -1 "$CLONE/ci/test" gone odd
    [ "${lines[-1]}" = '2 passed, 2 failed, 0 skipped' ]
}

@test "the end names what failed, in each runner's way" {
    suite taps 'printf "not ok 7 a file is gone in 3ms\\n# (in test file x.bats, line 9)\\n#   it was there\\nok 8 another\\n# of 8\\n"
        echo "0 passed, 1 failed, 0 skipped"; exit 1'
    suite native-tests 'printf "[native-tests] engine asan\\nERROR: no event came\\n\\t 33 - fetch_self (Failed)\\n\\t 48 - cost_shm (Skipped)\\n"
        printf "[native-tests] engine tsan\\nWARNING: ThreadSanitizer: data race (pid=7)\\n\\t 34 - stream_shm (Failed)\\n"
        echo "0 passed, 2 failed, 0 skipped"; exit 1'
    suite unit 'echo "[ERROR] io.howdah.XTest.it  Time elapsed: 0.1 s  <<< FAILURE!"
        echo "java.io.IOException: it is gone"; printf "\tat org.x.Other.it(Other.java:1)\n"
        printf "\tat io.howdah.XTest.it(XTest.java:7)\n\tat io.howdah.XTest.all(XTest.java:9)\n"
        echo "[ERROR] Tests run: 1, Failures: 1 <<< FAILURE! - in io.howdah.XTest"; echo "FAIL: test_sum (test_x.Sum)"
        echo "0 passed, 2 failed, 0 skipped"; exit 1'
    suite conformance 'echo "[conformance] FAILED twice: org.x.TestY it: expected 1 (z.log)"
        echo "0 passed, 1 failed, 0 skipped"; exit 1'
    run -1 "$CLONE/ci/test" taps native-tests unit conformance
    printf '%s\n' "${lines[@]: -13}" >"$BATS_TEST_TMPDIR/end"
    diff - "$BATS_TEST_TMPDIR/end" <<'EOT'
FAILED taps: not ok 7 a file is gone in 3ms
  # (in test file x.bats, line 9)
  #   it was there
FAILED native-tests: asan fetch_self (Failed)
  # ERROR: no event came
FAILED native-tests: tsan stream_shm (Failed)
  # WARNING: ThreadSanitizer: data race (pid=7)
FAILED unit: io.howdah.XTest.it
  # java.io.IOException: it is gone
  # 	at io.howdah.XTest.it(XTest.java:7)
FAILED unit: FAIL: test_sum (test_x.Sum)
FAILED conformance: org.x.TestY it: expected 1 (z.log)
0 passed, 6 failed, 0 skipped
EOT
}

@test "tests in a folder are a suite too" {
    printf '@test "it" { true; }\n' >"$CLONE/tests/folder/it.bats"
    run -0 "$CLONE/ci/test" folder
    [ "${lines[-1]}" = '1 passed, 0 failed, 0 skipped' ]
}

@test "lanes run side by side; the lines of the second say whose they are, and its failure counts" {
    # Each waits for the other to have begun.
    suite here 'touch began-here; until [ -e began-there ]; do sleep 0.1; done; echo "1 passed, 0 failed, 0 skipped"'
    suite there 'touch began-there; until [ -e began-here ]; do sleep 0.1; done; echo "1 passed, 1 failed, 0 skipped"; exit 1'
    cd "$CLONE"
    run -1 timeout 60 ci/test here '|' there
    [ "${lines[-1]}" = '2 passed, 1 failed, 0 skipped' ]
    [[ $output == *'there: 1 passed, 1 failed'* ]]
}

@test "stopped, it stops what runs in the second lane" {
    suite here 'sleep 1'
    suite there 'echo $$ >pid; exec sleep 1000'
    cd "$CLONE"
    bash ci/test here '|' there 3>&- &
    local test=$!
    until [ -s pid ]; do sleep 0.1; done
    kill -TERM "$test"
    wait "$test" && return 1 # not as if all had passed
    for _ in {1..100}; do
        kill -0 "$(<pid)" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "it still runs"
    return 1
}
