#!/usr/bin/env bats
# Block data over the engine on a local cluster: forced for the whole demo, mixed with a tree that knows nothing of it, and
# with DataNodes that die. What went where is told by the daemons' own counters, never by the absence of an error.

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
    [ -z "${OTHER:-}" ] || kill "$OTHER" 2>/dev/null || true
    for dir in "$DIR" "$BATS_TEST_TMPDIR/demo/cluster"; do
        [ ! -d "$dir" ] || cluster stop --dir "$dir"
    done
}

# count DIR DAEMON COUNTER: a counter of block data over the engine, from the daemon's metrics; 0 if it keeps none.
count() {
    local port
    port=$(sed -n "s/^port\.$2\.http=//p" "$1/cluster.properties")
    python3 - "$port" "$3" <<'PYTHON'
import json, sys, urllib.request
port, counter = sys.argv[1:]
url = f"http://localhost:{port}/jmx?qry=Hadoop:service=*,name=HowdahHdfs"
with urllib.request.urlopen(url, timeout=30) as answer:
    beans = json.load(answer)["beans"]
print(beans[0][counter] if beans else 0)
PYTHON
}

# above DIR DAEMON COUNTER NUMBER
above() {
    local value
    value=$(count "$1" "$2" "$3")
    echo "# $2: $3 $value" >&3
    [ "$value" -gt "$4" ] || { echo "$2: $3 is $value, not above $4" && return 1; }
}

# nothing_past DIR DAEMON: no connection of the daemon went over a socket, at either end.
nothing_past() {
    local counter value
    for counter in ClientFallbacks ServerSockets; do
        value=$(count "$1" "$2" "$counter")
        [ "$value" -eq 0 ] || { echo "$2: $counter is $value" && return 1; }
    done
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

@test "the demo with block data forced over the engine: every DataNode and job uses it, nothing goes past it" {
    home=$BATS_TEST_TMPDIR/demo
    mkdir "$BATS_TEST_TMPDIR/text"
    cat "$ROOT"/docs/*/*.md >"$BATS_TEST_TMPDIR/text/one"
    run "$HOWDAH" demo --size 20m --dir "$home" --text "$BATS_TEST_TMPDIR/text" --keep "${FORCED[@]}"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(field "s['passed']" <"$home/demo.json")" = True ]
    for daemon in datanode-1 datanode-2 datanode-3; do
        above "$home/cluster" "$daemon" ServerConnections 0
        above "$home/cluster" "$daemon" BytesReceived 20000000
        nothing_past "$home/cluster" "$daemon"
    done
    "$HOWDAH" stat "$(pid_of "$home/cluster" datanode-1)" | awk '$1 == "streams.opened" && $2 > 0 { used = 1 } END { exit !used }'
}

@test "a DataNode that is killed during a write costs no byte, and comes back" {
    cluster start --dir "$DIR" --datanodes 3 --no-yarn "${FORCED[@]}" -D dfs.replication=3 \
        -D dfs.client.block.write.replace-datanode-on-failure.policy=NEVER
    file=$(data 24)
    { head -c 12M "$file" && sleep 5 && tail -c +$((12 * 1024 * 1024 + 1)) "$file"; } |
        with "$DIR" hdfs dfs -put - written &
    writer=$!
    begun() { [ "$(count "$DIR" datanode-2 BytesReceived)" -gt 5000000 ]; }
    wait_until 120 begun
    kill -9 "$(pid_of "$DIR" datanode-2)"
    wait "$writer"
    holds written "$file"
    cluster start --dir "$DIR"
    healthy() { with "$DIR" hdfs fsck /user | grep -q "Under-replicated blocks:[[:space:]]*0 "; }
    wait_until 180 healthy
    holds written "$file"
    for daemon in datanode-1 datanode-2 datanode-3; do nothing_past "$DIR" "$daemon"; done
    above "$DIR" datanode-2 BytesReceived 0
}

@test "clients and DataNodes that know nothing of the engine share a cluster with those that do" {
    cluster start --dir "$DIR" --datanodes 2 --no-yarn -D dfs.rdma.enabled=true -D dfs.replication=2
    file=$(data 5)
    stock hdfs dfs -put "$file" stock
    holds stock "$file"
    with "$DIR" hdfs dfs -put "$file" ours
    stock hdfs dfs -cat ours | cmp - "$file"
    above "$DIR" datanode-1 ServerSockets 0
    above "$DIR" datanode-1 ServerConnections 0

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
    kill "$OTHER"
    wait "$OTHER" || true
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
    # Without the option a client of ours is as one of theirs.
    [ "$(with "$DIR" hdfs dfs -cat fell-back)" = 'on stock' ]
}
