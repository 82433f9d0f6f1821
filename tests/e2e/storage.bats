#!/usr/bin/env bats
# A cluster in the storage mode HHH, of daemons of their own, and the commands that ask it.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    # Each DataNode's folders go by its port. SSD and disk need no device of their own: their tags count.
    SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export SHM
    # shellcheck disable=SC2016 # Hadoop expands it
    local each='${dfs.datanode.address}'
    cluster start --dir "$DIR" --datanodes 3 --no-yarn --no-history -D dfs.rdma.hhh.mode=Default \
        -D "dfs.datanode.data.dir=[RAM_DISK]$SHM/$each/ram,[SSD_DISK]$DIR/$each/ssd,[DISK]$DIR/$each/disk" \
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

@test "a block has a replica in RAM, one on SSD and one on disk, and each says why" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /file
    there howdah blocks --json /file >"$BATS_TEST_TMPDIR/json"
    [ "$(field '" ".join(sorted(r["type"] for r in s[1]["replicas"]))' <"$BATS_TEST_TMPDIR/json")" = 'DISK RAM_DISK SSD' ]
    run -0 there howdah blocks "$(field 's[1]["block"]' <"$BATS_TEST_TMPDIR/json")"
    for tier in RAM_DISK SSD DISK; do [[ $output == *"created: $tier -> $tier, asked"* ]]; done
}

@test "RAM is filled up to its threshold, cold replicas leave it, and nothing is lost" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/large" /large
    there howdah storage status --json >"$BATS_TEST_TMPDIR/json"
    [ "$(field 'all(n["mode"] == "HHH" and n["ramFilled"] <= n["ramCapacity"] < 32 << 20 for n in s)' <"$BATS_TEST_TMPDIR/json")" = True ]
    [ "$(field 'sum(n["moves"] for n in s) > 0 and sum(n["failures"] for n in s) == 0' <"$BATS_TEST_TMPDIR/json")" = True ]
    there hdfs dfs -cat /file /large | cmp - <(cat "$BATS_FILE_TMPDIR/file" "$BATS_FILE_TMPDIR/large")
}

@test "a path that is not there is one line" {
    run -1 there howdah blocks /missing
    [ "${#lines[@]}" -eq 1 ]
}
