# shellcheck shell=bash
# What scripts that run inside the virtual machine share. Sourced, never run.

set -euo pipefail

: "${HOWDAH_VM_DEVICE:?this runs inside the virtual machine: ci/rdma-vm run -- $0}"

# listening PORT: waits until somebody listens on a TCP port; 1 after a while.
listening() {
    for _ in {1..100}; do
        [ -z "$(ss -Hltn "sport = :$1")" ] || return 0
        sleep 0.1
    done
    echo "nobody listens on port $1" >&2
    return 1
}

# perftest PROGRAM [OPTIONS]...: both ends of a program of perftest on this device; prints the client's figures, the
# line that begins with numbers. On a busy machine perftest may fail to calibrate its clock and print "inf", which
# says nothing about the device: then it is run again.
perftest() {
    local figures
    for _ in {1..5}; do
        figures=$(perftest_once "$@") || return 1
        if [[ $figures != *inf* ]] && [[ $figures != *nan* ]]; then
            echo "$figures"
            return 0
        fi
    done
    echo "$1 could not calibrate its clock in five runs" >&2
    return 1
}

perftest_once() {
    local program=$1 port=18515 server output status=0
    shift
    "$program" -d "$HOWDAH_VM_DEVICE" -p "$port" -F "$@" >/dev/null 2>&1 &
    server=$!
    listening "$port"
    output=$("$program" -d "$HOWDAH_VM_DEVICE" -p "$port" -F "$@" "$HOWDAH_VM_ADDRESS" 2>&1) || status=1
    wait "$server" || status=1
    grep -E '^ *[0-9]+ +[0-9]' <<<"$output" || status=1
    [ "$status" -eq 0 ] || echo "$output" >&2
    return "$status"
}

# dapl_server: starts dapltest's server and returns; dapl_quit ends it.
dapl_server() {
    dapltest -T S -D "$HOWDAH_VM_PROVIDER" >/dev/null 2>&1 &
}

# dapl T|P ARGUMENTS...: a client of dapltest, transactions or performance. Its exit status is 0 even when it could not connect:
# what it prints decides, too. A server that does not listen yet rejects it; that is tried again. dapltest posts its first
# receives without waiting for the peer's: on a busy machine it now and then loses its own closing message ("DTO problem");
# that is tried again twice, and said.
dapl() {
    local test=$1 output status lost=0
    shift
    for _ in {1..20}; do
        output=$(dapltest -T "$test" -D "$HOWDAH_VM_PROVIDER" -s "$HOWDAH_VM_ADDRESS" "$@" 2>&1) && status=0 || status=$?
        if [ "$status" -eq 0 ] && grep -qE '^(Total WQE|raw:)' <<<"$output" && ! grep -qiE 'error|fail|DAT_ABORT' <<<"$output"; then
            echo "$output"
            return 0
        fi
        if grep -q 'Client_Sync_Send-reaping DTO problem' <<<"$output" && [ $((++lost)) -le 2 ]; then
            echo "dapltest lost its closing message, try $((lost + 1))"
        elif ! grep -q NON_PEER_REJECTED <<<"$output"; then
            break
        fi
        sleep 0.5
    done
    echo "$output" >&2
    echo "dapltest ended with $status" >&2
    return 1
}

dapl_quit() {
    dapltest -T Q -D "$HOWDAH_VM_PROVIDER" -s "$HOWDAH_VM_ADDRESS" >/dev/null 2>&1
    wait
}

# where_it_crashed FILE: functions and lines of the addresses that crashed tests printed (native/test/crash.h), if any did. The
# addresses are there without addr2line, too, and the tests have failed anyway. A thread that blocks all signals, as DAPL's do,
# runs no handler: of its crash only the kernel says anything.
where_it_crashed() {
    local object offset
    { grep -oaE '^[^ (]+\(\+0x[0-9a-f]+\)' "$1" || true; } | tr '()' '  ' | while read -r object offset; do
        addr2line -Cfpe "$object" "$offset" || true
    done
    # Nothing is found where a handler did run, or where no program crashed: the tests have failed otherwise, and are counted.
    dmesg | grep -aE ' segfault at | trap ' | tail -n 10 || true
}

# engine_tests TRANSPORT PROGRAM[:FILTER]...: runs test_PROGRAM of $HOWDAH_TEST_BUILD (build/native), or those of its tests
# that FILTER names, over a transport, and prints the counts. An emulated processor is slow, so there are fewer schedules of
# faults (HOWDAH_TEST_SEEDS), kills (_KILLS) and peers (_LINKS). HOWDAH_TEST_WITH is a command to run them under.
engine_tests() {
    local transport=$1 program filter binary status broken=0 started words tests=()
    words=$(mktemp)
    shift
    export HOWDAH_TEST_SEEDS=${HOWDAH_TEST_SEEDS:-2} HOWDAH_TEST_KILLS=${HOWDAH_TEST_KILLS:-10}
    export HOWDAH_TEST_LINKS=${HOWDAH_TEST_LINKS:-20}
    # A process of its own for each test that forks its peers: rdma_cm's event channel, which DAPL keeps open, is refused to
    # the children of who opened it (kernel: ib_safe_file_access).
    for program; do
        case $program in
            kill) tests+=(kill:killed_in_the_greeting kill:killed_at_work) ;;
            *) tests+=("$program") ;;
        esac
    done
    for program in "${tests[@]}"; do
        filter=${program#"${program%%:*}"} program=${program%%:*}
        binary=${HOWDAH_TEST_BUILD:-build/native}/test/test_$program started=$SECONDS status=0
        if [ ! -x "$binary" ]; then
            echo "there is no $binary: the engine was not built (ci/native --build)"
            return 1
        fi
        # shellcheck disable=SC2086 # a command and its options
        ${HOWDAH_TEST_WITH:-} "$binary" "$transport" ${filter:+"${filter#:}"} 2>&1 | tee -a "$words" || status=$?
        [ "$status" -eq 0 ] || broken=1
        echo "# $program over $transport: exit status $status, $((SECONDS - started)) s"
    done
    [ "$broken" -eq 0 ] || where_it_crashed "$words"
    # cmocka lists what failed or was skipped once more at its end. A test that crashed has no line of its own there.
    awk '/test\(s\), listed below/ { again = 1 } /Running [0-9]+ test/ { again = 0 }
        /^\[       OK \]/ { ok++ }
        !again && /^\[  FAILED  \] [a-z_]+$/ { failed++ }
        /crashed by signal [0-9]+ in process/ { failed++ }
        !again && /^\[  SKIPPED \] [a-z_]+$/ { skipped++ }
        END { printf "# %d passed, %d failed, %d skipped\n", ok, failed, skipped }' "$words"
    return "$broken"
}

# sanitized KIND COMMAND...: with the tests that were built with a sanitizer, asan or tsan, and fewer rounds of what is slow.
sanitized() {
    local kind=$1
    shift
    HOWDAH_TEST_BUILD=build/native-$kind HOWDAH_TEST_DIVISOR=${HOWDAH_TEST_DIVISOR:-8} HOWDAH_TEST_PATIENCE=6 \
        LSAN_OPTIONS=suppressions=native/test/lsan.supp TSAN_OPTIONS=suppressions=native/test/tsan.supp "$@"
}

# under_memcheck COMMAND...: with the tests as they are shipped, under valgrind. Threads take turns; a fair scheduler keeps
# one that spins from starving the others. What libc gives back for memcheck's sake after the program has ended takes libibverbs
# and librdmacm along, which DAPL still has, and what only their variables pointed at would be called lost: so it is not asked to.
under_memcheck() {
    HOWDAH_TEST_PATIENCE=6 HOWDAH_TEST_WITH="valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        --show-leak-kinds=definite --run-libc-freeres=no --fair-sched=yes --trace-children=no \
        --suppressions=native/test/valgrind.supp" "$@"
}

# all_under COMMAND...: every program that runs over a transport that needs an adapter, under COMMAND.
all_under() {
    local bodies=(stream waiting calls fetch registered fault death kill links) status=0
    "$@" engine_tests verbs "${bodies[@]}" verbs verbs_many || status=1
    "$@" engine_tests udapl "${bodies[@]}" udapl || status=1
    return "$status"
}

# rpc_pair TRANSPORT: a server and a client of Hadoop's RPC, two JVMs, with the engine forced over a transport. Both say
# what their counters say, and fail if a connection went elsewhere.
rpc_pair() { java_pair org.apache.hadoop.ipc.RpcPair 256m "$1"; }

# hdfs_pair TRANSPORT: the same with a NameNode and two DataNodes, and a client that writes and reads.
hdfs_pair() { java_pair org.apache.hadoop.hdfs.net.HdfsPair 400m "$1"; }

# shuffle_pair TRANSPORT: the same with a NodeManager's shuffle, and a reducer.
shuffle_pair() { java_pair org.apache.hadoop.mapreduce.task.reduce.ShufflePair 256m "$1"; }

# java_pair CLASS HEAP TRANSPORT: both ends of it.
java_pair() {
    local transport=$3 folder server status=0 java=() classes=build/rdma-vm/classes
    [ -d "$classes" ] || { echo "there is no $classes: ci/rdma-vm-tests compiles it" && return 1; }
    # shellcheck source=/dev/null
    . build/prepare.env
    folder=$(mktemp -d)
    mkfifo "$folder/open"
    hostname localhost # the machine has no name of its own, and Hadoop asks what its name resolves to
    # C1 only: on an emulated processor the second compiler takes more than it gives.
    java=("$JAVA_HOME/bin/java" "-Xmx$2" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData
        -Djava.net.preferIPv4Stack=true -Djava.security.egd=file:///dev/urandom
        -cp "$classes:tests/rdma-vm/rpc:$(<"$classes/classpath")" "$1")
    # The server ends with its standard input: when the client, or this test, has.
    "${java[@]}" server "$transport" "$HOWDAH_VM_ADDRESS" "$folder/port" <"$folder/open" &
    server=$!
    exec 8>"$folder/open"
    for _ in {1..6000}; do
        if [ -e "$folder/port" ] || ! kill -0 "$server" 2>/dev/null; then break; fi
        sleep 0.1
    done
    [ -e "$folder/port" ] || { echo "the server did not start" && return 1; }
    "${java[@]}" client "$transport" "$HOWDAH_VM_ADDRESS" "$folder/port" 8>&- || status=$?
    exec 8>&-
    wait "$server" || { echo "the server ended with $?" && status=1; }
    return "$status"
}

# spark_groupby TRANSPORT: Spark's GroupBy between two executors, with the engine forced over a transport; then what these
# executors' counters say: every block came over the engine.
spark_groupby() {
    local transport=$1 folder sums tree application=io.howdah.examples.spark.GroupByTest
    # shellcheck source=/dev/null
    . build/prepare.env
    # shellcheck source=/dev/null
    . build/bom.env
    tree=$PWD/build/dist/howdah-$HOWDAH_VERSION
    [ -d "$tree/jars" ] || { echo "there is no $tree: make dist" && return 1; }
    folder=$(mktemp -d)
    # Executors of local-cluster work in SPARK_HOME.
    mkdir -p "$folder/spark/work"
    ln -s "$tree/jars" "$folder/spark/jars"
    cat "$tree/etc/spark/log4j.properties" - >"$folder/log4j.properties" <<'PROPERTIES'
log4j.logger.io.howdah.spark=INFO, blocks
log4j.appender.blocks=org.apache.log4j.FileAppender
log4j.appender.blocks.File=blocks.log
log4j.appender.blocks.layout=org.apache.log4j.PatternLayout
log4j.appender.blocks.layout.ConversionPattern=%p %m%n
PROPERTIES
    # C1 only: on an emulated processor the second compiler takes more than it gives. What takes ten times as long as
    # elsewhere is not dead.
    local jvm='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Djava.security.egd=file:///dev/urandom'
    (
        export SPARK_HOME=$folder/spark SPARK_CONF_DIR=$tree/etc/spark SPARK_LOCAL_IP=$HOWDAH_VM_ADDRESS SPARK_SCALA_VERSION=2.11
        export LD_LIBRARY_PATH=$tree/lib/native
        unset HADOOP_CONF_DIR
        # shellcheck disable=SC2086 # words
        "$JAVA_HOME/bin/java" $jvm -Xmx512m -Djava.net.preferIPv4Stack=true -cp "$tree/etc/spark:$tree/jars/*" \
            org.apache.spark.deploy.SparkSubmit --master 'local-cluster[2,1,512]' --conf spark.executor.memory=512m \
            --conf spark.ui.enabled=false --conf spark.network.timeout=600s --conf spark.executor.heartbeatInterval=60s \
            --conf spark.rpc.askTimeout=600s --conf spark.shuffle.rdma.enabled=true \
            --conf "spark.shuffle.rdma.transport=$transport" --conf spark.shuffle.rdma.memory.limit=128m \
            --conf "spark.executor.extraJavaOptions=$jvm -Dlog4j.configuration=file:$folder/log4j.properties" \
            --class "$application" "$tree"/jars/howdah-examples-*.jar 4 200 4092 4
    ) || { tail -n 30 "$folder"/spark/*/*/*/stderr && return 1; }
    sums=$(cat "$folder"/spark/*/*/*/blocks.log)
    grep -E 'come over|Block transfer' <<<"$sums"
    # Both fetched, over this transport and nothing else.
    [ "$(grep -cE 'fetched [1-9][0-9]* blocks .* and 0 of 0 bytes over Netty' <<<"$sums")" -eq 2 ] &&
        grep -q "come over .* over $transport" <<<"$sums"
}

# java_binding TRANSPORT: the Java binding's own tests (java/engine) over a transport, without Maven.
java_binding() {
    local classes=build/java/howdah-engine
    if [ ! -r build/prepare.env ] || [ ! -r "$classes/test.classpath" ]; then
        echo "there are no classes in $classes: our Java was not built (ci/java)"
        return 1
    fi
    . build/prepare.env
    # What is compiled once, and quickly, serves an emulated processor best. Left out: tests of other JVMs (ProcessesTest), each
    # of which takes its time to start here; of options and metrics, which no transport matters to; and one that counts what a
    # JVM allocates, which is for a compiler that optimises.
    "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true \
        -Dio.howdah.native=build/native -Dhowdah.test.transport="$1" \
        -Dhowdah.test.divisor="${HOWDAH_TEST_DIVISOR:-8}" \
        -cp "$classes/test-classes:$classes/classes:$(cat "$classes/test.classpath")" io.howdah.engine.RunTests \
        EngineStreamTest FetchTest EngineEndTest SocketsTest -directBuffersAndEventsCostNoGarbage
}
