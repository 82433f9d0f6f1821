#!/usr/bin/env bats
# What a DataNode in a storage mode cannot serve: the daemon ends at its start, says why, and has written nothing.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    # A NameNode that answers: what is refused is refused after its first answer, before folders are formatted.
    cluster start --dir "$DIR" --datanodes 1 --no-yarn --no-history
    ENVIRONMENT=$(cluster env --dir "$DIR")
    export ENVIRONMENT
}

teardown_file() {
    set_up_tree
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
}

setup() {
    set_up_tree
    export DISK=$BATS_TEST_TMPDIR/disk SHARED=$BATS_TEST_TMPDIR/shared
    mkdir "$SHARED"
    RAM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export RAM
}

teardown() { rm -rf "${RAM:?}"; }

# start NAME=VALUE...: a second DataNode with these settings, which ends by itself. It has a folder in RAM and one on disk
# unless they say otherwise.
start() {
    local setting settings=(-Ddfs.datanode.address=localhost:0 -Ddfs.datanode.http.address=localhost:0
        -Ddfs.datanode.ipc.address=localhost:0 "-Ddfs.datanode.data.dir=[RAM_DISK]$RAM/d,[DISK]$DISK"
        -Ddfs.rdma.memory.capacity=64m -Ddfs.blocksize=1m -Ddfs.replication=3)
    for setting in "$@"; do settings+=(-D"$setting"); done
    eval "$ENVIRONMENT"
    timeout 60 "$TREE/bin/hdfs" datanode "${settings[@]}"
}

# refused WORDS NAME=VALUE...: it says so, fails, and nothing is written.
refused() {
    run start "${@:2}"
    printf '%s\n' "$output"
    [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
    [[ $output == *"$1"* ]]
    [ -z "$(find "$RAM" "$SHARED" -mindepth 1 ! -path "$RAM/d" ! -name in_use.lock)" ]
    [ ! -e "$DISK" ]
}

@test "folders that do not do are refused by the DataNode, before anything is written" {
    refused "is on proc, not in RAM" dfs.rdma.hhh.mode=HHH "dfs.datanode.data.dir=[RAM_DISK]/proc/howdah,[DISK]$DISK"
    slow
    refused "there is no type of storage RAM: tag the folder [RAM_DISK], [SSD], [DISK] or [ARCHIVE]" \
        dfs.rdma.hhh.mode=HHH "dfs.datanode.data.dir=[RAM]$RAM/d,[DISK]$DISK"
    refused "[RAM_DISK] folders only" dfs.rdma.hhh.mode=HHH "dfs.datanode.data.dir=[RAM_DISK]$RAM/d"
    refused "is too small" dfs.rdma.hhh.mode=HHH dfs.rdma.memory.capacity=1m dfs.blocksize=2m
    refused "dfs.rdma.memory.capacity=" dfs.rdma.hhh.mode=HHH dfs.rdma.memory.capacity=1000t
    mkdir "$RAM/d"
    python3 -c 'import fcntl, sys, time
file = open(sys.argv[1] + "/in_use.lock", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
time.sleep(300)' "$RAM/d" "$BATS_TEST_TMPDIR/locked" 3>&- &
    local holder=$!
    wait_until 30 test -e "$BATS_TEST_TMPDIR/locked"
    refused "is used by another DataNode" dfs.rdma.hhh.mode=HHH || { kill "$holder" && return 1; }
    kill "$holder"
}

@test "settings that do not do are refused by the DataNode, before anything is written" {
    refused "dfs.rdma.memory.replicas=3 is not below dfs.replication=3" dfs.rdma.hhh.mode=HHH dfs.rdma.memory.replicas=3
    slow
    refused "dfs.rdma.memory.replicas=2 is not below dfs.replication=1" dfs.rdma.hhh.mode=HHH dfs.rdma.memory.replicas=2 \
        dfs.replication=1
    refused "dfs.rdma.hhh.mode=Lustre-BB" dfs.rdma.hhh.mode=Lustre-BB
    refused "dfs.rdma.memory.percentage" dfs.rdma.hhh.mode=HHH dfs.rdma.memory.percentage=1.5
}

@test "shared paths that do not do are refused by the DataNode, before anything is written" {
    local mode=(dfs.rdma.hhh.mode=Lustre dfs.replication=1)
    refused "dfs.rdma.lustre.path is not set" "${mode[@]}"
    slow
    refused "is not a folder" "${mode[@]}" "dfs.rdma.lustre.path=$BATS_TEST_TMPDIR/none"
    refused "which only this node has" "${mode[@]}" "dfs.rdma.lustre.path=$RAM"
    refused "takes no files" "${mode[@]}" dfs.rdma.lustre.path=/proc dfs.rdma.lustre.path.local=true
    refused "bytes free, and a block may need" "${mode[@]}" "dfs.rdma.lustre.path=$SHARED" dfs.rdma.lustre.path.local=true \
        "dfs.datanode.data.dir=[DISK]$DISK" dfs.blocksize=1000t
    refused "of dfs.datanode.data.dir, which one DataNode has for itself" "${mode[@]}" "dfs.rdma.lustre.path=$DISK/shared"
}
