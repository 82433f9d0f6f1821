#!/usr/bin/env bats
# The runner itself: what it makes of classes that pass, fail, flicker, hang, exit, or leave processes behind.

root=$(cd -P -- "$BATS_TEST_DIRNAME/../.." && pwd)
build=$root/build/conformance

setup_file() {
    "$root/ci/conformance" --collect
    # shellcheck source=/dev/null
    . "$root/build/prepare.env"
    export JAVA_HOME
    mkdir "$BATS_FILE_TMPDIR/classes"
    "$JAVA_HOME/bin/javac" -proc:none -d "$BATS_FILE_TMPDIR/classes" -cp "$(echo "$build"/hadoop/junit-*.jar)" \
        "$root"/tests/conformance/runner/src/test/fixtures/fixture/*.java \
        "$root"/tests/conformance/runner/src/test/fixtures/{org/apache/hadoop/{ipc,hdfs/net},io/howdah/upgrade}/*.java
}

setup() {
    here=$BATS_TEST_TMPDIR
    mkdir -p "$here"/{sources/hadoop/resources,build/target/runner,state} "$here/the tree/share/hadoop/common"
    ln -s "$build/target/runner/classes" "$here/build/target/runner/classes"
    ln -s "$build/hadoop" "$here/build/hadoop"
    cp "$build"/hadoop/hamcrest-core-*.jar "$here/the tree/share/hadoop/common/"
    : >"$here/sources/spark.list"
    suite=hadoop
}

# conformance LIST-TEXT [OPTION...]: the runner over a list of fixtures.
conformance() {
    printf '%s\n' "$1" >"$here/sources/$suite.list"
    shift
    run runner "$@"
}

runner() {
    "$JAVA_HOME/bin/java" -Xmx128m -cp "$build/target/runner/classes" -Dconformance.sources="$here/sources" \
        -Dconformance.build="$here/build" -Dconformance.tree="$here/the tree" \
        -Dconformance.classes="$BATS_FILE_TMPDIR/classes" -Dconformance.reports="$here/reports" \
        -Dconformance.java.home="$JAVA_HOME" io.howdah.conformance.Conformance --suite "$suite" \
        --java-option -Dfixture.state="$here/state" "$@"
}

# has TEXT: the output has a line with it.
has() { grep -qF -- "$1" <<<"$output" || { printf 'no "%s" in:\n%s\n' "$1" "$output" && return 1; }; }

last_line_is() { [ "$(tail -n 1 <<<"$output")" = "$1" ] || { echo "$output" && return 1; }; }

nothing_left() {
    [ ! -e "$here/reports/work" ]
    ! pgrep -f "sleep $1"
}

@test "passes, ignored tests and failed assumptions are counted apart" {
    conformance 'fixture.Passes quick 1'
    [ "$status" -eq 0 ]
    last_line_is '2 passed, 0 failed, 2 skipped'
    grep -q 'ignored upstream: not today' "$here/reports/hadoop/TEST-fixture.Passes.xml"
    [ ! -e "$here/reports/hadoop/TEST-fixture.Passes.log" ]
}

@test "an unlisted failure fails the run, a listed one is named, a healed one is told" {
    conformance 'fixture.Fails quick 1
  fails listed | it is its nature | 2 of 2 runs failed
  fails healed | was ill | failed
  fails gone | renamed | failed'
    [ "$status" -eq 1 ]
    has 'known: fixture.Fails listed: it is its nature; stock: 2 of 2 runs failed'
    last_line_is '2 passed, 1 failed, 1 skipped'
    has 'FAILED twice: fixture.Fails fails: java.lang.AssertionError: tab'
    has 'listed as failing, but passed: fixture.Fails healed (was ill)'
    has 'listed, but did not run: fixture.Fails gone'
    xmllint --noout "$here/reports/hadoop/TEST-fixture.Fails.xml"
}

@test "what passes at the second try is told as flaky; what passed at first does not run again" {
    conformance 'fixture.Flaky quick 1'
    [ "$status" -eq 0 ]
    has 'flaky, passed on retry: fixture.Flaky atSecondTry: java.lang.AssertionError: first time'
    has '1 tests passed only on retry'
    last_line_is '2 passed, 0 failed, 0 skipped'
}

@test "a class over its limit is killed with all that it started" {
    conformance 'fixture.Hangs quick 1 limit=4'
    [ "$status" -eq 1 ]
    has 'fixture.Hangs hangs: over the limit of 4 s'
    grep -q 'fixture.Hangs.hangs' "$here/reports/hadoop/TEST-fixture.Hangs.log"
    nothing_left 7654
}

@test "a class that ends the JVM has failed, and its processes and locked folders go" {
    conformance 'fixture.Exits quick 1'
    [ "$status" -eq 1 ]
    has 'the JVM ended (System.exit?) before the class was through'
    last_line_is '0 passed, 1 failed, 0 skipped'
    nothing_left 7654
}

@test "a class that crashed runs again as a whole: no test is lost" {
    conformance 'fixture.CrashesOnce quick 1'
    [ "$status" -eq 0 ]
    has 'once more: fixture.CrashesOnce, all of it'
    has 'flaky, passed on retry: fixture.CrashesOnce second'
    last_line_is '3 passed, 0 failed, 0 skipped'
}

@test "a class whose set-up fails, and one that is not there, have failed" {
    conformance 'fixture.NoSetup quick 1
fixture.Missing quick 1'
    [ "$status" -eq 1 ]
    has 'fixture.NoSetup (class): java.lang.IllegalStateException: no ground to stand on'
    has 'fixture.Missing (class): the JVM ended with status 1'
    last_line_is '0 passed, 2 failed, 0 skipped'
}

@test "the slow tier runs when asked for, a class when named" {
    conformance 'fixture.Passes quick 1
fixture.Fails slow 1' --class Passes
    has '1 classes of'
    conformance 'fixture.Passes quick 1
fixture.Flaky slow 1' --slow
    has '2 classes of'
}

@test "a stopped run leaves nothing" {
    printf 'fixture.Waits quick 1\n' >"$here/sources/hadoop.list"
    runner --lanes 1 >"$here/output" 2>&1 3>&- &
    pid=$!
    for _ in $(seq 300); do
        [ ! -e "$here/state/waiting" ] || break
        sleep 0.1
    done
    pkill -TERM -P "$pid"
    ended=0
    wait "$pid" || ended=$?
    [ "$ended" -ne 0 ]
    nothing_left 7653
}

@test "mistakes in a list or a call are named, with status 2" {
    conformance 'fixture.Passes quickly 1'
    [ "$status" -eq 2 ]
    has 'hadoop.list:1: expected: CLASS quick|slow SECONDS'
    conformance '  fails x | y | z'
    [ "$status" -eq 2 ]
    has 'hadoop.list:1: an indented line tells of the class above it'
    conformance 'fixture.Passes quick 1 parallel'
    [ "$status" -eq 2 ]
    has 'unknown word "parallel"'
    conformance 'fixture.Passes quick 1' --class Nothing
    [ "$status" -eq 2 ]
    has '--class Nothing: no listed class has this name'
    conformance 'fixture.Passes quick 1' --lanes many
    [ "$status" -eq 2 ]
}

@test "with RPC forced over the engine, what went past it fails the class, also at the second try" {
    suite=rpc-forced
    conformance 'fixture.CallsOver quick 1
fixture.Passes quick 1 offline'
    [ "$status" -eq 0 ]
    last_line_is '5 passed, 0 failed, 2 skipped'
    conformance 'fixture.CallsPast quick 1'
    [ "$status" -eq 1 ]
    has 'fixture.CallsPast (engine): 1 ends of RPC connections did not go over the engine, 1 did'
    last_line_is '1 passed, 1 failed, 0 skipped'
}

@test "with RPC forced over the engine, a class that did not use it fails, and one that did though listed as offline" {
    suite=rpc-forced
    conformance 'fixture.Passes quick 1
fixture.CallsOver quick 1 offline'
    [ "$status" -eq 1 ]
    has 'fixture.Passes (engine): no RPC connection went over the engine'
    has 'fixture.CallsOver (engine): listed as offline, but made RPC connections over the engine: 2 ends'
    last_line_is '3 passed, 2 failed, 2 skipped'
}

@test "sockets that tests open themselves are listed, and neither more nor fewer pass" {
    suite=rpc-forced
    conformance 'fixture.CallsPast quick 1 sockets=1'
    [ "$status" -eq 0 ]
    last_line_is '2 passed, 0 failed, 0 skipped'
    conformance 'fixture.CallsPast quick 1 sockets=2'
    [ "$status" -eq 1 ]
    has '1 ends of RPC connections did not go over the engine, 1 did; listed are 2'
    conformance 'fixture.CallsPast quick 1 sockets=1-3'
    [ "$status" -eq 0 ]
    conformance 'fixture.CallsPast quick 1 sockets=2-3'
    [ "$status" -eq 1 ]
    has '1 ends of RPC connections did not go over the engine, 1 did; listed are 2 to 3'
    conformance 'fixture.CallsPast quick 1 sockets=3-2'
    [ "$status" -eq 2 ]
    has '"sockets=3-2": the fewest come first'
}

@test "with block data forced over the engine the counters of HDFS decide, not those of RPC" {
    suite=hdfs-forced
    conformance 'fixture.WritesPast quick 1
fixture.CallsOver quick 1'
    [ "$status" -eq 1 ]
    has 'fixture.WritesPast (engine): 1 ends of block data connections did not go over the engine, 2 did'
    has 'fixture.CallsOver (engine): no block data connection went over the engine'
    last_line_is '2 passed, 2 failed, 0 skipped'
    conformance 'fixture.WritesPast quick 1 sockets=1'
    [ "$status" -eq 0 ]
}

@test "with the shuffle forced over the engine the counts of its traffic decide" {
    suite=shuffle-forced
    conformance 'fixture.ShufflesPast quick 1
fixture.CallsOver quick 1'
    [ "$status" -eq 1 ]
    has 'fixture.ShufflesPast (engine): 1 ends of shuffled parts did not go over the engine, 2 did'
    has 'fixture.CallsOver (engine): no shuffled part went over the engine'
    last_line_is '2 passed, 2 failed, 0 skipped'
    conformance 'fixture.ShufflesPast quick 1 sockets=1'
    [ "$status" -eq 0 ]
}

@test "stock jars are not asked for what needs the engine" {
    suite=rpc-forced
    JAVA_TOOL_OPTIONS=-Dconformance.stock=true conformance 'fixture.Passes quick 1'
    [ "$status" -eq 2 ]
    has 'stock jars have no engine'
}

@test "a tree without jars is refused" {
    rm -r "$here/the tree/share"
    conformance 'fixture.Passes quick 1'
    [ "$status" -eq 2 ]
    has 'no jars for the suite hadoop'
}
