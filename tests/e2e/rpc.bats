#!/usr/bin/env bats
# Hadoop RPC over the engine under attack and under loss: hostile bytes, kill -9, thousands of reconnects. Servers and
# clients are real processes of the distribution. RPC_KILLS and RPC_RECONNECTS make the runs longer.

load lib

FORCED=(hadoop.rdma.rpc.enabled=true hadoop.rdma.rpc.required=true hadoop.rdma.transport=shm)

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
}

setup() { set_up_tree; }

teardown_file() {
    set_up_tree
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
}

# over_engine PROGRAM ARGUMENT...: with RPC of good clients forced over the engine.
over_engine() {
    python3 "$BATS_TEST_DIRNAME/$1" --tree "$TREE" --folder "$BATS_TEST_TMPDIR" "${FORCED[@]/#/--setting=}" "${@:2}"
}

hostile() { over_engine rpc_hostile.py "$@"; }

soak() { over_engine rpc_soak.py "$@"; }

# namenode_port DIR
namenode_port() { with "$1" hdfs getconf -confKey fs.defaultFS | tail -n 1 | sed 's/.*://'; }

@test "hostile bytes cost an RPC server one connection and a few log lines each" {
    run hostile --connections 200
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "kill -9 of servers and clients: calls come back or name the host, none hangs, nothing is kept" {
    local kills=2 reconnects=200
    if [ -n "${E2E_SLOW:-}" ]; then kills=20 reconnects=10000; fi
    run soak --kills "${RPC_KILLS:-$kills}" --reconnects "${RPC_RECONNECTS:-$reconnects}"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a NameNode that meets hostile bytes goes on serving" {
    cluster start --dir "$DIR" --datanodes 1 --no-yarn "${FORCED[@]/#/-D}"
    echo 'still here' >"$BATS_TEST_TMPDIR/file"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/file" kept
    run hostile --port "$(namenode_port "$DIR")" --log "$(namenode_log)" --connections 100
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'still here' ]
    counted "$DIR" namenode ServerConnections
    [ "$(state "$DIR" namenode)" = ready ]
}

namenode_log() { ls "$DIR"/logs/*namenode*.log; }

@test "howdah bench rpc measures, and writes figures and plots" {
    cd "$BATS_TEST_TMPDIR"
    "$HOWDAH" bench rpc --rounds 2 --iterations 40 --sizes 1,1k --clients 1,4 --handlers 2,1 --seconds 0.2 --warm-up 0 --settle 0.2 \
        --jvm-options -Xmx128m --json figures --html page --profile
    python3 - <<'PY'
import json
document = json.load(open("figures"))
measures = {(s["measure"], s["bytes"], s["clients"], s["handlers"]) for s in document["samples"]}
assert ("latency", 1024, 1, 2) in measures and ("throughput", 32768, 4, 1) in measures, measures
assert all(s["values"]["mean"] > 0 for s in document["samples"] if s["measure"] in ("latency", "type"))
assert document["conditions"]["calls_a_round"]["1 B"] == 40 and document["conditions"]["kernel"]
assert any("client" in name for name in document["profiles"])
PY
    grep -q '<svg' page
}

@test "howdah bench rpc with a server of another process, and with one that is not there" {
    mkfifo "$BATS_TEST_TMPDIR/hold"
    "$HOWDAH" bench rpc --listen 0 --handlers 2 <"$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/out" 3>&- &
    exec 9>"$BATS_TEST_TMPDIR/hold"
    serving() { grep -q 'serving on' "$BATS_TEST_TMPDIR/out"; }
    wait_until 60 serving
    address=$(sed -n 's/^serving on \([^ ]*\) .*/\1/p' "$BATS_TEST_TMPDIR/out")
    "$HOWDAH" bench rpc --connect "$address" --rounds 1 --settle 0 --iterations 20 --sizes 64 --measure latency >"$BATS_TEST_TMPDIR/table"
    exec 9>&-
    wait
    grep -qE '^this +protobuf +64 +10 ' "$BATS_TEST_TMPDIR/table"
    run "$HOWDAH" bench rpc --connect "$address" --rounds 1 --measure latency -D ipc.client.connect.max.retries=0
    [ "$status" -eq 1 ]
    [[ $output == *"error: "*"localhost:${address#*:}"* ]]
}

@test "howdah bench rpc refuses what makes no sense" {
    for words in '--rounds 0' '--sizes 1x' '--type fish' '--measure nothing' '--connect here' '--transport warp' \
        '--seconds 0' '--handlers 0'; do
        # shellcheck disable=SC2086 # two words
        run "$HOWDAH" bench rpc $words
        [ "$status" -eq 2 ] || { echo "$words: $status $output"; false; }
    done
}
