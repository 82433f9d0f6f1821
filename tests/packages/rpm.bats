#!/usr/bin/env bats
# shellcheck disable=SC2143,SC2016 # "! grep -q" would not fail a test; formats are for dpkg and rpm
# The packages for yum, from the repository into a clean system and out of it again. The system is Debian's, which a
# package of the test's own describes to dnf: what it proves is our metadata, scriptlets and files, not that RHEL has
# packages of the names that we ask for. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root GNUPGHOME=$BATS_FILE_TMPDIR/gnupg REASON
    export RPMS=$HOWDAH_BUILD/packages/rpm
    REASON=$(why_no_root)
    command -v dnf >/dev/null || REASON=${REASON:-dnf is missing}
    [ -z "$REASON" ] || return 0
    (umask 077; mkdir "$GNUPGHOME")
    gpg --batch --quiet --passphrase '' --quick-generate-key 'Howdah test <test@howdah.invalid>' rsa2048 sign never
    make_root "$ROOT"
    mkdir "$ROOT.repo"
    make_repository made "$RPMS"
    mkdir -p "$BATS_FILE_TMPDIR"/{base,jdk,older}
    base_provides >"$BATS_FILE_TMPDIR/provides"
    stub_package debian-base "$BATS_FILE_TMPDIR/base" <"$BATS_FILE_TMPDIR/provides"
    grep -v 'GLIBC_2\.\(2[5-9]\|3[0-9]\)' "$BATS_FILE_TMPDIR/provides" | stub_package older-base "$BATS_FILE_TMPDIR/older"
    stub_package site-jdk "$BATS_FILE_TMPDIR/jdk" <<<java-1.8.0-headless
    mkdir "$BATS_FILE_TMPDIR/home"
    echo '%_dbpath /var/lib/rpm' >"$BATS_FILE_TMPDIR/home/.rpmmacros"
    # As RHEL's loader has it.
    echo /usr/lib64 >"$ROOT/etc/ld.so.conf.d/lib64.conf"
    mkdir -p "$ROOT/usr/lib/jvm"
    ln -s "$JAVA_HOME" "$ROOT/usr/lib/jvm/site-8-jdk"
    touch "$ROOT.repo/ready"
    boot_root "$ROOT"
}

teardown_file() {
    [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }
    gpgconf --kill gpg-agent 2>/dev/null || true # there is none if no repository was signed
}

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/services.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

# base_provides: what Debian's base system has, in rpm's words.
base_provides() {
    find "$ROOT/usr/lib" -xdev -name '*.so*' -type f | /usr/lib/rpm/find-provides | sort -u
    printf '%s\n' /bin/sh /bin/bash /sbin/ldconfig /usr/sbin/{useradd,groupadd,update-alternatives} /usr/bin/gpasswd /usr/bin/python3 \
        /usr/bin/env /usr/bin/bash /usr/bin/pkg-config 'rtld(GNU_HASH)' bash util-linux
}

# make_repository FOLDER RPMS: signed, with a howdah.repo that names its place.
make_repository() {
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --url "file://$BATS_FILE_TMPDIR/$1/yum" --debs /nonexistent --rpms "$2" --out "$BATS_FILE_TMPDIR/$1"
}

# stub_package NAME FOLDER: a package without files that provides what standard input lists; with its own repository.
stub_package() {
    {
        printf 'Name: %s\nVersion: 1\nRelease: 1\nSummary: stub\nLicense: none\nBuildArch: noarch\nAutoReqProv: no\n' "$1"
        sed 's/^/Provides: /'
        printf '%%description\nstub\n%%files\n'
    } >"$2/$1.spec"
    rpmbuild -bb --quiet --define "_topdir $2/build" --define "_rpmdir $2" "$2/$1.spec" >"$2/log" 2>&1
    rm -rf "$2/build"
    createrepo_c --quiet "$2"
}

# rpm_root ARGUMENT...: rpm on the system, with its database where RHEL has it: Debian's rpm has it in the home folder.
rpm_root() { HOME=$BATS_FILE_TMPDIR/home beside_root rpm --root "$ROOT" "$@"; }

# beside_root COMMAND...: with the mounts, processes and network of the system, but this machine's own programs: what a
# package's scripts do must reach the daemons in there.
beside_root() { nsenter --target "$(cat "$ROOT.pid")" --mount --pid --net --uts "$@"; }

# dnf_root REPOSITORY... -- ARGUMENT...: dnf on the system, saying what matters only.
dnf_root() { dnf_aloud "$@" --quiet; }

# dnf_aloud REPOSITORY... -- ARGUMENT...: dnf on the system, as an administrator sees it, with no repository but these:
# ours as its howdah.repo has it, signatures and all, and stubs.
dnf_aloud() {
    local repos=$BATS_FILE_TMPDIR/repos.d
    rm -rf "$repos"
    mkdir "$repos"
    while [ "$1" != -- ]; do
        if [ -e "$1/howdah.repo" ]; then
            cp "$1/howdah.repo" "$repos/"
        else
            printf '[%s]\nname=stub\nbaseurl=file://%s\ngpgcheck=0\n' "${1##*/}" "$1" >"$repos/${1##*/}.repo"
        fi
        shift
    done
    shift
    printf '[main]\ngpgcheck=1\ninstall_weak_deps=False\nkeepcache=0\n' >"$BATS_FILE_TMPDIR/dnf.conf"
    HOME=$BATS_FILE_TMPDIR/home beside_root dnf -y -c "$BATS_FILE_TMPDIR/dnf.conf" --setopt=reposdir="$repos" --installroot="$ROOT" --releasever=1 "$@"
}

@test "the packages are signed" {
    rpm_root --import "$BATS_FILE_TMPDIR/made/yum/howdah.asc"
    run rpm_root --checksig "$BATS_FILE_TMPDIR"/made/yum/packages/*.rpm
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *'NOT OK'* ]]
    gpg --batch --verify "$BATS_FILE_TMPDIR/made/yum/repodata/repomd.xml.asc" "$BATS_FILE_TMPDIR/made/yum/repodata/repomd.xml"
}

@test "dnf takes the signed repository, and not one that was changed afterwards" {
    dnf_root "$BATS_FILE_TMPDIR/made/yum" -- repoquery howdah-engine | grep -q howdah-engine
    local changed=$BATS_FILE_TMPDIR/changed
    cp -R "$BATS_FILE_TMPDIR/made/yum" "$changed"
    sed -i "s,^baseurl=.*,baseurl=file://$changed," "$changed/howdah.repo"
    rm "$changed"/packages/howdah-spark-*
    cp "$changed/repodata/repomd.xml.asc" "$changed/"
    createrepo_c --quiet "$changed"
    mv "$changed/repomd.xml.asc" "$changed/repodata/"
    run dnf_root "$changed" -- repoquery howdah-engine
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *repomd.xml*signature* ]]
}

# refused_without_trace: dnf said no, and the system and its database are as they were.
refused_without_trace() {
    echo "$output"
    [ "$status" -ne 0 ] && [ -z "$(rpm_root -qa 'howdah-*')" ] && [ ! -e "$ROOT/usr/bin/hadoop" ] && [ ! -e "$ROOT/usr/lib/howdah" ]
}

@test "without a JDK 8 dnf refuses and names it" {
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" -- install howdah-hadoop
    refused_without_trace
    [[ $output == *java-1.8.0-headless* ]]
}

@test "with a later Java only dnf refuses" {
    mkdir "$BATS_FILE_TMPDIR/java17"
    printf '%s\n' java-headless java-17-headless 'java-headless = 1:17' jre-headless | stub_package java-17-openjdk-headless "$BATS_FILE_TMPDIR/java17"
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/java17" -- install howdah-hadoop howdah-spark
    refused_without_trace
    [[ $output == *java-1.8.0-headless* ]]
}

@test "beside another Hadoop dnf refuses and names it; rpm refuses what is for another processor" {
    mkdir "$BATS_FILE_TMPDIR/other"
    stub_package hadoop "$BATS_FILE_TMPDIR/other" <<<another-hadoop
    rpm_root -i --nosignature "$BATS_FILE_TMPDIR"/other/noarch/hadoop-1-1.noarch.rpm
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- install howdah-hadoop
    rpm_root -e hadoop
    refused_without_trace
    [[ $output == *'conflicts with hadoop'* ]]
    run rpm_root -i --test --nodeps --nosignature "$RPMS"/ppc64le/howdah-engine-0*.rpm
    [ "$status" -ne 0 ]
    [[ $output == *'different architecture'* ]]
    # Where the repository has nothing for a processor, dnf names the package that is missing.
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- --forcearch=aarch64 install howdah-hadoop
    refused_without_trace
    [[ $output == *howdah-engine* ]]
}

@test "beside another package's /usr/bin/yarn dnf refuses before it unpacks anything, and names both" {
    local other=$BATS_FILE_TMPDIR/yarn
    mkdir "$other"
    printf '%s\n' 'Name: yarn' 'Version: 1' 'Release: 1' 'Summary: another yarn' 'License: none' 'BuildArch: noarch' '%description' 'another' \
        '%install' 'mkdir -p %{buildroot}/usr/bin' 'echo another yarn >%{buildroot}/usr/bin/yarn' '%files' '/usr/bin/yarn' >"$other/yarn.spec"
    rpmbuild -bb --quiet --define "_topdir $other/build" --define "_rpmdir $other" "$other/yarn.spec"
    rpm_root -i --nosignature "$other"/noarch/yarn-1-1.noarch.rpm
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- install howdah-hadoop
    [ "$(cat "$ROOT/usr/bin/yarn")" = 'another yarn' ]
    rpm_root -e yarn
    refused_without_trace
    [[ $output == *'file /usr/bin/yarn '*conflicts*yarn-1-1* ]]
}

@test "on an older release dnf refuses and names the C library" {
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/older" "$BATS_FILE_TMPDIR/jdk" -- install howdah-hadoop
    refused_without_trace
    [[ $output == *'libc.so.6(GLIBC_2.2'[5-8]')'* ]]
}

@test "with a full /var dnf says so, and goes on when there is room" {
    local repositories=("$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base")
    dnf_root "${repositories[@]}" -- makecache
    mkdir "$BATS_TEST_TMPDIR/var"
    beside_root mount -t tmpfs -o size=128m tmpfs "$BATS_TEST_TMPDIR/var"
    beside_root cp -a "$ROOT/var/." "$BATS_TEST_TMPDIR/var/"
    beside_root dd if=/dev/zero of="$BATS_TEST_TMPDIR/var/fill" bs=4k 2>/dev/null || true # until it is full
    beside_root mount --bind "$BATS_TEST_TMPDIR/var" "$ROOT/var"
    run dnf_root "${repositories[@]}" -- install howdah-engine
    beside_root rm "$BATS_TEST_TMPDIR/var/fill"
    local again=0 whole=''
    dnf_root "${repositories[@]}" -- install howdah-engine || again=1
    whole=$(rpm_root -V howdah-engine 2>&1) || true # what it prints decides
    dnf_root "${repositories[@]}" -- remove howdah-engine || again=2
    beside_root umount "$ROOT/var" "$BATS_TEST_TMPDIR/var"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *[Nn]'o space left on device'* || $output == *'disk is full'* || $output == *'more space needed'* ]]
    [ "$again" -eq 0 ]
    [ -z "$whole" ]
}

@test "everything installs, and nothing runs" {
    dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- install howdah-hadoop-conf-pseudo \
        howdah-hadoop-{secondarynamenode,journalnode,zkfc,timelineserver} howdah-spark howdah-spark-history-server howdah-engine-devel howdah-slurm-pbs howdah-doc
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ "$(in_root readlink -f /etc/hadoop/conf)" = /etc/hadoop/conf.pseudo ]
    [ "$(in_root stat -c %U:%G:%a /var/lib/hadoop-hdfs)" = hdfs:hadoop:755 ]
    in_root ldconfig -p | grep -q /libhowdah.so.0
}

@test "a service that cannot start says why" {
    mistake_is_named datanode
    unformatted_is_named
}

@test "a service with the wrong Java or none, and one without room for its logs, say so" {
    wrong_java_is_named
    missing_java_is_named
    full_logs_are_named
}

@test "daemons start by their services; WordCount and a Spark job run" {
    in_root useradd -m worker
    in_root howdah pseudo start worker
    count_words
    count_words_with_spark --conf spark.ui.enabled=false
    write_data
    blocks_are_read_by_file
}

@test "they stop, and come up again with what was written" {
    in_root howdah pseudo stop
    nothing_runs
    in_root howdah pseudo start
    data_is_right
}

@test "an upgrade keeps settings and data, and runs what ran before" {
    local before
    before=$(in_root cat /run/howdah-hadoop-namenode/hadoop-hdfs-namenode.pid)
    in_root sh -c 'echo "# of this site" >>/etc/hadoop/conf.dist/hadoop-env.sh'
    in_root service howdah-hadoop-nodemanager stop
    BIGTOP_BUILD_STAMP=2 "$HOWDAH_ROOT/ci/rpm" --out "$BATS_FILE_TMPDIR/newer" x86_64
    make_repository made2 "$BATS_FILE_TMPDIR/newer"
    dnf_root "$BATS_FILE_TMPDIR/made2/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- upgrade
    [ -z "$(rpm_root -qa --qf '%{name} %{release}\n' 'howdah-*' | grep -v ' 2$')" ]
    in_root grep -q 'of this site' /etc/hadoop/conf.dist/hadoop-env.sh
    [ "$(in_root cat /run/howdah-hadoop-namenode/hadoop-hdfs-namenode.pid)" != "$before" ]
    restarted_in_order
    # What did not run does not.
    [ "$(in_root service howdah-hadoop-nodemanager status)" = 'howdah-hadoop-nodemanager is not running' ]
    in_root service howdah-hadoop-nodemanager start
    wait_for_hdfs
    data_is_right
    # One version of each jar: what the older packages had is gone.
    [ -z "$(in_root find /usr/lib/howdah -name '*.jar' -xtype l)" ]
}

@test "when a daemon cannot come up again, the upgrade is told of it and is whole" {
    break_file /etc/hadoop/conf/core-site.xml
    run dnf_aloud "$BATS_FILE_TMPDIR/made2/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- reinstall howdah-hadoop-nodemanager
    mend_file /etc/hadoop/conf/core-site.xml
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *core-site.xml:* ]]
    [[ $output == *'howdah-hadoop-nodemanager: it could not be restarted'* ]]
    [ -z "$(rpm_root -V howdah-hadoop-nodemanager)" ]
    in_root service howdah-hadoop-nodemanager start
}

@test "removal stops the daemons and leaves data and changed settings; a new installation finds them" {
    local repositories=("$BATS_FILE_TMPDIR/made2/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk")
    dnf_root "${repositories[@]}" -- remove 'howdah-*'
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ -e "$ROOT/var/lib/hadoop-hdfs/pseudo/name/current/VERSION" ]
    [ -e "$ROOT/etc/hadoop/conf.dist/hadoop-env.sh.rpmsave" ]
    [ ! -e "$ROOT/usr/bin/hadoop" ] && [ ! -e "$ROOT/usr/lib/howdah" ]
    dnf_root "${repositories[@]}" -- install howdah-hadoop-conf-pseudo
    in_root howdah pseudo start
    data_is_right
    in_root howdah pseudo stop
    nothing_runs
}

@test "rpm knows no purge: a removal leaves changed settings, data, logs and accounts, and nothing else of ours" {
    dnf_root "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- remove 'howdah-*'
    [ -z "$(rpm_root -qa 'howdah-*')" ]
    local left
    left=$(in_root find /usr /etc /var ! -type d \( -path '*howdah*' -o -path '*hadoop*' \) ! -name '*.rpmsave' ! -path '/var/lib/hadoop-*/*' \
        ! -path '/var/log/hadoop-*/*' ! -path '/var/lib/dnf/*' ! -path '/var/cache/*' ! -path '/var/log/dnf*')
    echo "$left"
    [ -z "$left" ]
    in_root getent passwd hdfs yarn mapred
    in_root rm -r /var/lib/hadoop-hdfs /var/lib/hadoop-yarn /var/log/hadoop-hdfs /var/log/hadoop-yarn /var/log/hadoop-mapred
}
