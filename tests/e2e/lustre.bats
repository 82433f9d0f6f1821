#!/usr/bin/env bats
# MapReduce on a shared folder without HDFS: results are right, and map output goes the way that the mode says.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    export DIR=$BATS_FILE_TMPDIR/c SHARED=$BATS_FILE_TMPDIR/shared
    mkdir -p "$SHARED/text"
    for i in 1 2; do seq "$i" 30000 | awk '{ print "a" $1 % 977, "b" $1 % 13, "c" $1 }' >"$SHARED/text/$i"; done
    tr -s ' ' '\n' <"$SHARED/text/1" >"$SHARED/words" # one word a line
    tr -s ' ' '\n' <"$SHARED/text/2" >>"$SHARED/words"
    LC_ALL=C sort "$SHARED/words" | uniq -c | awk '{ print $2 "\t" $1 }' >"$SHARED/expected"
}

setup() { set_up_tree; }

teardown() {
    [ ! -e "$DIR/cluster.properties" ] || cluster stop --dir "$DIR"
}

# count_words OUT -D...: counts the words of the text in the shared folder and compares; leaves the job's console in CONSOLE.
count_words() {
    CONSOLE=$BATS_TEST_TMPDIR/console
    with "$DIR" hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar wordcount \
        -D mapred.rdma.shuffle.lustre.adaptive=false "${@:2}" \
        "$SHARED/text" "$SHARED/$1" >"$CONSOLE" 2>&1 || { cat "$CONSOLE" && return 1; }
    cat "$SHARED/$1"/part-r-* | LC_ALL=C sort | cmp - "$SHARED/expected"
}

# counter NAME: of the job that ran last; 0 if it has none.
counter() {
    local value
    value=$(sed -n "s/^[[:space:]]*$1=//p" "$CONSOLE")
    echo "${value:-0}"
}

@test "without local disks, reducers read map output from its files in the shared folder" {
    cluster start --dir "$DIR" --nodemanagers 1 --no-history --mode lustre-only --shared "$SHARED"
    [ -z "$(find "$DIR/data" -name nodemanager-1)" ]
    count_words out
    [ "$(counter 'Reduce shuffle bytes')" -gt 0 ]
    [ "$(counter BYTES_SHARED_PATH)" -eq "$(counter 'Reduce shuffle bytes')" ]
    [ "$(counter BYTES_TCP)" -eq 0 ]
    count_words merged -D mapred.rdma.shuffle.merge.enabled=true -D mapreduce.reduce.memory.totalbytes=1048576
    [ "$(counter STREAMED_REDUCES)" -ge 1 ]
    if [ -n "${E2E_SLOW:-}" ]; then
        count_words half -D mapred.rdma.shuffle.lustre.read.percentage=50 -D mapreduce.job.reduces=2
        [ "$(counter BYTES_SHARED_PATH)" -gt 0 ]
        [ "$(counter BYTES_SHARED_PATH)" -lt "$(counter 'Reduce shuffle bytes')" ]
        count_words encrypted -D mapreduce.job.encrypted-intermediate-data=true
        [ "$(counter BYTES_SHARED_PATH)" -gt 0 ]
        count_words none -D mapred.rdma.shuffle.lustre=1
        [ "$(counter BYTES_SHARED_PATH)" -eq 0 ]
    fi
    run -1 cluster start --dir "$DIR" --mode hhh
    [[ $output == *'made without HDFS'* ]]
}

@test "with local disks, intermediate data stays there and reducers fetch it" {
    slow
    rm -rf "$DIR" "$SHARED"/howdah-*
    cluster start --dir "$DIR" --nodemanagers 2 --mode lustre-local --shared "$SHARED"
    count_words local
    [ "$(counter BYTES_SHARED_PATH)" -eq 0 ]
    [ "$(counter 'Reduce shuffle bytes')" -gt 0 ]
    run -0 find "$SHARED" -name usercache
    [ -z "$output" ]
    cluster status --dir "$DIR" --json | field 's["defaultFs"], s["state"]' | grep -q "'shared:///', 'running'"
    with "$DIR" howdah stat | grep -q 'MapReduce shuffle'
}

# examples PROGRAM ARGUMENT...: one of Hadoop's example jobs.
examples() { with "$DIR" hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar "$@"; }

# crc_files FOLDER...: the checksum files that stock's local file system leaves.
crc_files() { find "$@" -name '.*.crc'; }

# jobs_in_history N: whether the history server knows so many jobs that succeeded, at least.
jobs_in_history() {
    local port
    port=$(sed -n 's/^port.historyserver.http=//p' "$DIR/cluster.properties")
    [ "$(curl -fsS "http://localhost:$port/ws/v1/history/mapreduce/jobs" | grep -o '"state":"SUCCEEDED"' | wc -l)" -ge "$1" ]
}

@test "jobs on YARN read, write, stage and localize files of shared:///" {
    slow
    rm -rf "$DIR"
    cluster start --dir "$DIR" --nodemanagers 2 --mode lustre-local --shared "$SHARED"
    count_words stock-fs -D fs.defaultFS=file:///
    [ -n "$(crc_files "$SHARED/stock-fs")" ]
    count_words all-jobs
    [ -z "$(crc_files "$SHARED/all-jobs")" ]
    with "$DIR" hdfs dfs -ls "shared://$SHARED/all-jobs" | grep -q "shared://$SHARED/all-jobs/part-r-00000"
    # A file of the user's, which each task's NodeManager copies.
    seq 1 100 >"$BATS_TEST_TMPDIR/numbers"
    with "$DIR" hadoop jar "$TREE"/share/hadoop/tools/lib/hadoop-streaming-*.jar -files "$BATS_TEST_TMPDIR/numbers" \
        -D mapreduce.job.reduces=2 -input "$SHARED/text" -output "$SHARED/streamed" \
        -mapper 'sh -c "cat >/dev/null; wc -l <numbers"' -reducer 'uniq -c'
    [ "$(cat "$SHARED"/streamed/part-* | awk '{ sum += $1; if ($2 != 100) exit 1 } END { print sum }')" -ge 2 ]
    examples teragen 20000 "$SHARED/tera"
    examples terasort -D mapreduce.job.reduces=2 "$SHARED/tera" "$SHARED/sorted"
    examples teravalidate "$SHARED/sorted" "$SHARED/valid"
    grep -q ^checksum "$SHARED"/valid/part-*
    [ -z "$(crc_files "$SHARED/tera" "$SHARED/sorted" "$SHARED/valid")" ]
    # The history server finds what the ApplicationMasters wrote.
    wait_until 60 jobs_in_history 5
    [ -n "$(find "$SHARED" -name .staging)" ]
    run -0 find "$SHARED" -path '*/.staging/job_*'
    [ -z "$output" ]
}
