#!/usr/bin/env bats
# HHH-L on a shared path that fails, hangs and is slow: a file system with faults (faultfs.c) before a folder.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    export PROGRAM=$BATS_FILE_TMPDIR/faultfs WHY=''
    . "$BATS_TEST_DIRNAME/../../ci/lib/faultfs.sh"
    WHY=$(HOWDAH_ROOT=$BATS_TEST_DIRNAME/../.. provide_faultfs "$PROGRAM") && {
        mount_it && faults && [ -e "$BATS_FILE_TMPDIR/shared/.there" ] || WHY='this system does not let us mount FUSE'
    }
    # Of its own: what a cluster has in RAM stays when it stops.
    [ -n "$WHY" ] || SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export WHY SHM
}

# mount_it: BATS_FILE_TMPDIR/shared shows BATS_FILE_TMPDIR/source, with faults by BATS_FILE_TMPDIR/control.
mount_it() {
    mkdir -p "$BATS_FILE_TMPDIR/source" "$BATS_FILE_TMPDIR/shared"
    touch "$BATS_FILE_TMPDIR/control" "$BATS_FILE_TMPDIR/source/.there"
    "$PROGRAM" "$BATS_FILE_TMPDIR/control" "$BATS_FILE_TMPDIR/source" "$BATS_FILE_TMPDIR/shared" -o max_threads=256
}

# faults [RULE...]: these hold from now on, and no others.
faults() {
    printf '%s\n' "$@" >"$BATS_FILE_TMPDIR/control.new"
    mv "$BATS_FILE_TMPDIR/control.new" "$BATS_FILE_TMPDIR/control"
}

setup() {
    [ -z "$WHY" ] || skip "$WHY"
    set_up_tree
    SHARED=$BATS_FILE_TMPDIR/shared
}

teardown() {
    faults
}

teardown_file() {
    set_up_tree
    faults # what hangs goes on, and can be ended
    if [ -d "$BATS_FILE_TMPDIR/c" ]; then cluster stop --dir "$BATS_FILE_TMPDIR/c"; fi
    if mountpoint -q "$BATS_FILE_TMPDIR/shared"; then umount "$BATS_FILE_TMPDIR/shared"; fi
    if [ -n "${SHM:-}" ]; then rm -rf "$SHM"; fi
}

there() { with "$BATS_FILE_TMPDIR/c" "$@"; }

@test "the file system fails, hangs and is slow as it is told" {
    echo here >"$SHARED/file"
    [ "$(<"$SHARED/file")" = here ]
    faults 'write ENOSPC'
    run -1 dd if=/dev/zero of="$SHARED/other" bs=1 count=1 status=none
    [[ $output == *'No space left'* ]]
    faults 'open EIO'
    run -1 cat "$SHARED/file"
    [[ $output == *'Input/output error'* ]]
    faults 'open hang'
    cat "$SHARED/file" >"$BATS_TEST_TMPDIR/late" &
    sleep 0.5
    [ ! -s "$BATS_TEST_TMPDIR/late" ]
    faults 'open delay 300'
    wait "$!"
    [ "$(<"$BATS_TEST_TMPDIR/late")" = here ]
    local before=${EPOCHREALTIME/./}
    [ "$(<"$SHARED/file")" = here ]
    [ "$((${EPOCHREALTIME/./} - before))" -ge 300000 ]
    faults 'write pace 2'
    before=${EPOCHREALTIME/./}
    dd if=/dev/zero of="$SHARED/other" bs=1M count=1 status=none
    [ "$((${EPOCHREALTIME/./} - before))" -ge 500000 ]
    faults
    rm "$SHARED/file" "$SHARED/other"
}

# start_it: a cluster whose writers wait four seconds for the shared path.
start_it() {
    slow
    [ ! -d "$BATS_FILE_TMPDIR/c" ] || return 0
    head -c 3000000 /dev/urandom >"$BATS_FILE_TMPDIR/file"
    cluster start --dir "$BATS_FILE_TMPDIR/c" --datanodes 3 --no-yarn --no-history --mode hhh-l --ram "$SHM" \
        --shared "$SHARED" -D dfs.blocksize=1048576 -D dfs.rdma.memory.capacity=64m -D dfs.rdma.lustre.timeout=4000 \
        -D dfs.rdma.lustre.member.timeout=5000 -D dfs.client.block.write.retries=1
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /before
}

# A write fails within some times the timeout; what is there is read; all DataNodes are live; writes go on after.
writes_fail_and_the_rest_goes_on() {
    local began=$SECONDS
    run there hdfs dfs -put "$BATS_FILE_TMPDIR/file" "/during-$1"
    [ "$status" -ne 0 ]
    [ "$((SECONDS - began))" -lt 100 ]
    there hdfs dfs -cat /before | cmp - "$BATS_FILE_TMPDIR/file"
    [ "$(there hdfs dfsadmin -report -live | grep -c '^Name:')" -eq 3 ]
    faults
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" "/after-$1"
    there hdfs dfs -cat "/after-$1" | cmp - "$BATS_FILE_TMPDIR/file"
}

@test "writes fail while the shared path is full, and go on after it" {
    start_it
    faults 'write ENOSPC'
    writes_fail_and_the_rest_goes_on full
}

@test "writes fail while the shared path has errors, and go on after them" {
    start_it
    faults 'write EIO' 'open EIO' 'sync EIO' 'change EIO'
    writes_fail_and_the_rest_goes_on broken
}

# silent: no DataNode has heard of the shared path for fifteen seconds.
silent() {
    [ "$(there howdah storage status --json | field 'len(s) == 3 and all(n["sharedPathSilence"] > 15000 for n in s)')" = True ]
}

# on_time: the NameNode has heard of each DataNode a moment ago, that is, two intervals of heartbeats at most.
on_time() {
    [ "$(metric "$BATS_FILE_TMPDIR/c" namenode NameNodeInfo LiveNodes |
        field 'len(s) == 3 and all(n["lastContact"] <= 6 for n in s.values())')" = True ]
}

# said WORDS: how many lines the DataNodes' logs have with them.
said() { cat "$BATS_FILE_TMPDIR"/c/logs/datanode-?.log | grep -c -- "$1" || true; }

said_so_often() { [ "$(said "$1")" -eq "$2" ]; }

# no_file FOLDER BLOCK: nothing of the block is there.
no_file() { [ -z "$(find "$1" -name "$2*" 2>/dev/null)" ]; }

@test "a shared path that hangs holds up neither heartbeats, deletions nor local reads, and each DataNode says so once" {
    start_it
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /gone
    local block hangs back
    block=$(there howdah blocks --json /gone | field 's[0]["block"]')
    hangs=$(said 'has not answered for .* and until it does') back=$(said 'answers again')
    faults '* hang'
    wait_until 120 silent
    on_time
    # Reports and deletions take the lock of the DataNode's replicas: nobody waits for the path with it.
    there hdfs dfs -rm -skipTrash /gone
    wait_until 60 no_file "$SHM" "$block"
    writes_fail_and_the_rest_goes_on hanging
    [ "$(said 'has not answered for .* and until it does')" -eq "$((hangs + 3))" ]
    wait_until 60 said_so_often 'answers again' "$((back + 3))"
    wait_until 120 no_file "$BATS_FILE_TMPDIR/source" "$block"
}

@test "a shared path that is stale is said once by each DataNode, and all goes on when it is there again" {
    start_it
    local stale back
    stale=$(said 'cannot be read, and is tried again') back=$(said 'can be read again')
    faults '* ESTALE'
    wait_until 120 silent
    on_time
    writes_fail_and_the_rest_goes_on stale
    [ "$(said 'cannot be read, and is tried again')" -eq "$((stale + 3))" ]
    wait_until 60 said_so_often 'can be read again' "$((back + 3))"
}

@test "a shared path that is slow slows writers and nothing else" {
    start_it
    faults 'write delay 50'
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /slow
    there hdfs dfs -cat /slow | cmp - "$BATS_FILE_TMPDIR/file"
}
