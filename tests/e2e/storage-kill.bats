#!/usr/bin/env bats
# DataNodes of each storage mode are killed at moments by seed while clients write: what was acknowledged is read back.
# E2E_SEED repeats a run, E2E_ROUNDS has more of them.

bats_require_minimum_version 1.5.0

load lib

setup() {
    slow
    set_up_tree
    DIR=$BATS_TEST_TMPDIR/c
    SHM=$(mktemp -d /dev/shm/howdah-storage-test-XXXXXX)
    RANDOM=${E2E_SEED:-42}
}

teardown() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
    rm -rf "${SHM:?}"
}

there() { with "$DIR" "$@"; }

# files ROUND: twelve files, of one to four blocks.
files() {
    local i
    mkdir "$BATS_TEST_TMPDIR/$1"
    for i in {1..12}; do head -c "$((1 + RANDOM * 100))" /dev/urandom >"$BATS_TEST_TMPDIR/$1/file$i"; done
}

# written ROUND: how many of them have their own names in HDFS, which a file gets when it was closed.
written() { there hdfs dfs -ls "/$1" | grep -c '/file[0-9]*$' || true; }

# holds_all ROUND: these are whole.
holds_all() {
    local copy=$BATS_TEST_TMPDIR/copy path
    rm -rf "$copy"
    mkdir "$copy"
    there hdfs dfs -get "/$1/file*[0-9]" "$copy" || return 1
    for path in "$copy"/*; do cmp "$path" "$BATS_TEST_TMPDIR/$1/${path##*/}" || return 1; done
}

# kill_while_writing ROUND: one DataNode after another is killed and comes back while files are written.
kill_while_writing() {
    local killed count
    files "$1"
    there hdfs dfs -mkdir "/$1"
    there hdfs dfs -put "$BATS_TEST_TMPDIR/$1"/file* "/$1" >"$BATS_TEST_TMPDIR/$1.log" 2>&1 3>&- &
    local writer=$!
    for killed in $((RANDOM % 3 + 1)) $((RANDOM % 3 + 1)); do
        sleep "$((RANDOM % 5)).$((RANDOM % 10))"
        kill -9 "$(pid_of "$DIR" "datanode-$killed")"
        echo "# round $1: datanode-$killed" >&3
        cluster start --dir "$DIR"
    done
    # In HHH-L a block that is being written is on one node, as in stock Hadoop with one replica.
    wait "$writer" || [ "$ONE_REPLICA" = yes ] || { cat "$BATS_TEST_TMPDIR/$1.log" && return 1; }
    count=$(written "$1")
    echo "# round $1: $count of 12 files were written" >&3
    [ "$count" -eq 12 ] || [ "$ONE_REPLICA" = yes ]
    [ "$count" -eq 0 ] || wait_until 180 holds_all "$1"
}

# is_killed OPTION...: a cluster in a mode, whose replicas leave RAM while more are written.
is_killed() {
    local round
    cluster start --dir "$DIR" --datanodes 3 --no-yarn --no-history --ram "$SHM" "$@" -D dfs.blocksize=1048576 \
        -D dfs.rdma.memory.capacity=24m -D dfs.rdma.mover.interval=100 -D dfs.rdma.lustre.member.timeout=5000 \
        -D dfs.client.block.write.replace-datanode-on-failure.best-effort=true
    for ((round = 1; round <= ${E2E_ROUNDS:-3}; round++)); do kill_while_writing "$round"; done
    # All at once, and RAM stays.
    for round in 1 2 3; do kill -9 "$(pid_of "$DIR" "datanode-$round")"; done
    cluster start --dir "$DIR"
    for ((round = 1; round <= ${E2E_ROUNDS:-3}; round++)); do
        [ "$(written "$round")" -eq 0 ] || wait_until 180 holds_all "$round"
    done
}

@test "HHH: DataNodes are killed while files are written, and all of these are read back" {
    ONE_REPLICA=no is_killed --mode hhh --ssd "$BATS_TEST_TMPDIR/ssd"
}

@test "HHH-M: DataNodes are killed while files are written, and all of these are read back" {
    ONE_REPLICA=no is_killed --mode hhh-m
}

@test "HHH-L: DataNodes are killed while files are written, and all that were closed are read back" {
    mkdir "$BATS_TEST_TMPDIR/shared"
    ONE_REPLICA=yes is_killed --mode hhh-l --shared "$BATS_TEST_TMPDIR/shared"
}
