#!/usr/bin/env bats
# A cluster in the storage mode HHH, of daemons of their own, and the commands that ask it.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export SHM
    # The folder of SSDs needs no device of its own: its tag counts.
    cluster start --dir "$DIR" --datanodes 3 --no-yarn --no-history --mode hhh --ram "$SHM" --ssd "$BATS_FILE_TMPDIR/ssd" \
        -D dfs.blocksize=2097152 -D dfs.rdma.memory.capacity=32m -D dfs.rdma.mover.interval=100
    ENVIRONMENT=$(cluster env --dir "$DIR")
    export ENVIRONMENT
    # 22 MB of RAM a DataNode: enough for the first file, not for a third of the second one.
    head -c 3000000 /dev/urandom >"$BATS_FILE_TMPDIR/file"
    head -c 90000000 /dev/urandom >"$BATS_FILE_TMPDIR/large"
}

setup() { set_up_tree; }

teardown_file() {
    set_up_tree
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
    rm -rf "${SHM:?}"
}

# there COMMAND...: a command of the tree on the cluster.
there() (
    eval "$ENVIRONMENT"
    "$TREE/bin/$1" "${@:2}"
)

# placed FILE: where the replicas of its first block are, as howdah blocks says.
placed() { there howdah blocks --json "$1" | field '" ".join(sorted(r["type"] for r in s[1]["replicas"]))'; }

everywhere() { [ "$(placed /file)" = 'DISK RAM_DISK SSD' ]; }

@test "a block has a replica in RAM, one on SSD and one on disk, and each says why" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /file
    wait_until 120 everywhere || { placed /file && return 1; }
    there howdah blocks --json /file >"$BATS_TEST_TMPDIR/json"
    run -0 there howdah blocks "$(field 's[1]["block"]' <"$BATS_TEST_TMPDIR/json")"
    for tier in RAM_DISK SSD DISK; do [[ $output == *"created: $tier -> $tier, asked"* ]]; done
}

# page NAME: what the NameNode's web server has there.
page() {
    python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())' \
        "http://localhost:$(sed -n 's/^port\.namenode\.http=//p' "$DIR/cluster.properties")/$1"
}

@test "the NameNode's web page leads to one about the mode" {
    page dfshealth.html | grep -q 'href="storage.html"'
    page storage.html | grep -q 'src="storage.js"'
    page storage.js | grep -q "ask('HowdahStorage'"
    page 'jmx?qry=Hadoop:service=NameNode,name=HowdahStorage' >"$BATS_TEST_TMPDIR/json"
    [ "$(field 's["beans"][0]["Mode"]' <"$BATS_TEST_TMPDIR/json")" = HHH ]
    [ "$(field 'len(s["beans"][0]["Decisions"]) > 0' <"$BATS_TEST_TMPDIR/json")" = True ]
}

# moved: the DataNodes have moved replicas, none of these moves failed, and RAM is below its threshold.
moved() {
    there howdah storage status --json >"$BATS_TEST_TMPDIR/json"
    [ "$(field 'all(n["mode"] == "HHH" and n["ramFilled"] <= n["ramCapacity"] < 32 << 20 for n in s)' <"$BATS_TEST_TMPDIR/json")" = True ] &&
        [ "$(field 'sum(n["moves"] for n in s) > 0 and sum(n["failures"] for n in s) == 0' <"$BATS_TEST_TMPDIR/json")" = True ]
}

@test "RAM is filled up to its threshold, cold replicas leave it, and nothing is lost" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/large" /large
    wait_until 120 moved || { cat "$BATS_TEST_TMPDIR/json" && return 1; }
    there hdfs dfs -cat /file /large | cmp - <(cat "$BATS_FILE_TMPDIR/file" "$BATS_FILE_TMPDIR/large")
}

healthy() { there hdfs fsck / | grep -q 'Status: HEALTHY'; }

@test "a power failure, DataNodes killed and RAM empty, loses nothing" {
    local daemon
    for daemon in datanode-1 datanode-2 datanode-3; do kill -9 "$(pid_of "$DIR" "$daemon")"; done
    rm -rf "${SHM:?}"/howdah-*
    cluster start --dir "$DIR"
    wait_until 120 healthy
    there hdfs dfs -cat /file /large | cmp - <(cat "$BATS_FILE_TMPDIR/file" "$BATS_FILE_TMPDIR/large")
}

@test "a folder that is not in RAM, and a mode that is not there, are refused before anything is written" {
    run -1 cluster start --dir "$BATS_TEST_TMPDIR/new" --mode hhh --ram /proc/howdah
    [[ $output == *'--ram /proc/howdah is on proc, not in RAM'* ]]
    run -1 cluster start --dir "$BATS_TEST_TMPDIR/new" --mode hhh-l-bb
    [[ $output == *'--mode hhh-l-bb'* ]]
    [ ! -e "$BATS_TEST_TMPDIR/new" ]
}

@test "a path that is not there is one line" {
    run -1 there howdah blocks /missing
    [ "${#lines[@]}" -eq 1 ]
}
