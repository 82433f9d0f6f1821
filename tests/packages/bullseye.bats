#!/usr/bin/env bats
# shellcheck disable=SC2016 # expanded in there
# The packages on Debian 11, which has an older C library (2.31), shell and tools. The private JDK 8 of this machine carries a C
# library of its own; so the native libraries are also loaded by Debian 11's Java 11, which uses the system's. Slow. The tests build
# on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root REASON ROOT_SUITE=bullseye DEBS=$HOWDAH_BUILD/packages/deb
    export ROOT_EXTRA=openjdk-11-jre-headless,libsnappy1v5,liblz4-1,libbz2-1.0,libssl1.1
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    make_root "$ROOT"
    offer_packages "$DEBS"
    boot_root "$ROOT"
}

teardown_file() { [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }; }

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    [ -z "$REASON" ] || skip "$REASON"
    OLD=(env JAVA_HOME=/usr/lib/jvm/java-11-openjdk-amd64 HOWDAH_ALLOW_JDK=1)
}

@test "everything installs from the repository, and howdah doctor says how the node is" {
    [[ $(in_root ldd --version) == *' 2.31'* ]]
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root apt-get -qq update
    in_root apt-get -qq -y --no-install-recommends install howdah-hadoop-conf-pseudo howdah-spark </dev/null
    [ -z "$(in_root dpkg --audit)" ]
    in_root useradd -m worker
    run as_user worker howdah doctor
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *[Jj]ava* ]]
}

@test "HDFS and YARN come up by their services, and a job counts" {
    in_root howdah pseudo start worker
    count_words
    in_root howdah pseudo stop
}

@test "with Debian 11's own C library all native libraries load" {
    run as_user worker "${OLD[@]}" hadoop checknative -a
    echo "$output"
    [ "$status" -eq 0 ]
    local library
    for library in hadoop zlib snappy lz4 bzip2 openssl; do grep -qE "^$library: +true /" <<<"$output"; done
}
