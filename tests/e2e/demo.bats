#!/usr/bin/env bats
# The demo on a little data, from a tree and in a folder whose paths have spaces; it covers YARN, MapReduce and Spark.

load lib

setup() {
    set_up_tree
}

@test "the demo passes from a path with a space, reports, and leaves no process" {
    home="$BATS_TEST_TMPDIR/moved away"
    mkdir "$home"
    # Hard links: another place at no cost.
    cp -al "$TREE" "$home/tree" 2>/dev/null || cp -a "$TREE" "$home/tree"
    mkdir "$home/text"
    cat "$ROOT"/docs/*/*.md >"$home/text/one"
    cp "$ROOT/LICENSE" "$home/text/two"
    run "$home/tree/bin/howdah" demo --size 20m --dir "$home/demo" --text "$home/text" \
        -D "mapreduce.map.java.opts=-Xmx512m -XX:+UseSerialGC $ONE_COMPILER" \
        -D "mapreduce.reduce.java.opts=-Xmx768m -XX:+UseSerialGC $ONE_COMPILER" \
        -D "spark.executor.extraJavaOptions=-XX:+UseSerialGC $ONE_COMPILER"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(field "s['passed'], len(s['rows'])" <"$home/demo/demo.json")" = '(True, 7)' ]
    # RPC goes over the engine by itself; the report says how much of it.
    [ "$(field "[r['calls'] > 0 for r in s['traffic']['rows'] if (r['traffic'], r['transport']) == ('RPC', 'shm')]" <"$home/demo/demo.json")" = '[True]' ]
    [[ $output == *TRAFFIC*RPC*shm* ]]
    [[ $output == *"MapReduce shuffle"*shm* ]]
    [ -z "$(processes_of "$home/demo/cluster")" ]
    [ ! -e "$home/demo/cluster/data" ]
}

@test "the demo stops before it starts anything when the disk has no room" {
    run "$HOWDAH" demo --size 999t --dir "$BATS_TEST_TMPDIR/demo" --text "$ROOT/LICENSE"
    [ "$status" -eq 1 ]
    [[ $output == *"needs"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/demo/cluster" ]
}

@test "the demo asks for a text that exists and is UTF-8" {
    run "$HOWDAH" demo --dir "$BATS_TEST_TMPDIR/demo" --text "$BATS_TEST_TMPDIR/absent"
    [ "$status" -eq 1 ]
    [[ $output == *absent* ]]
    printf '\344\n' >"$BATS_TEST_TMPDIR/latin"
    run "$HOWDAH" demo --dir "$BATS_TEST_TMPDIR/demo" --text "$BATS_TEST_TMPDIR/latin"
    [ "$status" -eq 1 ]
    [[ $output == *UTF-8* ]]
}
