#!/usr/bin/env bats
# A cluster in the storage mode HHH-L, of daemons of their own, with a shared path.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c SHARED=$BATS_FILE_TMPDIR/shared
    mkdir "$SHARED"
    SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export SHM
    cluster start --dir "$DIR" --datanodes 3 --no-yarn --no-history --mode hhh-l --ram "$SHM" --shared "$SHARED" \
        -D dfs.blocksize=2097152 -D dfs.rdma.memory.capacity=64m -D dfs.rdma.lustre.member.timeout=5000
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

# status EXPRESSION: of the list of DataNodes that howdah storage status --json prints, as s.
status_is() { [ "$(there howdah storage status --json | field "$1")" = True ]; }

@test "each block has a replica and a copy on the shared path, which another DataNode serves" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /file
    there howdah blocks --json /file >"$BATS_TEST_TMPDIR/json"
    [ "$(field 'all(any(r.get("shared") and r["type"] == "RAM_DISK" for r in b["replicas"]) for b in s)' <"$BATS_TEST_TMPDIR/json")" = True ]
    [ "$(find "$SHARED" -name 'blk_*' ! -name '*.meta' | wc -l)" -eq 3 ]
    wait_until 120 status_is 'sum(n["kept"] for n in s) == 3 and sum(n["unshared"] for n in s) == 0'
    there howdah storage status | grep -q 'shared .* blocks\? '
    there howdah blocks /file | grep -q 'ARCHIVE, serves the copy of localhost:'
    there hdfs dfs -cat /file | cmp - "$BATS_FILE_TMPDIR/file"
}

@test "a killed DataNode's files are read at once, and without RAM after it is back" {
    local daemon
    for daemon in datanode-1 datanode-2; do kill -9 "$(pid_of "$DIR" "$daemon")"; done
    # The third one serves its own and, as soon as it sees that the others are gone, all of theirs.
    wait_until 120 file_is_there
    kill -9 "$(pid_of "$DIR" datanode-3)"
    rm -rf "${SHM:?}"/howdah-*
    cluster start --dir "$DIR"
    wait_until 120 file_is_there
    there hdfs fsck /file | grep -q 'Status: HEALTHY'
}

file_is_there() { there hdfs dfs -cat /file | cmp - "$BATS_FILE_TMPDIR/file"; }

@test "howdah storage gc finds nothing as long as all DataNodes are there" {
    there howdah storage gc --delete | grep -q ' 0 blocks, 0 bytes, that nobody needs'
    [ -n "$(find "$SHARED" -name 'blk_*')" ]
}

@test "deleted, a file leaves nothing on the shared path" {
    there hdfs dfs -rm -skipTrash /file
    wait_until 120 nothing_is_left
}

nothing_is_left() { [ -z "$(find "$SHARED" -name 'blk_*')" ]; }
