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

# told BLOCK: what happened to each replica of a block, by DataNode.
told() { there howdah blocks --json "$1" | field '{r["datanode"]: [" ".join(e.values()) for e in r["events"]] for r in s[0]["replicas"]}'; }

@test "what happened to a replica is told after a restart, too" {
    local block before
    there howdah blocks --json /large >"$BATS_TEST_TMPDIR/json"
    block=$(field '[b["block"] for b in s for r in b["replicas"] if r["events"][-1]["event"] == "moved"][0]' <"$BATS_TEST_TMPDIR/json")
    before=$(told "$block")
    [[ $before == *"created RAM_DISK RAM_DISK asked"*"moved RAM_DISK "* ]]
    # Ended by a signal, as an administrator ends it.
    cluster stop --dir "$DIR"
    cluster start --dir "$DIR"
    wait_until 120 healthy
    [ "$(told "$block")" = "$before" ] || { printf '%s\n' "$before" && told "$block" && return 1; }
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

@test "a NameNode that does not run is one line, of each command" {
    printf '<configuration><property><name>fs.defaultFS</name><value>hdfs://localhost:1</value></property></configuration>' \
        >"$BATS_TEST_TMPDIR/core-site.xml"
    cp "$TREE/etc/hadoop/log4j.properties" "$BATS_TEST_TMPDIR"
    local command
    for command in 'blocks /file' 'storage status'; do
        # shellcheck disable=SC2086 # words
        HADOOP_CONF_DIR=$BATS_TEST_TMPDIR run -1 "$TREE/bin/howdah" $command
        [ "$output" = 'howdah: error: the NameNode localhost:1 does not answer (Connection refused): is it running?' ]
    done
}

@test "commands of other modes say which mode they are of" {
    run --separate-stderr -0 there howdah storage status --unpersisted --json
    [ "$output" = '[]' ]
    # shellcheck disable=SC2154 # run sets it
    [[ $stderr == *'no live DataNode is in the storage mode HHH-M'* ]]
    run -1 there howdah storage gc
    [[ $output == *'the cluster is not in the storage mode HHH-L (dfs.rdma.hhh.mode='* ]]
}
