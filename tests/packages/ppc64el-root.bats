#!/usr/bin/env bats
# A whole system for ppc64el, its programs run by emulation: the packages from the repository, howdah doctor, and a smoke of
# the daemons. Slow: an emulated Java is ten times slower than the real one. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root REASON EMULATION='' ROOT_ARCH=ppc64el DEBS=$HOWDAH_BUILD/packages/deb
    REASON=$(why_no_root)
    [ -n "$REASON" ] || REASON=$(emulation)
    [ -z "$REASON" ] || return 0
    # A JDK 8 for that machine, made as ours was.
    . "$HOWDAH_ROOT/ci/lib/common.sh"
    set +eu
    JAVA_HOME=$HOWDAH_CACHE/jdk8-ppc64el
    [ -x "$JAVA_HOME/bin/java" ] || make_private_jdk8 "$JAVA_HOME" ppc64el
    make_root "$ROOT"
    mkdir -p "$ROOT.repo" "$ROOT/usr/lib/jvm"
    ln -s "$JAVA_HOME" "$ROOT/usr/lib/jvm/site-8-jdk"
    "$HOWDAH_ROOT/ci/repo" --debs "$DEBS" --rpms /nonexistent --out "$BATS_FILE_TMPDIR/made"
    cp -R "$BATS_FILE_TMPDIR/made/apt" "$ROOT.repo/apt"
    echo 'deb [trusted=yes] file:/srv/repo/apt stable main' >"$ROOT/etc/apt/sources.list"
    touch "$ROOT.repo/ready"
    boot_root "$ROOT"
}

teardown_file() {
    [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }
}

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

# emulation: the kernel hands foreign programs to qemu when it returns; otherwise it prints why it cannot be.
emulation() {
    local table=/proc/sys/fs/binfmt_misc
    command -v qemu-ppc64le-static >/dev/null || { echo "qemu-ppc64le-static is missing"; return; }
    [ -e $table/register ] || mount -t binfmt_misc binfmt_misc $table 2>/dev/null || { echo "this kernel has no binfmt_misc"; return; }
    [ -e $table/qemu-ppc64le ] || update-binfmts --enable qemu-ppc64le >/dev/null 2>&1
    grep -qs '^flags:.*F' $table/qemu-ppc64le || echo "the kernel does not take qemu-ppc64le as interpreter"
}

@test "everything installs, and nothing runs" {
    local work=$BATS_TEST_TMPDIR/jdk
    mkdir -p "$work/DEBIAN"
    printf 'Package: howdah-jdk8\nVersion: 1\nArchitecture: all\nMaintainer: site <site@howdah.invalid>\nDescription: the JDK 8 of this site\n' \
        >"$work/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work" "$ROOT/srv/howdah-jdk8.deb"
    in_root dpkg -i /srv/howdah-jdk8.deb
    in_root apt-get -qq update
    in_root apt-get -qq -y --no-install-recommends install howdah-hadoop-conf-pseudo howdah-spark-core howdah-slurm-pbs </dev/null
    [ -z "$(in_root dpkg --audit)" ]
    [ "$(in_root dpkg --print-architecture)" = ppc64el ]
}

@test "howdah doctor says how the node is" {
    run in_root howdah doctor
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *[Jj]ava* ]]
}

@test "the daemons start by their services, and HDFS takes a file" {
    in_root useradd -m worker
    in_root howdah pseudo start worker
    run in_root howdah pseudo status
    [ "$status" -eq 0 ]
    in_root sh -c 'echo camel >/tmp/words'
    as_user worker hdfs dfs -put /tmp/words words
    [ "$(as_user worker hdfs dfs -cat words)" = camel ]
    as_user worker yarn node -list 2>&1 | grep -q 'Total Nodes:1'
}

@test "what has no native code for POWER says so" {
    run as_user yarn yarn timelineserver
    [ "$status" -ne 0 ]
    [[ $output == *MemoryTimelineStore* ]]
}

@test "they stop, and purge leaves nothing" {
    in_root howdah pseudo stop
    in_root apt-get -qq -y purge '^howdah-hadoop' '^howdah-spark' '^howdah-conf' '^howdah-slurm' '^howdah-engine'
    [ -z "$(in_root dpkg --audit)" ]
    [ ! -e "$ROOT/usr/lib/howdah" ]
}
