#!/usr/bin/env bats
# Spark's block transfer over the engine: real executors of standalone clusters and of YARN, whose own counters say how
# blocks came. A cluster without anything special is shared by the tests that need no other.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    export SPARK_LOCAL_IP=127.0.0.1 SHARED=$BATS_FILE_TMPDIR/shared DIR=$BATS_FILE_TMPDIR/c
    export ENGINE='--conf spark.shuffle.rdma.enabled=true'
    export FORCED="$ENGINE --conf spark.shuffle.rdma.transport=shm"
    # A worker stops copying its executors' output as it ends them; so they have a file of their own.
    export LOG4J=$BATS_FILE_TMPDIR/log4j.properties
    cat "$TREE/etc/spark/log4j.properties" - >"$LOG4J" <<'PROPERTIES'
log4j.logger.io.howdah.spark=INFO, blocks
log4j.appender.blocks=org.apache.log4j.FileAppender
log4j.appender.blocks.File=blocks.log
log4j.appender.blocks.layout=org.apache.log4j.PatternLayout
log4j.appender.blocks.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
PROPERTIES
    PIDS=()
    standalone "$SHARED" || {
        stop_daemons "${PIDS[@]}" # nobody else knows of them
        return 1
    }
    export SHARED_PIDS="${PIDS[*]}" SHARED_MASTER=$MASTER
}

setup() {
    set_up_tree
    PIDS=()
    WORK=$SHARED MASTER=$SHARED_MASTER
    OUT=$BATS_TEST_TMPDIR
}

teardown() { stop_daemons ${PIDS[@]+"${PIDS[@]}"}; }

teardown_file() {
    set_up_tree
    # shellcheck disable=SC2086 # numbers
    stop_daemons ${SHARED_PIDS:-}
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
}

stop_daemons() { (($# == 0)) || kill "$@" 2>/dev/null || true; }

# daemon NAME CLASS ARGUMENT...: in the background, its output in $WORK/NAME.log.
daemon() {
    "$TREE/bin/spark-class" "${@:2}" >"$WORK/$1.log" 2>&1 3>&- &
    PIDS+=($!)
}

# standalone FOLDER [VARIABLE=VALUE]: a master and two workers of one core; the variable is the second worker's only.
standalone() {
    master "$1"
    worker 1 1
    (($# == 1)) || export "${2?}"
    worker 2 1
    (($# == 1)) || unset "${2%%=*}"
    wait_until 600 workers 2
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

master() {
    local port
    WORK=$1
    mkdir -p "$WORK"
    port=$(free_port)
    MASTER=spark://127.0.0.1:$port
    daemon master org.apache.spark.deploy.master.Master --host 127.0.0.1 --port "$port" --webui-port 0
    wait_until 600 grep -q 'Successfully started service .sparkMaster' "$WORK/master.log"
}

# worker NUMBER CORES
worker() {
    daemon "worker$1" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --port 0 --webui-port 0 -c "$2" -m 1g \
        -d "$WORK/w$1" "$MASTER"
}

# workers COUNT: so many have come.
workers() { [ "$(grep -c 'Registering worker' "$WORK/master.log")" -ge "$1" ]; }

# submit JOB ARGUMENT...: with the words of $OPTIONS, and $JVM for executors. The application is $APP afterwards.
submit() { submit_it --class "io.howdah.examples.spark.$1" "$TREE"/jars/howdah-examples-*.jar "${@:2}"; }

# submit_it WHAT...: the same for what is no job of ours.
submit_it() {
    local status=0
    # shellcheck disable=SC2086 # words
    "$TREE/bin/spark-submit" --master "$MASTER" --executor-memory 512m --conf spark.ui.enabled=false $OPTIONS \
        --conf "spark.executor.extraJavaOptions=-Dlog4j.configuration=file:$LOG4J $ONE_COMPILER ${JVM:-}" \
        "$@" >"$OUT/out" 2>"$OUT/driver.log" 3>&- || status=$?
    APP=$(sed -n 's/.*with app ID \(app-[-0-9]*\).*/\1/p' "$OUT/driver.log")
    if [ "$status" -ne 0 ]; then tail -n 50 "$OUT/driver.log"; else cat "$OUT/out"; fi
    return "$status"
}

# executor_logs: what our classes logged in the executors of the application.
executor_logs() { cat "$WORK"/w*/"$APP"/*/blocks.log; }

# sums: of each executor that has ended, the line that it logs.
sums() { executor_logs | grep 'Block transfer fetched'; }

ended() { [ "$(sums | wc -l)" -ge "$1" ]; }

# fetched netty|engine: blocks that executors fetched that way.
fetched() {
    local column=1
    [ "$1" = engine ] || column=2
    sums | sed -nE 's/.*fetched ([0-9]+) blocks.* and ([0-9]+) of [0-9]+ bytes over Netty.*/\1 \2/p' |
        awk -v c="$column" '{ sum += $c; lines++ } END { print lines ? sum : "no line" }'
}

# all_over_engine EXECUTORS: every block that they fetched, and there were some.
all_over_engine() {
    wait_until 300 ended "$1"
    [ "$(fetched engine)" -gt 0 ]
    [ "$(fetched netty)" -eq 0 ]
}

@test "every shuffled block of a standalone cluster comes over the engine, none over Netty" {
    local metric sink='--conf spark.metrics.conf.driver.sink.csv'
    mkdir "$OUT/metrics"
    OPTIONS="$FORCED $sink.class=org.apache.spark.metrics.sink.CsvSink $sink.directory=$OUT/metrics" \
        submit GroupByTest 6 2000 4092 5
    all_over_engine 2
    executor_logs | grep -q 'come over .* over shm'
    # What Spark's own sinks have: the driver served the executors' first broadcasts.
    [ "$(tail -n 1 "$OUT/metrics/$APP.driver.blockTransfer.served.blocks.csv" | cut -d, -f2)" -gt 0 ]
    for metric in engine.bytes netty.bytes fallbacks engine.memory.pinned tasks.fetch.wait.ms; do
        [ -s "$OUT/metrics/$APP.driver.blockTransfer.$metric.csv" ]
    done
}

@test "map output stays in memory while there is room, then goes to files" {
    local manager="$FORCED --conf spark.shuffle.manager=rdma --conf spark.shuffle.rdma.memory.limit"
    OPTIONS="$manager=128m" submit GroupByTest 6 2000 4092 5
    all_over_engine 2
    output_is '[1-9][0-9]*' 0
    OPTIONS="$manager=32m --conf spark.shuffle.rdma.memory.fraction=0.1" submit GroupByTest 6 2000 4092 5
    all_over_engine 2
    output_is '[0-9]+' '[1-9][0-9]*'
}

# output_is MEMORY FILES: expressions for the bytes of map output of both executors.
output_is() { [ "$(sums | grep -cE "map output: $1 bytes in memory, $2 in files")" -eq 2 ]; }

@test "the driver's web UI shows what executors fetched over the engine" {
    OPTIONS="$FORCED --conf spark.executor.heartbeatInterval=1s --conf spark.ui.enabled=true --conf spark.ui.port=0" \
        submit_it "$ROOT/tests/e2e/spark_transfer_page.py"
    grep -q '^two executors on the page$' "$OUT/out"
}

@test "by default every block comes over the engine, and an unknown option is a warning" {
    OPTIONS='--conf spark.shuffle.rdma.piece.sise=1m' submit GroupByTest 4 500 4092 4
    all_over_engine 2
    [ "$(grep -c 'no option spark.shuffle.rdma.piece.sise .*nearest is spark.shuffle.rdma.piece.size' "$OUT/driver.log")" -eq 1 ]
}

@test "a block and a sum of blocks above the memory limit come over the engine" {
    OPTIONS="$FORCED --conf spark.shuffle.rdma.memory.limit=16m" submit GroupByTest 2 10000 4092 2
    all_over_engine 2
    executor_logs | grep -q 'more are copied to the JVM'
    run ! grep -E 'has not answered|FetchFailed' <(executor_logs) "$OUT/driver.log"
}

@test "switched off, by any of its names, nothing of it is used" {
    local off
    printf 'hadoop.ib.enabled false\nhadoop.roce.enabled false\n' >"$OUT/hibd.conf"
    for off in '--conf spark.shuffle.rdma.enabled=false' "--properties-file $OUT/hibd.conf"; do
        OPTIONS=$off switched_off
    done
}

switched_off() {
    submit GroupByTest 4 500 4092 4
    run ! grep 'Block transfer' "$OUT/driver.log"
    run executor_logs
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "a required engine that is not there fails the application by name" {
    OPTIONS="$ENGINE --conf spark.shuffle.rdma.required=true" HOWDAH_ENGINE=off run submit GroupByTest 4 500 4092 4
    [ "$status" -ne 0 ]
    grep -q "Block transfer has to go over the engine (spark.shuffle.rdma.required=true .*), which can't be used: switched off" \
        "$OUT/driver.log"
}

@test "an executor without the engine is served over Netty, and counted; a forced one ends by name" {
    standalone "$OUT/mixed" HOWDAH_ENGINE=off
    OPTIONS=$ENGINE submit GroupByTest 6 2000 4092 5
    wait_until 300 ended 2
    [ "$(fetched netty)" -gt 0 ]
    [ "$(executor_logs | grep -c 'Block transfer uses sockets: ')" -eq 1 ]
    [ "$(sums | grep -cE ' [1-9][0-9]* fallbacks')" -eq 2 ]

    OPTIONS=$FORCED submit GroupByTest 4 500 4092 4
    cat "$WORK"/w2/"$APP"/*/stderr |
        grep -q "Block transfer has to go over the engine (spark.shuffle.rdma.transport=shm .*), which can't be used: switched off"
    wait_until 300 ended 1
    [ "$(fetched netty)" -eq 0 ]
}

@test "with authentication over the engine; what is to be encrypted goes over Netty or nowhere" {
    local secret='spark.authenticate=true spark.authenticate.secret=sesame'
    # shellcheck disable=SC2086 # words
    SPARK_DAEMON_JAVA_OPTS="$ONE_COMPILER $(printf -- '-D%s ' $secret)"
    export SPARK_DAEMON_JAVA_OPTS
    standalone "$OUT/secret"
    # shellcheck disable=SC2086 # words
    secret=$(printf -- '--conf %s ' $secret)
    OPTIONS="$FORCED $secret" submit SortByTest 4 500 4092 4
    all_over_engine 2

    secret+=' --conf spark.authenticate.enableSaslEncryption=true'
    OPTIONS="$ENGINE $secret" submit GroupByTest 4 500 4092 4
    wait_until 300 ended 2
    [ "$(fetched engine)" -eq 0 ]
    [ "$(fetched netty)" -gt 0 ]
    [ "$(executor_logs | grep -c 'Block transfer uses sockets: .*asks for encryption')" -eq 2 ]
    OPTIONS="$FORCED $secret" run submit GroupByTest 4 500 4092 4
    [ "$status" -ne 0 ]
    grep -q "Block transfer has to go over the engine .*, which can't be used: .*asks for encryption" "$OUT/driver.log"
}

# bench_spark OPTION...: small jobs, with all that the processes write in $OUT/bench.
bench_spark() {
    exec "$HOWDAH" bench spark --transport shm --maps 4 --pairs 256 --reducers 4 --scale 0.02 --memory 1024 \
        --dir "$OUT/bench" "$@"
}

@test "howdah bench spark measures both sides and writes figures, and leaves no file" {
    slow
    mkdir "$OUT/bench"
    (bench_spark --jobs GroupBy --rounds 1 --json "$OUT/figures") >"$OUT/table" 2>"$OUT/log" 3>&-
    python3 - "$OUT/figures" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
sides = {(s["side"], s["job"], s["round"]): s["values"] for s in document["samples"]}
assert sorted(sides) == [(side, job, 1) for side in ("netty", "ours") for job in ("GroupBy",)], sides
assert all(values["seconds"] > 0 for values in sides.values())
assert sides["ours", "GroupBy", 1]["engineBlocks"] > 0 and sides["ours", "GroupBy", 1]["nettyBlocks"] == 0
PY
    grep -q '^GroupBy  *2 ours ' "$OUT/table"
    [ -z "$(ls "$OUT/bench")" ]
}

@test "howdah bench spark leaves no process and no file when it is interrupted" {
    slow
    local pid status=0
    mkdir "$OUT/bench"
    bench_spark --jobs GroupBy,Grep --executors 1 --rounds 100000 >"$OUT/table" 2>"$OUT/log" 3>&- &
    pid=$!
    PIDS+=("$pid")
    wait_until 120 grep -q '^round 1 of' "$OUT/log"
    [ -n "$(pgrep -f "$OUT/bench")" ]
    kill "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    [ -z "$(ls "$OUT/bench")" ]
    [ -z "$(pgrep -f "$OUT/bench")" ]
    [ "$(tail -n 1 "$OUT/log" | cut -c1-5)" = round ]
}

# soak ARGUMENT...: shuffles under faults, of this seed always the same.
soak() { python3 "$ROOT/tests/e2e/spark_soak.py" --tree "$TREE" --folder "$OUT" "$@"; }

@test "executors that are killed or stand still, and links that drop, never give wrong data, nor a job that hangs" {
    soak --megabytes 120 --round 20 --kills 1 --stops 1 --no-long-stop --no-pressure --drop-rate 0.02 --seed 11
}

@test "a gigabyte under more faults, one executor still for longer than Spark waits for it" {
    slow
    soak --megabytes 1024 --kills 6 --stops 4 --drop-rate 0.01 --seed 12
}

@test "2,000 times 2,000 tiny blocks" {
    slow
    OPTIONS="$FORCED" submit BlockGrid 2000 2000 1 0
    grep -q '^BlockGrid: 4000000 blocks of 1 values of 0 bytes: all came once$' "$OUT/out"
    all_over_engine 2
    # Coalesced: a request for each of so many blocks would be some two million.
    [ "$(sums | sed -nE 's/.*\(([0-9]+) requests.*/\1/p' | awk '{ s += $1 } END { print s }')" -lt 200000 ]
}

# Two maps, one on each executor, and one reducer: a block of each is remote, or would be. If both executors are there, that is.
# Stock Spark looks at a frame's size when all of it is there: with less direct memory it runs out of that first. A stage is
# not tried again: the map would be run again, may come to be where the reducer is, and then the job ends well.
@test "a block above 2 GB is answered as by stock Spark" {
    slow
    local side big='--conf spark.shuffle.compress=false --conf spark.shuffle.io.maxRetries=0'
    big+=' --conf spark.cores.max=2 --conf spark.scheduler.minRegisteredResourcesRatio=1'
    big+=' --conf spark.scheduler.maxRegisteredResourcesWaitingTime=600s --conf spark.test.noStageRetry=true'
    export JVM=-XX:MaxDirectMemorySize=3g
    [ "$(df --output=avail -BG "$BATS_TEST_TMPDIR" | tail -n 1 | tr -dc 0-9)" -ge 20 ] || skip "there are no 20 GB on the disk"
    for side in '--conf spark.shuffle.rdma.enabled=false' "$FORCED"; do
        OPTIONS="$side $big" run submit BlockGrid 2 1 2100 1048576
        [ "$status" -ne 0 ]
        grep -qE 'FetchFailed' "$OUT/driver.log"
        grep -qE 'Too large frame: 22[0-9]{8}' "$OUT/driver.log"
        rm -rf "$WORK"/w?/"$APP"
        # The next application finds all in order.
        OPTIONS="$side" submit BlockGrid 4 4 10 1000
    done
}

# come_and_go PORT: options for executors that go as soon as they have nothing to do; a service on the port keeps their files.
come_and_go() {
    local option
    for option in shuffle.service.enabled=true shuffle.service.port="$1" dynamicAllocation.enabled=true \
        dynamicAllocation.maxExecutors=2 dynamicAllocation.executorIdleTimeout=2s; do
        printf -- '--conf spark.%s ' "$option"
    done
}

@test "with dynamic allocation, a worker's shuffle service serves the files of executors that are gone over the engine" {
    slow
    local port
    port=$(free_port)
    export SPARK_DAEMON_JAVA_OPTS="$ONE_COMPILER -Dspark.shuffle.service.enabled=true -Dspark.shuffle.service.port=$port"
    master "$OUT/service"
    worker 1 2
    SPARK_DAEMON_JAVA_OPTS=$ONE_COMPILER
    wait_until 600 workers 1
    grep -q 'The shuffle service serves over libhowdah' "$WORK/worker1.log"
    OPTIONS="$FORCED --conf spark.executor.cores=1 $(come_and_go "$port")" submit_it "$ROOT/tests/e2e/spark_shuffle_twice.py"
    grep -q '^the same twice, mapped once$' "$OUT/out"
    executor_logs | grep -q "Blocks of .*:$port come over .* over shm"
    wait_until 300 came_over_engine 64 # all that the second run needed, at least
    [ "$(fetched netty)" -eq 0 ]
}

came_over_engine() { [ "$(fetched engine)" -ge "$1" ]; }

# on_yarn WHAT...: an application, every block of which has to come over the engine.
on_yarn() {
    local before
    before=$(yarn_sums | wc -l)
    # shellcheck disable=SC2086 # words
    with "$DIR" spark-submit --master yarn --executor-memory 512m --driver-memory 512m \
        --conf spark.ui.enabled=false $FORCED "$@" \
        >"$OUT/out" 2>"$OUT/driver.log"
    both_ended() { [ "$(yarn_sums | wc -l)" -ge $((before + 2)) ]; }
    wait_until 300 both_ended
    yarn_sums | grep -qE 'fetched [1-9][0-9]* blocks of .* and 0 of 0 bytes over Netty'
    run ! grep -E 'and [1-9][0-9]* of [0-9]* bytes over Netty' <(yarn_sums)
}

property() { echo "<property><name>$1</name><value>$2</value></property>"; }

yarn_logs() { find "$DIR/logs" -name stderr -path '*container_*' -exec cat {} +; }

yarn_sums() { yarn_logs | grep 'Block transfer fetched' || true; }

@test "on YARN, in client mode and with authentication in cluster mode; a NodeManager's shuffle service" {
    slow
    local port site=$OUT/site
    local job=(--num-executors 2 --class io.howdah.examples.spark.GroupByTest "$TREE"/jars/howdah-examples-*.jar
        6 1000 4092 5)
    port=$(free_port)
    mkdir "$site"
    sed "s,</configuration>,$(property spark.shuffle.service.port "$port")$(property spark.authenticate true)&," \
        "$TREE/share/conf-templates/spark-shuffle/yarn-site.xml" >"$site/yarn-site.xml"
    # Containers that are told to end have the time to say what they did.
    cluster start --dir "$DIR" --datanodes 1 --nodemanagers 1 --no-history --memory 4g --conf "$site" \
        -D yarn.nodemanager.sleep-delay-before-sigkill.ms=20000 -D yarn.scheduler.minimum-allocation-mb=64
    on_yarn "${job[@]}"
    grep -q 'GroupByTest: ' "$OUT/out"
    run ! grep 'for the engine' "$OUT/driver.log" # the containers are as large as stock Spark's
    on_yarn --deploy-mode cluster --conf spark.authenticate=true --conf spark.shuffle.rdma.memory.limit=256m "${job[@]}"
    yarn_logs | grep -q "spark.yarn.executor.memoryOverhead: 384 MB and 128 MB more for the engine's 256m"
    yarn_logs | grep -q 'The engine of the driver takes 128 MB and not 256m'

    # shellcheck disable=SC2046 # words
    on_yarn $(come_and_go "$port") --conf spark.authenticate=true "$ROOT/tests/e2e/spark_shuffle_twice.py"
    grep -q '^the same twice, mapped once$' "$OUT/out"
    yarn_logs | grep -q "Blocks of .*:$port come over .* over shm"
    grep -q 'The shuffle service serves over libhowdah' "$DIR"/logs/*nodemanager*.log

    # Many partitions in containers that are nearly full: the heaps are filled, and all else is as by default.
    on_yarn --conf spark.executor.extraJavaOptions=-Xms512m\ -XX:+AlwaysPreTouch \
        --num-executors 2 --class io.howdah.examples.spark.BlockGrid "$TREE"/jars/howdah-examples-*.jar 1000 1000 1 200
    grep -q '^BlockGrid: 1000000 blocks' "$OUT/out"
    run ! grep -E 'beyond (physical|virtual) memory limits' "$OUT/driver.log"
    run ! grep -E 'beyond (physical|virtual) memory limits' "$DIR"/logs/*nodemanager*.log
}
