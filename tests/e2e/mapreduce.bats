#!/usr/bin/env bats
# Jobs whose maps sort and write their output our way, and the same jobs with stock's collector: results are the same. The demo
# (demo.bats) compares the results of such jobs with other programs'.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    # Maps that spill: 3 MB of output and more in 1 MB. One of the local directories is a RAM disk.
    ram=$(mktemp -d /dev/shm/howdah-e2e-XXXXXX)
    echo "$ram" >"$BATS_FILE_TMPDIR/ram"
    cluster start --dir "$DIR" --datanodes 1 --nodemanagers 1 -D mapreduce.task.io.sort.mb=1 \
        -D mapred.rdma.spill.memory.enabled=false \
        -D yarn.nodemanager.local-dirs="$BATS_FILE_TMPDIR/disk,$ram" -D yarn.nodemanager.delete.debug-delay-sec=36000
    write_text "$BATS_FILE_TMPDIR/text"
    with "$DIR" hdfs dfs -put "$BATS_FILE_TMPDIR/text" /text
}

setup() {
    set_up_tree
}

teardown_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    cluster stop --dir "$DIR"
    rm -rf "$(<"$BATS_FILE_TMPDIR/ram")"
}

# write_text FOLDER: three files, 3 MB of map output each.
write_text() {
    local i
    mkdir "$1"
    for i in 1 2 3; do cat "$ROOT"/docs/*/*.md "$ROOT"/*.md "$ROOT"/native/src/*/*.c >"$1/$i"; done
}

examples() { with "$DIR" hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar "$@"; }

# words JOB -D... INPUT OUTPUT: generic options come before the job.
words() {
    local job=$1 options=()
    while shift && [[ $1 == -D* ]]; do options+=("$1"); done
    with "$DIR" hadoop jar "$TREE"/share/howdah/howdah-bench-*.jar io.howdah.bench.mapreduce.Words "${options[@]}" "$job" "$@"
}

# collected_by: the collectors that tasks' logs name since the last call.
collected_by() {
    find "$DIR"/logs/*-containers -name syslog -newer "$BATS_FILE_TMPDIR/since" -exec \
        sed -n 's/.*Map output collector class = .*[.$]//p' {} + | sort -u
}

# both COMMAND JOB ARGUMENT...: the job with our collector and with stock's. Compares all that they wrote.
both() {
    local collector sums=()
    for collector in true false; do
        sleep 1 # times of files
        touch "$BATS_FILE_TMPDIR/since"
        with "$DIR" hdfs dfs -rm -r -f -skipTrash /out
        "$1" "$2" -Dmapred.rdma.map.output.sort=$collector -Dmapreduce.job.reduces=3 "${@:3}" /out
        [ "$(collected_by)" = "$([ $collector = true ] && echo PagedMapOutput || echo MapOutputBuffer)" ]
        sums+=("$(for part in 0 1 2; do with "$DIR" hdfs dfs -text "/out/part-r-0000$part" | sort | md5sum; done)")
    done
    echo "${sums[0]}"
    [ "${sums[0]}" = "${sums[1]}" ]
    [ "$(sort -u <<<"${sums[0]}" | wc -l)" = 3 ]
}

@test "a job in one process writes the same with our collector and with stock's" {
    local sort out=$BATS_TEST_TMPDIR/out
    write_text "$BATS_TEST_TMPDIR/text"
    for sort in true false; do
        run "$TREE/bin/hadoop" jar "$TREE"/share/howdah/howdah-bench-*.jar io.howdah.bench.mapreduce.Words \
            -Dmapreduce.framework.name=local -Dfs.defaultFS=file:/// -Dhadoop.tmp.dir="$BATS_TEST_TMPDIR/tmp" \
            -Dmapreduce.job.reduces=2 -Dmapreduce.task.io.sort.mb=1 -Dmapred.rdma.map.output.sort=$sort \
            index "$BATS_TEST_TMPDIR/text" "$out-$sort"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *"collector class = org.apache.hadoop.mapred."*"$([ $sort = true ] && echo PagedMapOutput || echo MapOutputBuffer)"* ]]
    done
    [ "$(find "$out-true" -name 'part-r-*' -size +10k | wc -l)" = 2 ]
    diff -r "$out-true" "$out-false"
}

@test "map output goes to the RAM disk among the local directories" {
    slow
    examples wordcount /text /words
    [ -n "$(find "$(<"$BATS_FILE_TMPDIR/ram")" -name file.out)" ]
    [ -z "$(find "$BATS_FILE_TMPDIR/disk" -name file.out)" ]
}

@test "words counted with and without a combiner, and indexed, are as with stock's collector" {
    slow
    both examples wordcount /text
    both words count -Dmapred.rdma.spill.memory.enabled=true /text
    both words count /text
    both words index /text
}

@test "compressed and encrypted map output is as with stock's collector" {
    slow
    both examples wordcount -Dmapreduce.map.output.compress=true /text
    both words count -Dmapreduce.job.encrypted-intermediate-data=true /text
}

@test "records sorted by TeraSort are in order and complete" {
    slow
    examples teragen 100000 /tera
    both examples terasort /tera
    examples teravalidate /out /valid
    run with "$DIR" hdfs dfs -cat '/valid/part-*'
    [[ $output == checksum* ]]
}

@test "a sort of random text is as with stock's collector" {
    slow
    examples randomtextwriter -Dmapreduce.randomtextwriter.totalbytes=3000000 -Dmapreduce.randomtextwriter.bytespermap=3000000 /records
    both examples sort -r 3 -inFormat org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat \
        -outFormat org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat \
        -outKey org.apache.hadoop.io.Text -outValue org.apache.hadoop.io.Text /records
}

@test "a job with a comparator of its own keeps stock's collector, one without reducers has none" {
    slow
    seq 1 1000 | awk '{ print $1 % 7, $1 }' >"$BATS_TEST_TMPDIR/pairs"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/pairs" /pairs
    sleep 1 # times of files
    touch "$BATS_FILE_TMPDIR/since"
    examples secondarysort /pairs /second
    [ "$(collected_by)" = MapOutputBuffer ]
    find "$DIR"/logs/*-containers -name syslog -newer "$BATS_FILE_TMPDIR/since" -exec cat {} + >"$BATS_TEST_TMPDIR/logs"
    grep -q "Stock Hadoop's collector sorts the map output: keys may not compare by bytes" "$BATS_TEST_TMPDIR/logs"
    sleep 1
    touch "$BATS_FILE_TMPDIR/since"
    examples wordcount -Dmapreduce.job.reduces=0 /text /none
    [ -z "$(collected_by)" ]
    [ -n "$(with "$DIR" hdfs dfs -cat /none/part-m-00000 | head -n 1)" ]
}
