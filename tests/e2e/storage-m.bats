#!/usr/bin/env bats
# A cluster in the storage mode HHH-M, of daemons of their own, and a power failure.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export SHM
    cluster start --dir "$DIR" --datanodes 3 --no-yarn --no-history --mode hhh-m --ram "$SHM" \
        -D dfs.blocksize=2097152 -D dfs.rdma.memory.capacity=64m -D dfs.rdma.mover.interval=100
    ENVIRONMENT=$(cluster env --dir "$DIR")
    export ENVIRONMENT
    head -c 5000000 /dev/urandom >"$BATS_FILE_TMPDIR/file"
}

setup() {
    slow
    set_up_tree
}

teardown_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
    rm -rf "${SHM:?}"
}

# there COMMAND...: a command of the tree on the cluster.
there() (
    eval "$ENVIRONMENT"
    "$TREE/bin/$1" "${@:2}"
)

unpersisted() { there howdah storage status --unpersisted; }

nothing_unpersisted() { [ "$(unpersisted | wc -l)" -eq 0 ]; }

one_unpersisted() { [ "$(unpersisted | wc -l)" -eq 1 ]; }

@test "all replicas are in RAM, and persisted behind" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /file
    wait_until 120 nothing_unpersisted
    there howdah storage status --unpersisted 2>&1 | grep -qx 'howdah: nothing is unpersisted'
    there howdah blocks --json /file >"$BATS_TEST_TMPDIR/json"
    [ "$(field 'all(r["type"] == "RAM_DISK" and r["shadow"] for b in s for r in b["replicas"])' <"$BATS_TEST_TMPDIR/json")" = True ]
    there howdah storage status | grep -q 'persisted .* not yet'
}

@test "a power failure loses what is listed as unpersisted, and nothing else" {
    # Of the second file the first block is whole, and the last one is being written.
    mkfifo "$BATS_TEST_TMPDIR/pipe"
    there hdfs dfs -D dfs.client-write-packet-size=65536 -put - /open <"$BATS_TEST_TMPDIR/pipe" 3>&- &
    exec 7>"$BATS_TEST_TMPDIR/pipe"
    head -c 3000000 /dev/urandom >&7
    wait_until 120 one_unpersisted
    local daemon
    for daemon in datanode-1 datanode-2 datanode-3; do kill -9 "$(pid_of "$DIR" "$daemon")"; done
    exec 7>&-
    wait || true
    rm -rf "${SHM:?}"/howdah-*
    cluster start --dir "$DIR"
    there hdfs dfs -cat /file | cmp - "$BATS_FILE_TMPDIR/file"
    there hdfs fsck /file | grep -q 'Status: HEALTHY'
}
