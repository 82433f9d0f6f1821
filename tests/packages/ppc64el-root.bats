#!/usr/bin/env bats
# shellcheck disable=SC2016 # formats for dpkg
# A whole system for ppc64el, its programs run by emulation, that is all nodes of docs/guide/start.md, whose commands are run as they stand.
# Slow: an emulated Java is ten times slower than the real one. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/pages.bash"
    export ROOT=$BATS_FILE_TMPDIR/root GNUPGHOME=$BATS_FILE_TMPDIR/gnupg BLOCKS=$BATS_FILE_TMPDIR/blocks
    export REASON ROOT_ARCH=ppc64el ROOT_SUITE=bookworm PAGE_SECONDS=3600
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    # A JDK 8 for that machine, made as this machine's was.
    JAVA_HOME=$HOWDAH_CACHE/jdk8-ppc64el
    [ -x "$JAVA_HOME/bin/java" ] || (. "$HOWDAH_ROOT/ci/lib/common.sh" && make_private_jdk8 "$JAVA_HOME" ppc64el)
    make_root "$ROOT"
    offer_signed_packages
    boot_root "$ROOT"
    in_root hostname node1
    mkdir "$BLOCKS"
    cut_blocks docs/guide/start.md
}

teardown_file() {
    [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }
    gpgconf --kill gpg-agent 2>/dev/null || true # there is none if no repository was signed
}

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/services.bash"
    . "$HOWDAH_ROOT/tests/packages/pages.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

@test "1: the packages install from the repository, and nothing runs" {
    [ "$(in_root dpkg --print-architecture)" = ppc64el ]
    [ "$(in_root uname -m)" = ppc64le ]
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root useradd -m alice
    serve_packages
    page 1
    [ -z "$(in_root dpkg --audit)" ]
    [ "$(in_root dpkg-query -W -f '${Architecture}' howdah-engine)" = ppc64el ]
    run in_root pgrep -f org.apache.hadoop
    [ "$status" -eq 1 ]
}

@test "2: howdah doctor looks at the node" {
    run page 2
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *transports* ]]
}

@test "3, 4: the configuration is written, HDFS and YARN start" {
    page 3
    page 4
}

@test "5, 6: jobs give what is right, over the engine" {
    run page 5
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *camel*20000*howdah*10000* ]]
    [[ $output == *'Pi is roughly 3.'* ]]
    run page 6
    echo "$output"
    [ "$status" -eq 0 ]
    grep -qE '^HDFS writes +shm ' <<<"$output"
}

@test "what has no native code for POWER says so" {
    in_root apt-get -qq -y --no-install-recommends install howdah-hadoop-timelineserver </dev/null
    refuses howdah-hadoop-timelineserver '*LevelDB*yarn.timeline-service.store-class*MemoryTimelineStore*'
}

@test "the services stop, and purge leaves nothing" {
    local daemon
    for daemon in historyserver nodemanager resourcemanager datanode namenode; do in_root service "howdah-hadoop-$daemon" stop; done
    run in_root pgrep -f org.apache.hadoop
    [ "$status" -eq 1 ]
    in_root update-alternatives --remove hadoop-conf /etc/hadoop/conf.site
    in_root rm -rf /etc/hadoop/conf.site
    in_root apt-get -qq -y purge '^howdah-hadoop' '^howdah-spark' '^howdah-conf' '^howdah-engine'
    [ -z "$(in_root dpkg --audit)" ]
    [ ! -e "$ROOT/usr/lib/howdah" ] && [ ! -e "$ROOT/etc/hadoop" ] && [ ! -e "$ROOT/var/log/hadoop-hdfs" ]
}
