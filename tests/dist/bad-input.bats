# What the commands say when Java, the configuration or the tree itself is not as it should be.

load tree

setup_file() { find_built_tree; }

# jdk VERSION: a folder that looks like that JDK.
jdk() {
    mkdir -p "$BATS_TEST_TMPDIR/jdk/bin"
    echo "JAVA_VERSION=\"$1\"" >"$BATS_TEST_TMPDIR/jdk/release"
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/bash' 'printf "%s\n" "$@"' >"$BATS_TEST_TMPDIR/jdk/bin/java"
    chmod +x "$BATS_TEST_TMPDIR/jdk/bin/java"
    export JAVA_HOME=$BATS_TEST_TMPDIR/jdk
}

@test "a JAVA_HOME that does not exist, or holds no Java" {
    JAVA_HOME=/no/such/jdk fails_with "JAVA_HOME=/no/such/jdk is not a folder" "$TREE/bin/hadoop" version
    JAVA_HOME=/usr/share fails_with "holds no bin/java" "$TREE/bin/hdfs" version
    JAVA_HOME=/usr/share fails_with "holds no bin/java" "$TREE/bin/spark-submit" --version
}

@test "a JDK that is not 8 is refused, unless one insists" {
    jdk 17.0.15
    fails_with "is Java 17; Hadoop and Spark of this age need Java 8" "$TREE/bin/hadoop" version
    fails_with "is Java 17" "$TREE/bin/spark-shell" --version
    HOWDAH_ALLOW_JDK=1 run -0 "$TREE/bin/hadoop" version
    [[ $output == *"Java 17 is not supported"* && $output == *--add-opens=java.base/java.lang=ALL-UNNAMED* ]]
    jdk 1.7.0_80
    fails_with "is Java 7" "$TREE/bin/yarn" version
}

@test "a Java that does not run is shown with the loader's own words" {
    mkdir -p "$BATS_TEST_TMPDIR/jdk/bin"
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/bash' 'echo "$0: /lib64/libc.so.6: version \`GLIBC_2.34'"'"' not found (required by $0)" >&2; exit 1' >"$BATS_TEST_TMPDIR/jdk/bin/java"
    chmod +x "$BATS_TEST_TMPDIR/jdk/bin/java"
    export JAVA_HOME=$BATS_TEST_TMPDIR/jdk
    for command in 'hadoop version' 'hdfs dfs -ls' 'spark-submit --version' 'howdah cluster status'; do
        # shellcheck disable=SC2086
        fails_with "GLIBC_2.34' not found" "$TREE"/bin/$command
    done
}

@test "without JAVA_HOME a Java is looked for" {
    unset JAVA_HOME
    run "$TREE/bin/hadoop" version
    # What this machine has decides; a message it must be.
    [ "$status" -eq 0 ] || [[ $output == *"error: "*Java* ]]
}

@test "a configuration folder that does not exist" {
    fails_with "/no/such/conf does not exist" "$TREE/bin/hdfs" --config /no/such/conf dfs -ls
    HADOOP_CONF_DIR=/no/such/conf fails_with "/no/such/conf does not exist" "$TREE/bin/spark-submit" --version
    SPARK_CONF_DIR=/no/such/conf fails_with "/no/such/conf does not exist" "$TREE/bin/spark-submit" --version
}

@test "a malformed site file is named with its line" {
    cp -R "$TREE/etc/hadoop" "$BATS_TEST_TMPDIR/conf"
    printf '<configuration>\n  <property>\n    <name>a</nam>\n' >"$BATS_TEST_TMPDIR/conf/core-site.xml"
    export HADOOP_CONF_DIR=$BATS_TEST_TMPDIR/conf
    for command in 'hadoop fs -ls' 'yarn node -list' 'spark-submit --version' 'hadoop conftest'; do
        # shellcheck disable=SC2086
        fails_with "$HADOOP_CONF_DIR/core-site.xml:3:" "$TREE"/bin/$command
    done
}

@test "a malformed site file is named with its line where there is no xmllint" {
    mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/conf"
    for tool in bash readlink sed id uname; do ln -s "$(command -v $tool)" "$BATS_TEST_TMPDIR/bin/$tool"; done
    ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$BATS_TEST_TMPDIR/bin/python3"
    printf '<configuration>\n  <property>\n    <name>a</nam>\n' >"$BATS_TEST_TMPDIR/conf/core-site.xml"
    PATH=$BATS_TEST_TMPDIR/bin fails_with "$BATS_TEST_TMPDIR/conf/core-site.xml:3:" \
        "$TREE/bin/hadoop" --config "$BATS_TEST_TMPDIR/conf" version
}

@test "a log folder that cannot be made" {
    touch "$BATS_TEST_TMPDIR/file"
    HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/file/log fails_with "the log folder $BATS_TEST_TMPDIR/file/log cannot be made" \
        "$TREE/bin/hdfs" --daemon start namenode
}

@test "a half-built or half-unpacked tree" {
    copy_of_tree "$BATS_TEST_TMPDIR/tree"
    rm "$BATS_TEST_TMPDIR/tree/RELEASE"
    fails_with "this tree is incomplete: $BATS_TEST_TMPDIR/tree/RELEASE is missing" "$BATS_TEST_TMPDIR/tree/bin/hadoop" version
    fails_with "this tree is incomplete" "$BATS_TEST_TMPDIR/tree/bin/spark-shell"
}

@test "a jar that is not there" {
    fails_with "there is no jar file nothing.jar" "$TREE/bin/hadoop" jar nothing.jar
    fails_with "there is no example 'nothing'" "$TREE/bin/run-example" nothing
}

@test "a HADOOP_HOME of another installation is not mixed in" {
    HADOOP_HOME=/usr run -0 --separate-stderr "$TREE/bin/hadoop" classpath
    # shellcheck disable=SC2154
    [[ $stderr == *"HADOOP_HOME=/usr is another installation"* ]]
    [[ $output == "$TREE/etc/hadoop:"* ]]
}

# bad_library KIND FOLDER: a libhadoop.so that does not load.
bad_library() {
    mkdir -p "$2"
    python3 - "$1" "$TREE/lib/native/libhadoop.so" "$2/libhadoop.so" <<'PYTHON'
import os, re, sys
kind, source, target = sys.argv[1:]
with open(source, "rb") as file:
    data = bytearray(file.read())
if kind == "machine":
    data[18:20] = (183).to_bytes(2, "little")  # e_machine: AArch64
elif kind == "glibc":
    version = re.search(rb"GLIBC_2\.\d\d\0", data)
    data[version.end() - 3 : version.end() - 1] = b"99"
if kind == "folder":
    os.mkdir(target)
else:
    with open(target, "wb") as file:
        file.write(data)
PYTHON
}

@test "a libhadoop.so that does not load is named with its cause in one line, and Java's own code goes on" {
    local kind
    local -A causes=([machine]=AARCH64 [glibc]='GLIBC_2.99.* not found' [folder]='cannot read file data')
    for kind in "${!causes[@]}"; do
        bad_library "$kind" "$BATS_TEST_TMPDIR/$kind"
        JAVA_LIBRARY_PATH=$BATS_TEST_TMPDIR/$kind run -0 --separate-stderr "$TREE/bin/hadoop" fs -ls file:///etc/passwd
        echo "$stderr"
        [[ $output == */etc/passwd ]]
        [ "$(grep -c NativeCodeLoader <<<"$stderr")" -eq 1 ]
        grep -qE "WARN util.NativeCodeLoader: .*: $BATS_TEST_TMPDIR/$kind/libhadoop.so: .*${causes[$kind]}" <<<"$stderr"
    done
}

# site FILE NAME VALUE: a configuration whose only property is that one, written over lines, after another value in a comment.
site() {
    export HADOOP_CONF_DIR=$BATS_TEST_TMPDIR/conf
    rm -rf "$HADOOP_CONF_DIR"
    cp -R "$TREE/etc/hadoop" "$HADOOP_CONF_DIR"
    printf '<configuration>\n<!-- <property><name>%s</name><value>comment</value></property> -->\n  <property>\n    <name>%s</name>\n    <value>\n%s</value>\n  </property>\n</configuration>\n' \
        "$2" "$2" "$3" >"$HADOOP_CONF_DIR/$1"
}

@test "on POWER a daemon that keeps something in LevelDB does not start, and says what to set" {
    jdk 1.8.0_400
    mkdir -p "$BATS_TEST_TMPDIR/power"
    printf '#!/bin/bash\n[ "$*" = -m ] && echo ppc64le || exec /usr/bin/uname "$@"\n' >"$BATS_TEST_TMPDIR/power/uname"
    chmod +x "$BATS_TEST_TMPDIR/power/uname"
    export PATH=$BATS_TEST_TMPDIR/power:$PATH HADOOP_LOG_DIR=$BATS_TEST_TMPDIR
    fails_with 'set yarn.timeline-service.store-class to' "$TREE/bin/yarn" timelineserver
    site yarn-site.xml yarn.timeline-service.store-class org.apache.hadoop.yarn.server.timeline.MemoryTimelineStore
    run -0 "$TREE/bin/yarn" timelineserver
    site yarn-site.xml yarn.nodemanager.recovery.enabled true
    fails_with 'set yarn.nodemanager.recovery.enabled to false' "$TREE/bin/yarn" nodemanager
    run -0 "$TREE/bin/yarn" resourcemanager
    site yarn-site.xml yarn.nodemanager.recovery.enabled false
    run -0 "$TREE/bin/yarn" nodemanager
    site yarn-site.xml yarn.resourcemanager.store.class org.apache.hadoop.yarn.server.resourcemanager.recovery.LeveldbRMStateStore
    fails_with 'choose FileSystemRMStateStore or ZKRMStateStore' "$TREE/bin/yarn" resourcemanager
    site mapred-site.xml mapreduce.jobhistory.recovery.store.class org.apache.hadoop.mapreduce.v2.hs.HistoryServerLeveldbStateStoreService
    fails_with 'choose HistoryServerFileSystemStateStoreService' "$TREE/bin/mapred" historyserver
    # Elsewhere the library is there.
    rm "$BATS_TEST_TMPDIR/power/uname"
    run -0 "$TREE/bin/mapred" historyserver
}
