#!/usr/bin/env bats
# The demo with Hadoop RPC forced over the engine.
# What went where is told by the daemons' own counters, never by the absence of an error.

load lib

FORCED=(-D hadoop.rdma.rpc.enabled=true -D hadoop.rdma.rpc.required=true -D hadoop.rdma.transport=shm)

setup() {
    set_up_tree
}

teardown() {
    [ ! -d "$BATS_TEST_TMPDIR/demo/cluster" ] || cluster stop --dir "$BATS_TEST_TMPDIR/demo/cluster"
}

# nothing_past DIR DAEMON: no connection of the daemon went over a socket, at either end.
nothing_past() {
    local counter count
    for counter in ClientFallbacks ClientSockets ServerSockets; do
        count=$(rpc "$1" "$2" "$counter")
        [ "$count" -eq 0 ] || { echo "$2: $counter is $count" && return 1; }
    done
}

@test "the demo with RPC forced over the engine: every daemon and job uses it, nothing goes past it" {
    slow
    home=$BATS_TEST_TMPDIR/demo
    mkdir "$BATS_TEST_TMPDIR/text"
    cat "$ROOT"/docs/*/*.md >"$BATS_TEST_TMPDIR/text/one"
    run "$HOWDAH" demo --size 20m --dir "$home" --text "$BATS_TEST_TMPDIR/text" --keep "${FORCED[@]}"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(field "s['passed'], len(s['rows'])" <"$home/demo.json")" = '(True, 7)' ]
    dir=$home/cluster
    for daemon in namenode resourcemanager nodemanager-1 nodemanager-2; do over "$dir" "$daemon" ServerConnections; done
    for daemon in datanode-1 datanode-2 datanode-3 nodemanager-1 nodemanager-2 historyserver; do
        over "$dir" "$daemon" ClientConnections
    done
    for daemon in namenode datanode-1 datanode-2 datanode-3 resourcemanager nodemanager-1 nodemanager-2 historyserver; do
        nothing_past "$dir" "$daemon"
    done
    # An ApplicationMaster is gone by now. It serves its tasks: its log says over what.
    masters=$(find "$dir/logs" -path '*/container_*_000001/syslog' | wc -l)
    served=$(find "$dir/logs" -path '*/container_*_000001/syslog' -exec grep -l 'io.howdah.rpc: RPC over' {} + | wc -l)
    echo "# ApplicationMasters: $masters, with RPC over the engine: $served" >&3
    [ "$masters" -gt 0 ]
    [ "$served" -eq "$masters" ]
}
