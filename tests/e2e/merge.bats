#!/usr/bin/env bats
# The merge while map output is fetched, on YARN: results are stock's, memory is bounded, and NodeManagers that are killed
# cost no record. All of it is slow.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    # Containers are looked at twice a second, and end if they take more memory than they have. NodeManagers are missed
    # after 10 s; one that starts again before knows its containers and jobs.
    # shellcheck disable=SC2016 # a variable of Hadoop's: each NodeManager has its own
    cluster start --dir "$DIR" --datanodes 1 --nodemanagers 2 --memory 3g \
        -D yarn.nodemanager.pmem-check-enabled=true -D yarn.nodemanager.container-monitor.interval-ms=500 \
        -D yarn.nodemanager.container-monitor.procfs-tree.smaps-based-rss.enabled=true \
        -D yarn.nodemanager.recovery.enabled=true \
        -D yarn.nodemanager.recovery.dir="$BATS_FILE_TMPDIR"'/recovery/${yarn.nodemanager.address}' \
        -D yarn.nm.liveness-monitor.expiry-interval-ms=10000 -D mapreduce.map.memory.mb=640 \
        -D mapreduce.reduce.memory.mb=640 -D yarn.app.mapreduce.am.resource.mb=768
    mkdir "$BATS_FILE_TMPDIR/text"
    for i in 1 2 3; do cat "$ROOT"/docs/*/*.md "$ROOT"/*.md "$ROOT"/native/src/*/*.c >"$BATS_FILE_TMPDIR/text/$i"; done
    with "$DIR" hdfs dfs -put "$BATS_FILE_TMPDIR/text" /text
    examples teragen 3000000 /large
}

setup() {
    set_up_tree
    CONSOLE=$BATS_TEST_TMPDIR/console
}

teardown_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    cluster stop --dir "$DIR"
}

examples() { with "$DIR" hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar "$@"; }

# words JOB -D... INPUT OUTPUT: generic options come before the job.
words() {
    local job=$1 options=()
    while shift && [[ $1 == -D* ]]; do options+=("$1"); done
    with "$DIR" hadoop jar "$TREE"/share/howdah/howdah-bench-*.jar io.howdah.bench.mapreduce.Words "${options[@]}" "$job" "$@"
}

# run_job COMMAND...: a job, whose console is kept.
run_job() {
    "$@" >"$CONSOLE" 2>&1 || { cat "$CONSOLE" && return 1; }
    cat "$CONSOLE"
}

# counter NAME: of the job that ran last; 0 if it has none.
counter() {
    local value
    value=$(sed -n "s/^[[:space:]]*$1=//p" "$CONSOLE")
    echo "${value:-0}"
}

# merged REDUCERS COMMAND JOB ARGUMENT...: the job with this merge, in little memory, and with stock's. Compares all that
# they wrote, byte for byte.
merged() {
    local merge sums=() reducers=$1
    for merge in true false; do
        with "$DIR" hdfs dfs -rm -r -f -skipTrash /out
        run_job "$2" "$3" -Dmapred.rdma.shuffle.merge.enabled=$merge -Dmapreduce.job.reduces="$reducers" \
            -Dmapreduce.reduce.memory.totalbytes=4000000 "${@:4}" /out
        [ "$(counter STREAMED_REDUCES)" -eq "$([ $merge = true ] && echo "$reducers" || echo 0)" ]
        [ "$(counter 'Failed reduce tasks')" -eq 0 ]
        sums+=("$(with "$DIR" hdfs dfs -text '/out/part-r-*' | md5sum)")
    done
    [ "${sums[0]}" = "${sums[1]}" ]
}

# validated FOLDER: TeraValidate finds the sorted records in order, with the checksum of those that were generated.
validated() {
    local sum
    with "$DIR" hdfs dfs -rm -r -f -skipTrash /valid
    examples teravalidate "$1" /valid
    sum=$(with "$DIR" hdfs dfs -cat '/valid/part-*')
    [[ $sum == checksum* ]]
    [ -e "$BATS_FILE_TMPDIR/sum" ] || { examples teravalidate /large /unsorted && with "$DIR" hdfs dfs -cat '/unsorted/part-*' | grep ^checksum >"$BATS_FILE_TMPDIR/sum"; }
    [ "$(grep ^checksum <<<"$sum")" = "$(<"$BATS_FILE_TMPDIR/sum")" ]
}

# fed: whether a reducer's log of the job that runs says that reduce() is fed.
fed() {
    [ -n "$(find "$DIR"/logs/*-containers -name syslog -newer "$BATS_TEST_TMPDIR/since" -exec grep -l 'reduce() is fed' {} +)" ]
}

@test "what is merged while it is fetched is what stock's merge gives" {
    slow
    merged 2 examples wordcount /text
    merged 2 words count /text
    merged 1 words count /text
    merged 2 examples wordcount -Dmapreduce.map.output.compress=true /text
    merged 2 words count -Dmapreduce.job.encrypted-intermediate-data=true /text
    examples teragen 100000 /rows
    merged 3 examples terasort /rows
    # Values of a key that are grouped by another comparator than they are sorted by.
    seq 1 100000 | awk '{ print $1 % 7, ($1 * 7919) % 100003 }' >"$BATS_TEST_TMPDIR/grouped"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/grouped" /grouped
    merged 2 examples secondarysort /grouped
}

@test "a reducer that merges while it fetches stays within a container that is nearly full" {
    slow
    run_job examples terasort -Dmapred.rdma.shuffle.merge.enabled=true -Dmapreduce.job.reduces=1 \
        -Dmapreduce.reduce.memory.mb=512 -Dmapreduce.reduce.java.opts=-Xmx400m /large /full
    [ "$(counter STREAMED_REDUCES)" -eq 1 ]
    [ "$(counter 'Failed reduce tasks')" -eq 0 ]
    # Half of the heap at most; how much of it is used depends on how fast maps and reduce() are.
    [ "$(counter MERGE_MEMORY_PEAK)" -gt $((50 << 20)) ]
    [ "$(counter MERGE_MEMORY_PEAK)" -le $((200 << 20)) ]
    validated /full
}

# killed_while_fed OUTPUT COMMAND...: kills a NodeManager when reduce() has begun, and runs the command; the job has to come through.
# No reducer is run twice for being slow: a second attempt merges as stock.
killed_while_fed() {
    local job output=$1
    touch "$BATS_TEST_TMPDIR/since"
    sleep 1 # times of files
    examples terasort -Dmapred.rdma.shuffle.merge.enabled=true -Dmapreduce.job.reduces=2 -Dmapreduce.reduce.speculative=false \
        -Dmapreduce.reduce.memory.totalbytes=20000000 /large "$output" >"$CONSOLE" 2>&1 3>&- &
    job=$!
    wait_until 300 fed
    kill -9 "$(pid_of "$DIR" nodemanager-1)"
    "${@:2}"
    wait "$job" || { cat "$CONSOLE" && return 1; }
    cat "$CONSOLE"
}

@test "a NodeManager that is killed and starts again while reduce() is fed costs no attempt" {
    slow
    killed_while_fed /restarted cluster start --dir "$DIR"
    [ "$(counter 'Failed reduce tasks')" -eq 0 ]
    [ "$(counter STREAMED_REDUCES)" -eq 2 ]
    validated /restarted
}

@test "a map host that is lost while reduce() is fed costs attempts, and no record" {
    slow
    killed_while_fed /lost true
    cluster start --dir "$DIR"
    validated /lost
}
