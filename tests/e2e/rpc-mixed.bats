#!/usr/bin/env bats
# Hadoop RPC over the engine on a local cluster, mixed with trees that know nothing of it.
# What went where is told by the daemons' own counters, never by the absence of an error.

bats_require_minimum_version 1.5.0

load lib

setup() {
    set_up_tree
    STOCK=$ROOT/build/stock
    [ -x "$STOCK/bin/hdfs" ] || { echo "there is no $STOCK: make stock" && return 1; }
    DIR=$BATS_TEST_TMPDIR/c
}

teardown() {
    [ -z "${OTHER:-}" ] || kill "$OTHER" 2>/dev/null || true # it may have ended
    [ ! -d "$DIR" ] || cluster stop --dir "$DIR"
}

# stock COMMAND...: a command of the tree without the engine, on the cluster in DIR.
stock() (
    eval "$(cluster env --dir "$DIR")"
    unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME HADOOP_YARN_HOME HADOOP_MAPRED_HOME SPARK_HOME
    "$STOCK/bin/$1" "${@:2}"
)

@test "a cluster with RPC over the engine by default serves clients and a DataNode that know nothing of it" {
    cluster start --dir "$DIR" --datanodes 2 --no-yarn
    over "$DIR" namenode ServerConnections
    [ "$(rpc "$DIR" namenode ServerSockets)" -eq 0 ]
    echo 'from stock' >"$BATS_TEST_TMPDIR/file"
    stock hdfs dfs -put "$BATS_TEST_TMPDIR/file" stock
    [ "$(with "$DIR" hdfs dfs -cat stock)" = 'from stock' ]
    counted "$DIR" namenode ServerSockets

    # The second DataNode becomes one of stock Hadoop's, with the same folder and ports.
    kill "$(pid_of "$DIR" datanode-2)"
    gone() { [ "$(state "$DIR" datanode-2)" = dead ]; }
    wait_until 30 gone
    before=$(rpc "$DIR" namenode ServerSockets)
    HADOOP_CONF_DIR=$DIR/conf/datanode-2 "$STOCK/bin/hdfs" datanode >"$BATS_TEST_TMPDIR/stock-datanode.log" 2>&1 3>&- &
    OTHER=$!
    both() { [ "$(with "$DIR" hdfs dfsadmin -report -live | grep -c '^Name: ')" -eq 2 ]; }
    registered() { [ "$(rpc "$DIR" namenode ServerSockets)" -gt "$before" ] && both; }
    wait_until 90 registered
    with "$DIR" hdfs dfs -D dfs.replication=2 -put "$BATS_TEST_TMPDIR/file" two
    [ "$(with "$DIR" hdfs dfs -cat two)" = 'from stock' ]
    kill "$OTHER"
    wait "$OTHER" || true # ended by our signal, which is its status
}

@test "against stock servers a client goes on over sockets, and says so once; a forced one refuses" {
    "$STOCK/bin/howdah" cluster start --dir "$DIR" --datanodes 1 --no-yarn
    echo 'on stock' >"$BATS_TEST_TMPDIR/file"
    run --separate-stderr with "$DIR" hdfs dfs -D hadoop.rdma.rpc.enabled=true -put "$BATS_TEST_TMPDIR/file" fell-back
    # shellcheck disable=SC2154 # bats's
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'goes over a socket' <<<"$stderr")" -eq 1 ]
    # By default nothing is said.
    run --separate-stderr with "$DIR" hdfs dfs -cat fell-back
    echo "$stderr"
    [ "$output" = 'on stock' ]
    [[ $stderr != *howdah* ]]
    # Forced is: required, or a transport by name.
    for force in hadoop.rdma.rpc.required=true hadoop.rdma.transport=shm; do
        run with "$DIR" hdfs dfs -D hadoop.rdma.rpc.enabled=true -D "$force" -ls /
        echo "$output"
        [ "$status" -ne 0 ]
        [[ $output == *'has to go over the engine'* ]]
        [[ $output == *"$(sed -n 's/^port\.namenode\.rpc=//p' "$DIR/cluster.properties")"* ]]
    done
    with "$DIR" hdfs dfs -D hadoop.rdma.enabled=false -test -e fell-back
}
