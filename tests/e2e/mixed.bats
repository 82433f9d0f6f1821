#!/usr/bin/env bats
# RPC and block data on clusters that stock Hadoop shares with ours, each side with its defaults.
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
    [ -z "${OTHER:-}" ] || kill "$OTHER" 2>/dev/null || true # it may have ended with its test
    [ ! -d "$DIR" ] || cluster stop --dir "$DIR"
    [ ! -d "${THEIRS:-}" ] || cluster stop --dir "$THEIRS"
}

# stock COMMAND...: a command of stock Hadoop's tree on the cluster in DIR.
stock() (
    eval "$(cluster env --dir "$DIR")"
    unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME HADOOP_YARN_HOME HADOOP_MAPRED_HOME SPARK_HOME
    "$STOCK/bin/$1" "${@:2}"
)

@test "a cluster of ours serves stock clients and a stock DataNode" {
    cluster start --dir "$DIR" --datanodes 2 --no-yarn -D dfs.replication=2 # the engine is on by default
    over "$DIR" namenode ServerConnections
    [ "$(rpc "$DIR" namenode ServerSockets)" -eq 0 ]
    file=$(data 5)
    stock hdfs dfs -put "$file" stock
    holds "$DIR" stock "$file"
    with "$DIR" hdfs dfs -put "$file" ours
    stock hdfs dfs -cat ours | cmp - "$file"
    counted "$DIR" namenode ServerSockets
    # Which of the two the stock client spoke to is the NameNode's choice.
    by_socket() { more_than 0 "$DIR" datanode-1 HowdahHdfs ServerSockets || more_than 0 "$DIR" datanode-2 HowdahHdfs ServerSockets; }
    wait_until 60 by_socket
    above 0 "$DIR" datanode-1 HowdahHdfs ServerConnections

    # The second DataNode becomes one of stock Hadoop's, with the same folder and ports.
    kill "$(pid_of "$DIR" datanode-2)"
    gone() { [ "$(state "$DIR" datanode-2)" = dead ]; }
    wait_until 60 gone
    before=$(rpc "$DIR" namenode ServerSockets)
    HADOOP_CONF_DIR=$DIR/conf/datanode-2 "$STOCK/bin/hdfs" datanode >"$BATS_TEST_TMPDIR/stock-datanode.log" 2>&1 3>&- &
    OTHER=$!
    registered() { [ "$(rpc "$DIR" namenode ServerSockets)" -gt "$before" ]; }
    wait_until 180 registered
    with "$DIR" hdfs dfs -mkdir -p mixed
    mixed() {
        with "$DIR" hdfs dfs -put -f "$file" mixed/file && holds "$DIR" mixed/file "$file" &&
            with "$DIR" hdfs fsck /user/"$(id -un)"/mixed | grep -q 'Average block replication:[[:space:]]*2'
    }
    wait_until 180 mixed
    run ! grep 'DataXceiver error processing unknown' "$BATS_TEST_TMPDIR/stock-datanode.log"
    kill "$OTHER"
    wait "$OTHER" || true # its status is the signal's
}

# refuses OPTION...: a client for which the options force the engine fails by name; its words are in $output.
refuses() {
    run with "$DIR" hdfs dfs "$@"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'has to go over the engine'* ]]
}

@test "against stock servers a client goes on over sockets, and says so once; a forced one refuses" {
    "$STOCK/bin/howdah" cluster start --dir "$DIR" --datanodes 1 --no-yarn
    echo 'on stock' >"$BATS_TEST_TMPDIR/file"
    # With RPC's switch first, so that each has its file.
    for switch in hadoop.rdma.rpc.enabled dfs.rdma.enabled; do
        run --separate-stderr with "$DIR" hdfs dfs -D "$switch=true" -put "$BATS_TEST_TMPDIR/file" "$switch"
        # shellcheck disable=SC2154 # bats's
        echo "$stderr"
        [ "$status" -eq 0 ]
        [ "$(grep -c 'goes over a socket' <<<"$stderr")" -eq 1 ]
    done
    # By default a client of ours tries, and says nothing of it.
    run --separate-stderr with "$DIR" hdfs dfs -cat dfs.rdma.enabled
    echo "$stderr"
    [ "$output" = 'on stock' ]
    [[ $stderr != *socket* && $stderr != *owdah* ]]
    # Forced is: required, or a transport by name.
    for force in hadoop.rdma.rpc.required=true hadoop.rdma.transport=shm; do
        refuses -D hadoop.rdma.rpc.enabled=true -D "$force" -ls /
        [[ $output == *"$(sed -n 's/^port\.namenode\.rpc=//p' "$DIR/cluster.properties")"* ]]
    done
    for force in dfs.rdma.required=true hadoop.rdma.transport=shm; do
        refuses -D dfs.rdma.enabled=true -D "$force" -D dfs.client.max.block.acquire.failures=0 -cat dfs.rdma.enabled
    done
    with "$DIR" hdfs dfs -D hadoop.rdma.enabled=false -test -e dfs.rdma.enabled
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
    holds "$DIR" /back "$file"
    with "$THEIRS" hdfs dfs -cat /copied | cmp - "$file"
    # Ours went over the engine, and only what is theirs over sockets: a put, a copy out and one in, with a replica each.
    nothing_past "$DIR" HowdahHdfs datanode-{1,2}
    bytes=$(($(metric "$DIR" datanode-1 HowdahHdfs BytesReceived) + $(metric "$DIR" datanode-2 HowdahHdfs BytesReceived)))
    [ "$bytes" -gt $((4 * 5 * 1024 * 1024)) ]
}
