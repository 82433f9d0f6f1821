# run-guest-tests, on this machine: how the ends of tests are told apart.

bats_require_minimum_version 1.5.0

setup() {
    RUNNER=$BATS_TEST_DIRNAME/run-guest-tests
    cd "$BATS_TEST_TMPDIR"
    mkdir tests
}

# guest_test NAME BODY
guest_test() {
    printf '#!/bin/bash\n%s\n' "$2" >"tests/$1"
    chmod +x "tests/$1"
}

@test "passed, failed, skipped, and a number for each" {
    guest_test 1-good 'echo fine'
    guest_test 2-bad 'echo why; exit 3'
    guest_test 3-skipped 'echo "no such device"; exit 77'
    echo 'not executable' >tests/4-readme
    run -1 "$RUNNER" tests
    [[ ${lines[0]} == "ok 1 1-good in "* ]]
    [[ $output == *"not ok 2 2-bad: exit status 3"*"#   why"* ]]
    [[ $output == *"ok 3 3-skipped # skip no such device"* ]]
    [ "${lines[-1]}" = 1..3 ]
}

@test "nothing failed: 0" {
    guest_test 1-skipped 'exit 77'
    run -0 "$RUNNER" tests
}

@test "a test that hangs is stopped at its own limit, with what it started" {
    guest_test 1-hangs '# time limit: 1 s
sleep 1000 & echo $! >pid; sleep 1000'
    run -1 "$RUNNER" tests
    [[ $output == *"not ok 1 1-hangs: not done in 1 s"* ]]
    # Gone, or waiting for its parent to notice.
    run ! grep -q '^State:[[:space:]]*[RSD]' "/proc/$(cat pid)/status"
}

@test "what a test leaves running ends with it" {
    guest_test 1-leaves 'sleep 1000 >/dev/null 2>&1 & echo $! >pid'
    run -0 "$RUNNER" tests
    run ! grep -q '^State:[[:space:]]*[RSD]' "/proc/$(cat pid)/status"
}

@test "one that may take long says on standard error what is done" {
    guest_test 1-long '# time limit: 3600 s
echo "# stream over verbs: exit status 0, 3 s"; echo other words'
    guest_test 2-short 'echo "# fetch over verbs: exit status 0, 3 s"'
    run -0 --separate-stderr "$RUNNER" tests
    # shellcheck disable=SC2154 # run sets it
    [ "$stderr" = "[guest] stream over verbs: exit status 0, 3 s" ]
}

# engine_test NAME BODY: a program as engine_tests() of common.sh runs it.
engine_test() {
    mkdir -p test
    printf '#!/bin/bash\n%s\n' "$2" >"test/test_$1"
    chmod +x "test/test_$1"
}

@test "programs of the engine: one that fails or crashes is counted, and does not end those after it" {
    engine_test fails 'echo "[  FAILED  ] wrong_answer"; exit 1'
    engine_test crashes "echo 'crashed by signal 11 in process 7, thread 7 (x):'
echo '$(type -P bash)(+0x1)[0x5]'; kill -SEGV \$\$"
    engine_test works 'echo "[       OK ] right_answer"'
    run -1 env HOWDAH_VM_DEVICE=none HOWDAH_TEST_BUILD=. bash -c ". '$BATS_TEST_DIRNAME/common.sh'; engine_tests shm fails crashes works"
    [[ $output == *"# fails over shm: exit status 1,"*"# crashes over shm: exit status 139,"*"# works over shm: exit status 0,"* ]]
    [ "${lines[-1]}" = "# 1 passed, 2 failed, 0 skipped" ]
}
