# shellcheck shell=bash
# What the end-to-end tests share: the tree under test, and ways to ask a cluster. Loaded by bats.

# JVMs of tests live for seconds, of which the second compiler takes the larger part; `make e2e-slow` has both, as users have.
ONE_COMPILER=-XX:TieredStopAtLevel=1
[ -z "${E2E_SLOW:-}" ] || ONE_COMPILER=''

set_up_tree() {
    # shellcheck disable=SC2154 # BATS_TEST_DIRNAME is bats's
    ROOT=$(cd -- "$BATS_TEST_DIRNAME/../.." && pwd)
    # shellcheck source=/dev/null
    . "$ROOT/build/bom.env"
    # shellcheck source=/dev/null
    . "$ROOT/build/prepare.env"
    export JAVA_HOME
    TREE=${E2E_TREE:-$ROOT/build/dist/howdah-$HOWDAH_VERSION}
    HOWDAH=$TREE/bin/howdah
    unset HADOOP_CONF_DIR YARN_CONF_DIR SPARK_CONF_DIR HADOOP_HOME SPARK_HOME
    export TREE HOWDAH
    export HADOOP_OPTS=$ONE_COMPILER SPARK_DAEMON_JAVA_OPTS=$ONE_COMPILER SPARK_SUBMIT_OPTS=$ONE_COMPILER
}

# slow: what takes minutes is left to `make e2e-slow`.
slow() { [ -n "${E2E_SLOW:-}" ] || skip "takes minutes: make e2e-slow"; }

cluster() { "$HOWDAH" cluster "$@"; }

# field JSON-EXPRESSION: a value of `status --json`, which comes on standard input; the expression sees it as s.
field() { python3 -c 'import json, sys; s = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

# state DIR DAEMON: ready, not ready, dead or stopped.
state() {
    cluster status --json --dir "$1" | field "[d['state'] for d in s['daemons'] if d['daemon'] == '$2'][0]" || true
}

pid_of() { cut -d' ' -f1 "$1/run/$2.pid"; }

# processes_of DIR: pids of live processes that work in the folder.
processes_of() {
    local process
    for process in /proc/[0-9]*; do
        { tr '\0' '\n' <"$process/environ"; } 2>/dev/null | grep -qF -e "HADOOP_CONF_DIR=$1/" || continue
        echo "${process#/proc/}"
    done
}

# wait_until SECONDS COMMAND...: asks every half second.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.5
    done
}

# with DIR COMMAND...: a command of the tree on the cluster, as its user's shell would run it.
with() (
    local dir=$1
    shift
    eval "$(cluster env --dir "$dir")"
    "$TREE/bin/$1" "${@:2}"
)

# metric DIR DAEMON SOURCE COUNTER: a counter of the daemon's metrics; 0 if it keeps none. What JMX shows may be ten seconds old.
metric() {
    local port
    port=$(sed -n "s/^port\.$2\.http=//p" "$1/cluster.properties")
    python3 - "$port" "$3" "$4" <<'PYTHON'
import json, sys, urllib.request
port, source, counter = sys.argv[1:]
url = f"http://localhost:{port}/jmx?qry=Hadoop:service=*,name={source}"
with urllib.request.urlopen(url, timeout=30) as answer:
    beans = json.load(answer)["beans"]
print(beans[0][counter] if beans else 0)
PYTHON
}

more_than() { [ "$(metric "${@:2}")" -gt "$1" ]; }

# above NUMBER DIR DAEMON SOURCE COUNTER: the counter is or becomes so.
above() {
    wait_until 60 more_than "$@" || { echo "$3: $5 is $(metric "${@:2}"), not above $1" && return 1; }
    echo "# $3: $5 $(metric "${@:2}")" >&3
}

# nothing_past DIR SOURCE DAEMON...: no connection of these went over a socket, at either end.
nothing_past() {
    local daemon counter count counters=(ClientFallbacks ServerSockets)
    [ "$2" != HowdahRpc ] || counters+=(ClientSockets)
    sleep 11 # what JMX shows now may be as old
    for daemon in "${@:3}"; do
        for counter in "${counters[@]}"; do
            count=$(metric "$1" "$daemon" "$2" "$counter")
            [ "$count" -eq 0 ] || { echo "$daemon: $counter is $count" && return 1; }
        done
    done
}

# rpc DIR DAEMON COUNTER: of RPC over the engine.
rpc() { metric "$1" "$2" HowdahRpc "$3"; }

positive() { [ "$(rpc "$@")" -gt 0 ]; }

# counted DIR DAEMON COUNTER: the counter is above 0. Waits: what JMX shows may be ten seconds old.
counted() {
    wait_until 30 positive "$@" || { echo "$2: $3 is $(rpc "$@")" && return 1; }
}

# over DIR DAEMON COUNTER: the daemon has RPC connections over the engine, and its engine says so too.
over() {
    counted "$@" || return
    echo "# $2: $3 $(rpc "$@")" >&3
    "$HOWDAH" stat "$(pid_of "$1" "$2")" | awk '$1 == "streams.opened" && $2 > 0 { used = 1 } END { exit !used }'
}

# data MEGABYTES: a file of that size, whose every byte counts.
data() {
    head -c "$1M" /dev/urandom >"$BATS_TEST_TMPDIR/data"
    echo "$BATS_TEST_TMPDIR/data"
}

# holds DIR PATH FILE: the file in the cluster's HDFS has the local one's bytes.
holds() { with "$1" hdfs dfs -cat "$2" | cmp - "$3"; }
