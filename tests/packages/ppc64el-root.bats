#!/usr/bin/env bats
# shellcheck disable=SC2016 # expanded in there, or formats for dpkg
# A whole system for ppc64el, its programs run by emulation: the packages from the repository, howdah doctor, and a smoke of
# the daemons. Slow: an emulated Java is ten times slower than the real one. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root REASON ROOT_ARCH=ppc64el DEBS=$HOWDAH_BUILD/packages/deb
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    # A JDK 8 for that machine, made as this machine's was.
    JAVA_HOME=$HOWDAH_CACHE/jdk8-ppc64el
    [ -x "$JAVA_HOME/bin/java" ] || (. "$HOWDAH_ROOT/ci/lib/common.sh" && make_private_jdk8 "$JAVA_HOME" ppc64el)
    make_root "$ROOT"
    offer_packages "$DEBS"
    boot_root "$ROOT"
}

teardown_file() { [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }; }

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/services.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

@test "everything installs from the repository, and nothing runs" {
    [ "$(in_root dpkg --print-architecture)" = ppc64el ]
    [ "$(in_root uname -m)" = ppc64le ]
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root apt-get -qq update
    in_root apt-get -qq -y --no-install-recommends install howdah-hadoop-conf-pseudo howdah-hadoop-timelineserver howdah-spark-core </dev/null
    [ -z "$(in_root dpkg --audit)" ]
    [ "$(in_root dpkg-query -W -f '${Architecture}' howdah-engine)" = ppc64el ]
    run in_root pgrep -f org.apache.hadoop
    [ "$status" -eq 1 ]
}

@test "howdah doctor says how the node is" {
    run in_root howdah doctor
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *[Jj]ava* ]]
}

@test "NameNode and DataNode start by their services, and HDFS takes a file" {
    in_root setpriv --reuid hdfs --regid hdfs --init-groups env HOME=/var/lib/hadoop-hdfs hdfs namenode -format -nonInteractive
    in_root service howdah-hadoop-namenode start
    in_root service howdah-hadoop-datanode start
    wait_for_hdfs
    in_root sh -c 'echo camel >/tmp/words'
    in_root setpriv --reuid hdfs --regid hdfs --init-groups env HOME=/var/lib/hadoop-hdfs sh -ec '
        hdfs dfs -mkdir -p /user/hdfs
        hdfs dfs -put /tmp/words words
        [ "$(hdfs dfs -cat words)" = camel ]'
    in_root service howdah-hadoop-namenode status
    in_root service howdah-hadoop-datanode status
}

@test "what has no native code for POWER says so" {
    refuses howdah-hadoop-timelineserver '*LevelDB*yarn.timeline-service.store-class*MemoryTimelineStore*'
}

@test "the services stop, and purge leaves nothing" {
    in_root service howdah-hadoop-datanode stop
    in_root service howdah-hadoop-namenode stop
    run in_root pgrep -f org.apache.hadoop
    [ "$status" -eq 1 ]
    in_root apt-get -qq -y purge '^howdah-hadoop' '^howdah-spark' '^howdah-conf' '^howdah-engine'
    [ -z "$(in_root dpkg --audit)" ]
    [ ! -e "$ROOT/usr/lib/howdah" ] && [ ! -e "$ROOT/etc/hadoop" ] && [ ! -e "$ROOT/var/log/hadoop-hdfs" ]
}
