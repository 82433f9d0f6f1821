#!/usr/bin/env bats
# Block data over the engine on a local cluster: with DataNodes that die. (Mixed clusters: mixed.bats.)
# What went where is told by the daemons' own counters, never by the absence of an error. (The demo: rpc-forced.bats.)

bats_require_minimum_version 1.5.0

load lib

FORCED=(-D dfs.rdma.enabled=true -D dfs.rdma.required=true -D hadoop.rdma.transport=shm)

setup() {
    set_up_tree
    DIR=$BATS_TEST_TMPDIR/c
}

teardown() {
    [ ! -d "$DIR" ] || cluster stop --dir "$DIR"
}

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
    holds "$DIR" written "$file"
    cluster start --dir "$DIR"
    healthy() { with "$DIR" hdfs fsck /user | grep -q "Under-replicated blocks:[[:space:]]*0 "; }
    wait_until 180 healthy
    holds "$DIR" written "$file"
    nothing_past "$DIR" HowdahHdfs datanode-{1,2,3}
    above 0 "$DIR" datanode-2 HowdahHdfs BytesReceived

    # All replicas at once: each DataNode has the bytes from the client, and none sends them on.
    hops=$(total ClientConnections) sum=()
    for i in 1 2 3; do sum[i]=$(metric "$DIR" "datanode-$i" HowdahHdfs BytesReceived); done
    with "$DIR" hdfs dfs -D dfs.replication.parallel.enabled=true -put "$file" at-once
    for i in 1 2 3; do above $((sum[i] + 24 * 1024 * 1024)) "$DIR" "datanode-$i" HowdahHdfs BytesReceived; done
    [ "$(total ClientConnections)" -eq "$hops" ]
    holds "$DIR" at-once "$file"
}
