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
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --debs /nonexistent --rpms "$RPMS" --out "$BATS_FILE_TMPDIR/made"
    mkdir -p "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk"
    stub_package debian-base "$BATS_FILE_TMPDIR/base" < <(base_provides)
    stub_package site-jdk "$BATS_FILE_TMPDIR/jdk" <<<java-1.8.0-headless
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
    [ -z "$REASON" ] || skip "$REASON"
}

# base_provides: what Debian's base system has, in rpm's words.
base_provides() {
    find "$ROOT/usr/lib" -xdev -name '*.so*' -type f | /usr/lib/rpm/find-provides | sort -u
    printf '%s\n' /bin/sh /bin/bash /sbin/ldconfig /usr/sbin/{useradd,groupadd,usermod,update-alternatives} /usr/bin/python3 \
        /usr/bin/env /usr/bin/bash 'rtld(GNU_HASH)' bash util-linux
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

# dnf_root REPOSITORY... -- ARGUMENT...: dnf on the system, with no repository but these.
dnf_root() {
    local repositories=()
    while [ "$1" != -- ]; do
        repositories+=("--repofrompath=$(basename "$1")-$(basename "$(dirname "$1")"),file://$1" --repo="$(basename "$1")-$(basename "$(dirname "$1")")")
        shift
    done
    shift
    printf '[main]\ngpgcheck=1\nrepo_gpgcheck=0\nlocalpkg_gpgcheck=0\ninstall_weak_deps=False\nreposdir=/nonexistent\nkeepcache=0\n' >"$BATS_FILE_TMPDIR/dnf.conf"
    rpm --root "$ROOT" --import "$BATS_FILE_TMPDIR/made/yum/howdah.asc"
    dnf -q -y -c "$BATS_FILE_TMPDIR/dnf.conf" --installroot="$ROOT" --releasever=1 --nogpgcheck "${repositories[@]}" "$@"
}

@test "the packages are signed" {
    rpm --root "$ROOT" --import "$BATS_FILE_TMPDIR/made/yum/howdah.asc"
    run rpm --root "$ROOT" --checksig "$BATS_FILE_TMPDIR"/made/yum/packages/*.rpm
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *'NOT OK'* ]]
    gpg --batch --verify "$BATS_FILE_TMPDIR/made/yum/repodata/repomd.xml.asc" "$BATS_FILE_TMPDIR/made/yum/repodata/repomd.xml"
}

@test "without a JDK 8 dnf refuses and names it" {
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" -- install howdah-hadoop
    [ "$status" -ne 0 ]
    [[ $output == *java-1.8.0-headless* ]]
    [ ! -e "$ROOT/usr/bin/hadoop" ]
}

@test "beside another Hadoop dnf refuses and names it; rpm refuses what is for another processor" {
    mkdir "$BATS_FILE_TMPDIR/other"
    stub_package hadoop "$BATS_FILE_TMPDIR/other" <<<another-hadoop
    rpm --root "$ROOT" -i --nosignature "$BATS_FILE_TMPDIR"/other/noarch/hadoop-1-1.noarch.rpm
    run dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- install howdah-hadoop
    rpm --root "$ROOT" -e hadoop
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'conflicts with hadoop'* ]]
    run rpm --root "$ROOT" -i --test --nosignature "$RPMS"/ppc64le/howdah-engine-0*.rpm
    [ "$status" -ne 0 ]
    [[ $output == *'different architecture'* ]]
}

@test "everything installs, and nothing runs" {
    dnf_root "$BATS_FILE_TMPDIR/made/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- install howdah-hadoop-conf-pseudo \
        howdah-hadoop-{secondarynamenode,journalnode,zkfc,timelineserver} howdah-spark howdah-spark-history-server howdah-engine-devel howdah-slurm-pbs
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ "$(in_root readlink -f /etc/hadoop/conf)" = /etc/hadoop/conf.pseudo ]
    [ "$(in_root stat -c %U:%G:%a /var/lib/hadoop-hdfs)" = hdfs:hadoop:755 ]
    in_root ldconfig -p | grep -q libhowdah || in_root ls /usr/lib64/libhowdah.so.0
}

@test "daemons start by their services; WordCount and a Spark job run" {
    in_root useradd -m worker
    in_root howdah pseudo start worker
    count_words
    count_words_with_spark --conf spark.ui.enabled=false
}

@test "an upgrade keeps settings and data, and runs what ran before" {
    local before
    before=$(in_root cat /run/howdah-hadoop-namenode/hadoop-hdfs-namenode.pid)
    in_root sh -c 'echo "# of this site" >>/etc/hadoop/conf.dist/hadoop-env.sh'
    BIGTOP_BUILD_STAMP=2 "$HOWDAH_ROOT/ci/rpm" --out "$BATS_FILE_TMPDIR/newer" x86_64
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --debs /nonexistent --rpms "$BATS_FILE_TMPDIR/newer" --out "$BATS_FILE_TMPDIR/made2"
    dnf_root "$BATS_FILE_TMPDIR/made2/yum" "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- upgrade
    [ -z "$(rpm --root "$ROOT" -qa --qf '%{name} %{release}\n' 'howdah-*' | grep -v ' 2$')" ]
    in_root grep -q 'of this site' /etc/hadoop/conf.dist/hadoop-env.sh
    [ "$(in_root cat /run/howdah-hadoop-namenode/hadoop-hdfs-namenode.pid)" != "$before" ]
    wait_for_hdfs
    words_counted
}

@test "removal stops the daemons and leaves data and changed settings" {
    dnf_root "$BATS_FILE_TMPDIR/base" "$BATS_FILE_TMPDIR/jdk" -- remove 'howdah-*'
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ -e "$ROOT/var/lib/hadoop-hdfs/pseudo/name/current/VERSION" ]
    [ -e "$ROOT/etc/hadoop/conf.dist/hadoop-env.sh.rpmsave" ]
    [ ! -e "$ROOT/usr/bin/hadoop" ] && [ ! -e "$ROOT/usr/lib/howdah" ]
}
