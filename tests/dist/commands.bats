# The commands of the tree: what they print, where they find things, what they pass to Java.

load tree

setup_file() { find_built_tree; }

# fake_java: a JDK 8 whose java prints its arguments and some of its environment.
fake_java() {
    export JAVA_HOME=$BATS_TEST_TMPDIR/fake
    mkdir -p "$JAVA_HOME/bin"
    echo 'JAVA_VERSION="1.8.0_1"' >"$JAVA_HOME/release"
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/bash' 'printf "%s\n" "$@" "CLASSPATH=$CLASSPATH"' >"$JAVA_HOME/bin/java"
    chmod +x "$JAVA_HOME/bin/java"
}

@test "hadoop version tells our build" {
    run -0 "$TREE/bin/hadoop" version
    [[ ${lines[0]} == "Hadoop $HADOOP_VERSION-howdah$HADOOP_RELEASE" ]]
}

@test "every command explains itself, and refuses what it does not know" {
    for command in hadoop hdfs yarn mapred; do
        run -0 "$TREE/bin/$command" --help
        [[ ${lines[0]} == "Usage: $command "* ]]
        run -1 "$TREE/bin/$command"
        fails_with "there is no command 'nonsense'" "$TREE/bin/$command" nonsense
    done
    run -0 "$TREE/bin/howdah" help
    for command in bench cluster conf demo doctor perf stat template topo tune; do [[ $output == *"  $command "* ]]; done
    fails_with "there is no subcommand 'nonsense'" "$TREE/bin/howdah" nonsense
    fails_with "there is no subcommand" "$TREE/bin/howdah" cluster-
    fails_with "is not a subcommand" "$TREE/bin/howdah" ../bin/hadoop
}

@test "the engine's tools run as subcommands, from any place" {
    local link=$BATS_TEST_TMPDIR/howdah
    ln -s "$TREE/bin/howdah" "$link"
    HOWDAH_CHUNK_DEPTH=7 run -0 "$link" conf --explain
    grep -qE '^hadoop\.rdma\.chunk\.depth +7 +\(the environment\)' <<<"$output"
    run -0 "$link" topo --json --no-rdma
    run -0 "$link" perf --latency 64 --rounds 1 --iterations 10 --engine-only
    run -0 "$link" tune --transport shm --rounds 3 --only chunk.depth --dry-run
    run -1 "$link" stat 1
    [[ $output == *"process 1 has no engine"* ]]
    HOWDAH_CHUNK_SIZE=huge fails_with "HOWDAH_CHUNK_SIZE=huge" "$link" conf
}

@test "the completion for bash offers what the tree has" {
    # shellcheck source=../../dist/etc/bash_completion.d/howdah
    . "$TREE/etc/bash_completion.d/howdah"
    PATH=$TREE/bin:$PATH COMP_WORDS=(howdah '') COMP_CWORD=1
    _howdah howdah
    expected=$(cd "$TREE/libexec" && printf '%s\n' howdah-* | sed 's/^howdah-//' | cat - <(printf '%s\n' help version) | sort)
    [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort)" = "$expected" ]
    COMP_WORDS=(howdah cluster '') COMP_CWORD=2
    _howdah howdah
    [ "${COMPREPLY[*]}" = 'start status stop env logs' ]
    COMP_WORDS=(howdah template '')
    _howdah howdah
    [ "${COMPREPLY[*]}" = 'list write' ]
    COMP_WORDS=(howdah cluster start --fr) COMP_CWORD=3
    _howdah howdah
    [ "${COMPREPLY[*]}" = --fresh ]
}

@test "howdah doctor looks at the JDK that the other commands take" {
    run "$TREE/bin/howdah" doctor --json
    [ "$status" -le 1 ] || { echo "$output"; false; }
    python3 -c 'import json, sys
report = {(f["section"], f["name"]): f for f in json.load(sys.stdin)["findings"]}
assert report["java", "JDK"]["status"] == "ok", report
assert report["transports", "shm"]["value"].startswith("works"), report' <<<"$output"
    JAVA_HOME=/nonexistent run -2 "$TREE/bin/howdah" doctor
    [[ $output == *"JAVA_HOME=/nonexistent holds no bin/java"* ]]
}

@test "each subcommand names a class that is in the tree" {
    local commands classes
    classes=$(for jar in "$TREE"/share/{hadoop/{common,hdfs,yarn,mapreduce,tools/lib},howdah}/*.jar; do unzip -Z1 "$jar"; done)
    fake_java
    commands=$(cat <<'TEXT'
hadoop fs distcp archive version checknative credential key kdiag kerbname trace daemonlog
hdfs namenode secondarynamenode datanode journalnode zkfc balancer mover dfs dfsadmin haadmin fsck cacheadmin crypto storagepolicies debug getconf groups fetchdt jmxget oiv oiv_legacy oev lsSnapshottableDir snapshotDiff version
yarn resourcemanager nodemanager timelineserver proxyserver application applicationattempt container node queue logs rmadmin scmadmin cluster top daemonlog jar version
mapred historyserver hsadmin job queue sampler pipes distcp archive version
TEXT
    )
    export HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/log
    while read -r command subcommands; do
        for subcommand in $subcommands; do
            class=$("$TREE/bin/$command" "$subcommand" | grep -m 1 -E '^(org|io)\.')
            grep -qxF "${class//.//}.class" <<<"$classes" || { echo "$command $subcommand: no $class"; false; }
        done
    done <<<"$commands"
}

@test "environment variables reach Java" {
    fake_java
    export HADOOP_HEAPSIZE=123 HADOOP_OPTS='-Da=1 -Db=*' HADOOP_CLIENT_OPTS=-Dc=3 HADOOP_ROOT_LOGGER=DEBUG,console
    run -0 "$TREE/bin/hdfs" dfs -ls 'a b'
    for want in -Xmx123m -Da=1 '-Db=*' -Dc=3 -Dhadoop.root.logger=DEBUG,console -Dproc_dfs org.apache.hadoop.fs.FsShell 'a b'; do
        grep -qxF -e "$want" <<<"$output" || { echo "no $want in $output"; false; }
    done
    run -0 "$TREE/bin/hdfs" --loglevel ERROR dfs
    grep -qxF -e -Dhadoop.root.logger=ERROR,console <<<"$output"
    export HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/log HADOOP_NAMENODE_OPTS=-Dnn=1 YARN_NODEMANAGER_OPTS=-Dnm=1 YARN_NODEMANAGER_HEAPSIZE=77
    run -0 "$TREE/bin/hdfs" namenode
    grep -qxF -e -Dnn=1 <<<"$output" && grep -qxF -e -Dhadoop.security.logger=INFO,RFAS <<<"$output"
    run ! grep -qxF -e -Dc=3 <<<"$output"
    run -0 "$TREE/bin/yarn" nodemanager
    grep -qxF -e -Dnm=1 <<<"$output" && grep -qxF -e -Xmx77m <<<"$output"
    HADOOP_HEAPSIZE=lots fails_with "heap size 'lots'" "$TREE/bin/hadoop" version
}

@test "Java is told whether it is a daemon or a command, and a user's own word wins" {
    fake_java
    # The launcher of Spark prints a command with a NUL after each word.
    # shellcheck disable=SC2016
    printf '%s\n' 'case " $* " in *" org.apache.spark.launcher.Main "*)' \
        'printf "%s\0" env A=b "$JAVA_HOME/bin/java" -cp x "${!#}"; exit ;; esac' >>"$JAVA_HOME/bin/java"
    # shellcheck disable=SC2016
    sed -i '2{h;d};${G}' "$JAVA_HOME/bin/java"
    export HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/log HADOOP_PID_DIR=$BATS_TEST_TMPDIR/pid
    role() { "$TREE/bin/$1" "${@:2}" | grep -- '^-Dio.howdah.role=' | tail -n 1 | cut -d= -f2; }
    [ "$(role hdfs dfs -ls)" = 'command' ]
    [ "$(role hdfs namenode)" = daemon ]
    [ "$(role yarn nodemanager)" = daemon ]
    [ "$(role mapred historyserver)" = daemon ]
    [ "$(role hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar)" = 'command' ]
    [ "$(role howdah cluster status)" = 'command' ]
    [ "$(HADOOP_OPTS=-Dio.howdah.role=task role hdfs dfs -ls)" = task ]
    [ "$(role spark-class org.apache.spark.deploy.worker.Worker)" = daemon ]
    [ "$(role spark-class org.apache.spark.deploy.SparkSubmit)" = 'command' ]
}

@test "the class path starts with the configuration and takes HADOOP_CLASSPATH at either end" {
    mkdir "$BATS_TEST_TMPDIR/conf"
    run -0 "$TREE/bin/hadoop" --config "$BATS_TEST_TMPDIR/conf" classpath
    [[ $output == "$BATS_TEST_TMPDIR/conf:$TREE/share/hadoop/common/lib/*:"* ]]
    HADOOP_CLASSPATH=/x.jar run -0 "$TREE/bin/hdfs" classpath
    [[ $output == *:/x.jar ]]
    HADOOP_CLASSPATH=/x.jar HADOOP_USER_CLASSPATH_FIRST=true run -0 "$TREE/bin/yarn" classpath
    [[ $output == /x.jar:* ]]
    run -0 "$TREE/bin/mapred" classpath --glob
    [[ $output == *"/hadoop-common-$HADOOP_VERSION-howdah$HADOOP_RELEASE.jar:"* && $output != *'*'* ]]
}

@test "a site's env file is read, unset variables and failing commands in it or not" {
    mkdir "$BATS_TEST_TMPDIR/conf"
    # shellcheck disable=SC2016
    printf '%s\n' 'false' 'export HADOOP_OPTS="$UNSET -Dfrom=env"' >"$BATS_TEST_TMPDIR/conf/hadoop-env.sh"
    fake_java
    HADOOP_CONF_DIR=$BATS_TEST_TMPDIR/conf run -0 "$TREE/bin/hadoop" version
    grep -qxF -e -Dfrom=env <<<"$output"
}

@test "upstream's benchmarks and tests of MapReduce list their programs, as in the tarball" {
    local jar=$TREE/share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-$HADOOP_VERSION-tests.jar
    for command in hadoop yarn; do
        run "$TREE/bin/$command" jar "$jar"
        for program in DFSCIOTest DistributedFSCheck SliveTest TestDFSIO mrbench nnbench sleep testfilesystem threadedmapbench; do
            [[ $output == *"  $program: "* ]] || { echo "$output"; false; }
        done
        [[ $output != *ClassNotFound* && $output != *NoClassDefFound* ]]
    done
}

@test "run-example lists what the tree has, ours too" {
    local name
    run -0 "$TREE/bin/run-example" --help
    for name in GroupByTest SortByTest pi; do grep -qxF "$name" <<<"$output"; done
    while read -r name; do
        [[ $name =~ ^[A-Z][A-Za-z]*$ ]] || continue
        unzip -Z1 "$TREE"/share/howdah/howdah-examples-*.jar | grep -qxF "io/howdah/examples/spark/$name.class"
    done < <(sed 1d <<<"$output")
}

@test "upstream's old ways are forwarded" {
    fake_java
    run -0 --separate-stderr "$TREE/bin/hadoop" dfsadmin -report
    # shellcheck disable=SC2154
    [[ $stderr == *"use 'hdfs dfsadmin'"* ]]
    grep -qx org.apache.hadoop.hdfs.tools.DFSAdmin <<<"$output"
    fails_with "not part of this distribution" "$TREE/bin/yarn" sharedcachemanager
    fails_with "not part of this distribution" "$TREE/bin/hdfs" nfs3
}

@test "a daemon is started, known, and stopped by its pid file, and without it" {
    fake_java
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/bash' 'exec -a "$0" sleep 60 &' 'trap "kill $!; exit" TERM; wait' >"$JAVA_HOME/bin/java"
    export HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/log HADOOP_PID_DIR=$BATS_TEST_TMPDIR/pid
    run -3 "$TREE/bin/hdfs" --daemon status datanode
    # shellcheck disable=SC2016 # of the other shell
    run -0 bash -c 'umask 077; "$1" start datanode' _ "$TREE/sbin/hadoop-daemon.sh"
    [ "$(stat -c %a "$HADOOP_PID_DIR"/hadoop-*-datanode.pid)" = 644 ] # others may ask for its status
    run -0 "$TREE/bin/hdfs" --daemon status datanode
    [[ $output == "datanode is running as process $(cat "$HADOOP_PID_DIR"/hadoop-*-datanode.pid)" ]]
    fails_with "already running" "$TREE/bin/hdfs" --daemon start datanode
    # A cleaner of /tmp removes what is old, pid files too.
    pid=$(cat "$HADOOP_PID_DIR"/hadoop-*-datanode.pid)
    rm -r "$HADOOP_PID_DIR"
    run -0 "$TREE/bin/hdfs" --daemon status datanode
    [ "$output" = "datanode is running as process $pid" ]
    run -3 "$TREE/bin/hdfs" --daemon status namenode
    HADOOP_PID_DIR=$BATS_TEST_TMPDIR/other run -3 "$TREE/bin/hdfs" --daemon status datanode
    fails_with "already running as process $pid" "$TREE/bin/hdfs" --daemon start datanode
    run -0 "$TREE/bin/hdfs" --daemon stop datanode
    run ! kill -0 "$pid"
    run -3 "$TREE/bin/hdfs" --daemon status datanode
    # A pid that now belongs to somebody else is left alone.
    echo $$ >"$HADOOP_PID_DIR/hadoop-$(id -un)-datanode.pid"
    run -1 "$TREE/bin/hdfs" --daemon status datanode
    run -0 "$TREE/bin/hdfs" --daemon stop datanode
    kill -0 $$
}

@test "a daemon that dies at once is reported with its last words" {
    fake_java
    printf '%s\n' '#!/bin/bash' 'echo no such disk >&2; exit 3' >"$JAVA_HOME/bin/java"
    export HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/log HADOOP_PID_DIR=$BATS_TEST_TMPDIR/pid
    fails_with "no such disk" "$TREE/bin/hdfs" --daemon start datanode
    [[ $output == *"stopped right after its start"* ]]
    [ -z "$(ls "$HADOOP_PID_DIR")" ]
    fails_with "is not a daemon" "$TREE/bin/hdfs" --daemon start dfs
}

@test "the status of a service is known to users who may not signal its daemon" {
    local room other=()
    [ "$(id -u)" -ne 0 ] || other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    room=$(mktemp -d)
    chmod 755 "$room"
    echo "howdah-x|root|$room/log|X of tests|strict|/bin/true|/bin/true|/bin/true" >"$room/list"
    "$ROOT/packages/shared/make-services" "$room/list" "$room"
    sed -i "s,run=/run/howdah-x\$,run=$room/run," "$room/howdah-x.init"
    mkdir "$room/run"
    echo 1 >"$room/run/x.pid" # of root, and always there
    run -0 "${other[@]}" bash "$room/howdah-x.init" status
    [ "$output" = 'howdah-x is running as process 1' ]
    echo 4194399 >"$room/run/x.pid" # above the largest number of a process
    run -1 "${other[@]}" bash "$room/howdah-x.init" status
    [[ $output == 'howdah-x is dead, but its pid file '* ]]
    rm -r "$room"
}
