#!/usr/bin/env bats
# DataNodes of stock Hadoop, one and then all, in a cluster in the storage mode HHH, of daemons of their own.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c STOCK=$ROOT/build/stock
    [ -x "$STOCK/bin/hdfs" ] || { echo "there is no $STOCK: make stock" && return 1; }
    SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    export SHM
    cluster start --dir "$DIR" --datanodes 3 --no-yarn --no-history --mode hhh --ram "$SHM" --ssd "$BATS_FILE_TMPDIR/ssd" \
        -D dfs.blocksize=1048576 -D dfs.rdma.memory.capacity=64m -D dfs.namenode.replication.interval=1
    head -c 3000000 /dev/urandom >"$BATS_FILE_TMPDIR/file"
}

setup() {
    slow
    set_up_tree
}

teardown_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    end_by_hand
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
    rm -rf "${SHM:?}"
}

there() { with "$DIR" "$@"; }

# theirs COMMAND...: a command of stock Hadoop's tree on the cluster.
theirs() (
    eval "$(cluster env --dir "$DIR")"
    unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME HADOOP_YARN_HOME HADOOP_MAPRED_HOME SPARK_HOME
    "$STOCK/bin/$1" "${@:2}"
)

# end DAEMON: ends one of ours.
end() {
    local pid
    pid=$(pid_of "$DIR" "$1")
    kill "$pid"
    wait_until 60 is_gone "$pid"
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# start_of TREE DAEMON: one of a tree of Hadoop's in its place, with the same folders and ports.
start_of() {
    HADOOP_CONF_DIR=$DIR/conf/$2 "$1/bin/hdfs" "${2%-*}" >>"$BATS_FILE_TMPDIR/by-hand-$2.log" 2>&1 3>&- &
    echo "$!" >>"$BATS_FILE_TMPDIR/by-hand.pids"
}

# end_by_hand: all that start_of has started.
end_by_hand() {
    local pid
    [ -e "$BATS_FILE_TMPDIR/by-hand.pids" ] || return 0
    while read -r pid; do
        kill "$pid" 2>/dev/null || continue # it has ended
        wait_until 60 is_gone "$pid" || kill -9 "$pid"
    done <"$BATS_FILE_TMPDIR/by-hand.pids"
    rm "$BATS_FILE_TMPDIR/by-hand.pids"
}

# replicated PATH N: each block of the file has so many replicas.
replicated() { there hdfs fsck "$1" | grep -q "Average block replication:[[:space:]]*$2\.0"; }

# types PATH: where the replicas of its first block are.
types() { there hdfs fsck "$1" -files -blocks -locations | grep -o 'RAM_DISK\|SSD\|DISK' | head -n 3 | sort | paste -s -d ' '; }

written_to_all() {
    there hdfs dfs -put -f "$BATS_FILE_TMPDIR/file" /mixed && replicated /mixed 3
}

@test "a DataNode of stock Hadoop takes the place of one of ours: blocks are written, replicated and read" {
    there hdfs dfs -put "$BATS_FILE_TMPDIR/file" /before
    wait_until 120 replicated /before 3
    there hdfs dfs -D dfs.replication=2 -put "$BATS_FILE_TMPDIR/file" /two
    end datanode-3
    start_of "$STOCK" datanode-3
    wait_until 180 written_to_all
    holds "$DIR" /mixed "$BATS_FILE_TMPDIR/file"
    [ "$(types /mixed)" = 'DISK RAM_DISK SSD' ]
    # There are three DataNodes, so the third replica is on the stock one.
    there hdfs dfs -setrep 3 /two
    wait_until 180 replicated /two 3
    theirs hdfs dfs -D dfs.replication=3 -put "$BATS_FILE_TMPDIR/file" /theirs
    wait_until 120 replicated /theirs 3
    # Without ours the stock one has all of it.
    end datanode-1
    end datanode-2
    local path
    for path in /before /mixed /two /theirs; do holds "$DIR" "$path" "$BATS_FILE_TMPDIR/file"; done
    start_of "$TREE" datanode-1
    start_of "$TREE" datanode-2
    wait_until 180 written_to_all
}

@test "the mode is left for stock Hadoop, NameNode and DataNodes: it reads all that is in the folders, RAM included" {
    end_by_hand
    local daemon path
    for daemon in datanode-1 datanode-2 datanode-3 namenode; do ! at_work "$daemon" || end "$daemon"; done
    [ "$(find "$SHM" -name 'blk_*' ! -name '*.meta' -path '*/finalized/*' | wc -l)" -gt 0 ]
    for daemon in namenode datanode-1 datanode-2 datanode-3; do start_of "$STOCK" "$daemon"; done
    wait_until 180 live 3
    for path in /before /mixed /two /theirs; do
        wait_until 120 replicated "$path" 3
        they_hold "$path"
    done
    theirs hdfs fsck / | grep -q 'Status: HEALTHY'
    # No other DataNode can stand in for the one that is asked: each has a replica of each block.
    for path in /before /mixed /two /theirs; do theirs hdfs dfs -setrep 1 "$path"; done
    wait_until 120 one_replica_each
    for path in /before /mixed /two /theirs; do they_hold "$path"; done
}

at_work() { [ -e "$DIR/run/$1.pid" ] && kill -0 "$(pid_of "$DIR" "$1")" 2>/dev/null; }

live() { [ "$(theirs hdfs dfsadmin -report -live 2>/dev/null | grep -c '^Name:')" -eq "$1" ]; }

they_hold() { theirs hdfs dfs -cat "$1" | cmp - "$BATS_FILE_TMPDIR/file"; }

one_replica_each() { theirs hdfs fsck / | grep -q 'Average block replication:[[:space:]]*1\.0'; }
