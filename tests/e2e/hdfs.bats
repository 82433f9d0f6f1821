#!/usr/bin/env bats
# Block data over the engine on a local cluster: with DataNodes that die, and mixed with a tree that knows nothing of it.
# What went where is told by the daemons' own counters, never by the absence of an error. (The demo: rpc-forced.bats.)

bats_require_minimum_version 1.5.0

load lib

FORCED=(-D dfs.rdma.enabled=true -D dfs.rdma.required=true -D hadoop.rdma.transport=shm)

setup() {
    set_up_tree
    STOCK=$ROOT/build/stock
    [ -x "$STOCK/bin/hdfs" ] || { echo "there is no $STOCK: make stock" && return 1; }
    DIR=$BATS_TEST_TMPDIR/c
}

teardown() {
    [ -z "${OTHER:-}" ] || kill "$OTHER" 2>/dev/null || true # it may have ended with its test
    [ ! -d "$DIR" ] || cluster stop --dir "$DIR"
    [ ! -d "${THEIRS:-}" ] || cluster stop --dir "$THEIRS"
}

# stock COMMAND...: a command of the tree without the engine, on the cluster in DIR.
stock() (
    eval "$(cluster env --dir "$DIR")"
    unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME HADOOP_YARN_HOME HADOOP_MAPRED_HOME SPARK_HOME
    "$STOCK/bin/$1" "${@:2}"
)

# data MEGABYTES: a file of that size, whose every byte counts.
data() {
    head -c "$1M" /dev/urandom >"$BATS_TEST_TMPDIR/data"
    echo "$BATS_TEST_TMPDIR/data"
}

# holds PATH FILE: the file in HDFS has the local one's bytes.
holds() { with "$DIR" hdfs dfs -cat "$1" | cmp - "$2"; }

# total COUNTER: of the three DataNodes.
total() { for i in 1 2 3; do metric "$DIR" "datanode-$i" HowdahHdfs "$1"; done | awk "{ s += \$1 } END { print s }"; }

@test "a DataNode that is killed during a write costs no byte, and comes back; all replicas at once" {
    # A DataNode that was given up before it comes back keeps its half replica for good, if it is the only place left
    # (HDFS-15200): on a busy machine it would be. So nobody gives it up.
    cluster start --dir "$DIR" --datanodes 3 --no-yarn "${FORCED[@]}" -D dfs.replication=3 \
        -D dfs.namenode.heartbeat.recheck-interval=600000 \
        -D dfs.client.block.write.replace-datanode-on-failure.policy=NEVER \
        -D dfs.namenode.replication.pending.timeout-sec=10 # a replica that was asked of the dead DataNode
    file=$(data 24)
    # The second half waits until the DataNode is dead.
    {
        head -c 12M "$file"
        until [ -e "$BATS_TEST_TMPDIR/killed" ]; do sleep 0.2; done
        tail -c +$((12 * 1024 * 1024 + 1)) "$file"
    } | with "$DIR" hdfs dfs -put - written &
    writer=$!
    above 5000000 "$DIR" datanode-2 HowdahHdfs BytesReceived
    kill -9 "$(pid_of "$DIR" datanode-2)"
    touch "$BATS_TEST_TMPDIR/killed"
    wait "$writer"
    holds written "$file"
    cluster start --dir "$DIR"
    healthy() { with "$DIR" hdfs fsck /user | grep -q "Under-replicated blocks:[[:space:]]*0 "; }
    wait_until 180 healthy
    holds written "$file"
    nothing_past "$DIR" HowdahHdfs datanode-{1,2,3}
    above 0 "$DIR" datanode-2 HowdahHdfs BytesReceived

    # All replicas at once: each DataNode has the bytes from the client, and none sends them on.
    hops=$(total ClientConnections) sum=()
    for i in 1 2 3; do sum[i]=$(metric "$DIR" "datanode-$i" HowdahHdfs BytesReceived); done
    with "$DIR" hdfs dfs -D dfs.replication.parallel.enabled=true -put "$file" at-once
    for i in 1 2 3; do above $((sum[i] + 24 * 1024 * 1024)) "$DIR" "datanode-$i" HowdahHdfs BytesReceived; done
    [ "$(total ClientConnections)" -eq "$hops" ]
    holds at-once "$file"
}

@test "clients and DataNodes that know nothing of the engine share a cluster with those that do" {
    cluster start --dir "$DIR" --datanodes 2 --no-yarn -D dfs.replication=2 # the engine is on by default
    file=$(data 5)
    stock hdfs dfs -put "$file" stock
    holds stock "$file"
    with "$DIR" hdfs dfs -put "$file" ours
    stock hdfs dfs -cat ours | cmp - "$file"
    # Which of the two the stock client spoke to is the NameNode's choice.
    by_socket() { more_than 0 "$DIR" datanode-1 HowdahHdfs ServerSockets || more_than 0 "$DIR" datanode-2 HowdahHdfs ServerSockets; }
    wait_until 60 by_socket
    above 0 "$DIR" datanode-1 HowdahHdfs ServerConnections

    # The second DataNode becomes one of stock Hadoop's, with the same folder and ports.
    kill "$(pid_of "$DIR" datanode-2)"
    gone() { [ "$(state "$DIR" datanode-2)" = dead ]; }
    wait_until 60 gone
    HADOOP_CONF_DIR=$DIR/conf/datanode-2 "$STOCK/bin/hdfs" datanode >"$BATS_TEST_TMPDIR/stock-datanode.log" 2>&1 3>&- &
    OTHER=$!
    with "$DIR" hdfs dfs -mkdir -p mixed
    mixed() {
        with "$DIR" hdfs dfs -put -f "$file" mixed/file && holds mixed/file "$file" &&
            with "$DIR" hdfs fsck /user/"$(id -un)"/mixed | grep -q 'Average block replication:[[:space:]]*2'
    }
    wait_until 180 mixed
    run ! grep 'DataXceiver error processing unknown' "$BATS_TEST_TMPDIR/stock-datanode.log"
    kill "$OTHER"
    wait "$OTHER" || true # its status is the signal's
}

@test "with stock DataNodes a client goes on over sockets, and says so once; a forced one refuses" {
    "$STOCK/bin/howdah" cluster start --dir "$DIR" --datanodes 1 --no-yarn
    echo 'on stock' >"$BATS_TEST_TMPDIR/file"
    run --separate-stderr with "$DIR" hdfs dfs -D dfs.rdma.enabled=true -put "$BATS_TEST_TMPDIR/file" fell-back
    # shellcheck disable=SC2154 # bats's
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'goes over a socket' <<<"$stderr")" -eq 1 ]
    run with "$DIR" hdfs dfs -D dfs.rdma.enabled=true -cat fell-back
    [[ $output == *'on stock'* ]]
    # Forced is: required, or a transport by name.
    for force in dfs.rdma.required=true hadoop.rdma.transport=shm; do
        run with "$DIR" hdfs dfs -D dfs.rdma.enabled=true -D "$force" -D dfs.client.max.block.acquire.failures=0 -cat fell-back
        echo "$output"
        [ "$status" -ne 0 ]
        [[ $output == *'has to go over the engine'* ]]
    done
    # By default a client of ours tries, and says nothing of it.
    run --separate-stderr with "$DIR" hdfs dfs -cat fell-back
    echo "$stderr"
    [ "$output" = 'on stock' ]
    [[ $stderr != *socket* && $stderr != *owdah* ]]
    # What clients ask before a greeting is no error to the stock DataNode. (Its JMX may complain of early questions.)
    run ! grep -E 'ERROR datanode|DataXceiver error' "$DIR/logs/datanode-1.log"
}

@test "distcp copies between a cluster of stock Hadoop and one with the engine, both ways" {
    slow
    cluster start --dir "$DIR" --datanodes 2 --no-yarn -D dfs.rdma.enabled=true -D dfs.replication=2
    THEIRS=$BATS_TEST_TMPDIR/theirs
    "$STOCK/bin/howdah" cluster start --dir "$THEIRS" --datanodes 1 --no-yarn
    file=$(data 5)
    home() { with "$1" hdfs getconf -confKey fs.defaultFS 2>/dev/null | tail -n 1; }
    ours=$(home "$DIR") theirs=$(home "$THEIRS")
    with "$DIR" hdfs dfs -put "$file" /from-ours
    distcp() { with "$DIR" hadoop distcp -D mapreduce.framework.name=local -D dfs.rdma.enabled=true "$@"; }
    distcp "$ours/from-ours" "$theirs/copied"
    distcp "$theirs/copied" "$ours/back"
    holds /back "$file"
    with "$THEIRS" hdfs dfs -cat /copied | cmp - "$file"
    # Ours went over the engine, and only what is theirs over sockets: a put, a copy out and one in, with a replica each.
    nothing_past "$DIR" HowdahHdfs datanode-{1,2}
    bytes=$(($(metric "$DIR" datanode-1 HowdahHdfs BytesReceived) + $(metric "$DIR" datanode-2 HowdahHdfs BytesReceived)))
    [ "$bytes" -gt $((4 * 5 * 1024 * 1024)) ]
}
