#!/usr/bin/env bats
# Spark's block transfer over the engine: real executors of a standalone cluster, whose own counters say how blocks
# came.

load lib

setup_file() {
    set_up_tree
    export SPARK_LOCAL_IP=127.0.0.1
    export ENGINE='--conf spark.shuffle.rdma.enabled=true'
    export FORCED="$ENGINE --conf spark.shuffle.rdma.transport=shm"
}

setup() {
    set_up_tree
    PIDS=()
    WORK=$BATS_TEST_TMPDIR/work
    mkdir -p "$WORK"
}

teardown() {
    if [ ${#PIDS[@]} -gt 0 ]; then kill "${PIDS[@]}" 2>/dev/null || true; fi
}

# daemon NAME CLASS ARGUMENT...: in the background, its output in $WORK/NAME.log.
daemon() {
    "$TREE/bin/spark-class" "${@:2}" >"$WORK/$1.log" 2>&1 3>&- &
    PIDS+=($!)
}

# standalone [VARIABLE=VALUE]: a master and two workers of one core; the variable is the second worker's only.
standalone() {
    local port
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    MASTER=spark://127.0.0.1:$port
    daemon master org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0
    wait_until 120 grep -q 'Successfully started service .sparkMaster' "$WORK/master.log"
    worker 1
    (($# == 0)) || export "${1?}"
    worker 2
    (($# == 0)) || unset "${1%%=*}"
    wait_until 120 both_workers
}

worker() {
    daemon "worker$1" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --port 0 --webui-port 0 -c 1 -m 1g \
        -d "$WORK/w$1" "$MASTER"
}

both_workers() { [ "$(grep -c 'Registering worker' "$WORK/master.log")" -ge 2 ]; }

# submit JOB ARGUMENT...: with the words of $OPTIONS.
submit() {
    # shellcheck disable=SC2086 # words
    "$TREE/bin/spark-submit" --master "$MASTER" --executor-memory 512m --conf spark.ui.enabled=false $OPTIONS \
        --class "io.howdah.examples.spark.$1" "$TREE"/jars/howdah-examples-*.jar "${@:2}" >"$WORK/out" 2>"$WORK/driver.log" || {
        tail -n 50 "$WORK/driver.log"
        return 1
    }
    cat "$WORK/out"
}

executor_logs() { cat "$WORK"/w*/app-*/*/stderr; }

# fetched netty|engine: blocks that executors fetched that way, by the lines they log as they end.
fetched() {
    local column=1
    [ "$1" = engine ] || column=2
    executor_logs | sed -nE 's/.*Block transfer fetched ([0-9]+) blocks.* and ([0-9]+) of [0-9]+ bytes over Netty.*/\1 \2/p' |
        awk -v c="$column" '{ sum += $c; lines++ } END { print lines ? sum : "no line" }'
}

ended() { [ "$(executor_logs | grep -c 'Block transfer fetched')" -ge "$1" ]; }

@test "every shuffled block of a standalone cluster comes over the engine, none over Netty" {
    standalone
    for job in GroupByTest SortByTest; do
        rm -rf "$WORK"/w*/app-*
        OPTIONS=$FORCED submit "$job" 6 2000 4092 5
        wait_until 30 ended 2
        [ "$(fetched engine)" -gt 0 ]
        [ "$(fetched netty)" -eq 0 ]
        executor_logs | grep -q 'come over .* over shm'
    done
}

@test "an executor without the engine is served over Netty, and counted" {
    standalone HOWDAH_ENGINE=off
    OPTIONS=$ENGINE submit GroupByTest 6 2000 4092 5
    wait_until 30 ended 1
    [ "$(fetched netty)" -gt 0 ]
    executor_logs | grep -q 'Block transfer uses Netty: '
    executor_logs | grep -qE 'Block transfer fetched .* [1-9][0-9]* fallbacks'
}

@test "without the option nothing of it is used" {
    standalone
    OPTIONS='' submit GroupByTest 4 500 4092 4
    run ! grep -r 'Block transfer' "$WORK" --include stderr --include driver.log
}
