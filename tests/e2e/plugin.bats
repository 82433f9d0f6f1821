#!/usr/bin/env bats
# Howdah's jars in an installation of the official Hadoop jars, by the commands of docs/guide/moving.md as they stand, and out of it
# again. The installation is the reference tree without what is ours but the command that starts a local cluster.

bats_require_minimum_version 1.5.0

load lib

setup() {
    set_up_tree
    DIR=$BATS_TEST_TMPDIR/c
    slow
    PLACE=$BATS_TEST_TMPDIR/hadoop
    [ -x "$ROOT/build/stock/bin/hdfs" ] || { echo "there is no $ROOT/build/stock: make stock" && return 1; }
    cp -a "$ROOT/build/stock" "$PLACE"
    rm "$PLACE"/lib/native/libhowdah* "$PLACE"/share/howdah/howdah-{engine,upgrade,rpc,hdfs,storage,mapreduce,spark,bench,examples}-*.jar
    find "$PLACE" -xtype l -name 'howdah-*.jar' -delete # links to these
}

teardown() { [ ! -d "$DIR" ] || HOWDAH=$PLACE/bin/howdah cluster stop --dir "$DIR"; }

# block N: the Nth block of commands of the plug-in's part of the page.
block() {
    awk -v n="$1" '/^### As a plug-in/ { in_part = 1; next } /^##/ { in_part = 0 }
        in_part && /^    / { if (!open) { open = 1; i++ } if (i == n) { sub(/^    /, ""); print } next } { open = 0 }' "$ROOT/docs/guide/moving.md"
}

# traffic: what a job of MapReduce on the installation went over, as howdah stat has it.
traffic() {
    local HOWDAH=$PLACE/bin/howdah
    cluster start --dir "$DIR" --datanodes 1 --nodemanagers 1 --no-history --timeout 600 >&2 || return
    (
        eval "$(cluster env --dir "$DIR")"
        unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME HADOOP_YARN_HOME HADOOP_MAPRED_HOME SPARK_HOME
        "$PLACE/bin/hdfs" dfs -put -f "$ROOT/README.md" text
        "$PLACE/bin/hdfs" dfs -rm -r -f counts
        "$PLACE/bin/hadoop" jar "$PLACE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-2.8.1.jar wordcount text counts
        "$PLACE/bin/hdfs" dfs -cat 'counts/part-*' | grep -q '^Howdah'
    ) >&2 || return
    "$HOWDAH" stat --dir "$DIR" || return
    cluster stop --dir "$DIR" >&2
}

# jars: of Hadoop in the installation.
jars() { (cd "$1/share/hadoop" && find . -name 'hadoop-*.jar*' | sort); }

@test "official jars use the engine once Howdah's are put among them, and are as before once these are taken out" {
    local part
    HADOOP_HOME=$PLACE bash -eo pipefail -c "$(block 1)"
    [ -z "$(find "$PLACE/share/hadoop" -name 'hadoop-hdfs-2.8.1.jar')" ]
    # shellcheck disable=SC2030,SC2031 # each test has its own
    export HOWDAH_HOME=$TREE # what block 2 says, for daemons, containers and commands alike
    [ "$(block 2)" = 'export HOWDAH_HOME=/path/to/howdah' ]
    run traffic
    echo "$output"
    [ "$status" -eq 0 ]
    for part in RPC 'HDFS writes' 'HDFS reads' 'MapReduce shuffle'; do grep -qE "^$part +shm " <<<"$output"; done

    HADOOP_HOME=$PLACE bash -eo pipefail -c "$(block 3)"
    diff <(jars "$PLACE") <(jars "$ROOT/build/stock")
    [ -z "$(find "$PLACE/share/hadoop" -name 'howdah-*.jar')" ]
}

# shuffles: what each executor of official Spark says at its end of the blocks that it fetched.
shuffles() {
    local log=$BATS_TEST_TMPDIR/log4j.properties
    printf '%s\n' 'log4j.rootLogger=WARN, err' 'log4j.logger.io.howdah.spark=INFO' \
        'log4j.logger.org.apache.spark.executor.Executor=INFO' 'log4j.appender.err=org.apache.log4j.FileAppender' \
        'log4j.appender.err.File=blocks.log' 'log4j.appender.err.layout=org.apache.log4j.SimpleLayout' >"$log"
    (
        unset HADOOP_CONF_DIR
        cd "$BATS_TEST_TMPDIR"
        SPARK_HOME=$PLACE SPARK_LOCAL_IP=127.0.0.1 "$PLACE/bin/spark-submit" --master 'local-cluster[2,1,1024]' --conf spark.ui.enabled=false \
            --conf spark.executor.extraJavaOptions="-Dlog4j.configuration=file:$log" \
            --class io.howdah.examples.spark.GroupByTest "$TREE"/share/howdah/howdah-examples-*.jar 4 500 4092 4
    ) >&2 || return
    find "$PLACE/work" -name blocks.log -exec cat {} +
}

@test "official Spark fetches over the engine once Howdah's jars are put among its own, and is as before once these are taken out" {
    local before
    before=$(ls "$PLACE/jars")
    SPARK_HOME=$PLACE bash -eo pipefail -c "$(block 4)"
    # shellcheck disable=SC2030,SC2031 # each test has its own
    export HOWDAH_HOME=$TREE
    shuffles >"$BATS_TEST_TMPDIR/said"
    cat "$BATS_TEST_TMPDIR/said"
    [ "$(grep -cE 'fetched [1-9][0-9]* blocks.* and 0 of 0 bytes over Netty' "$BATS_TEST_TMPDIR/said")" -eq 2 ]

    SPARK_HOME=$PLACE bash -eo pipefail -c "$(block 5)"
    diff <(ls "$PLACE/jars") - <<<"$before"
    rm -rf "$PLACE/work"
    shuffles >"$BATS_TEST_TMPDIR/said"
    [ "$(grep -c 'Starting executor ID' "$BATS_TEST_TMPDIR/said")" -eq 2 ]
    run ! grep -i 'block transfer' "$BATS_TEST_TMPDIR/said"
}
