#!/usr/bin/env bats
# shellcheck disable=SC2143,SC2016 # "! grep -q" would not fail a test; formats are for dpkg and rpm
# The packages for apt, from the repository into a clean system and out of it again. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root GNUPGHOME=$BATS_FILE_TMPDIR/gnupg REASON
    export DEBS=$HOWDAH_BUILD/packages/deb NEWER=$BATS_FILE_TMPDIR/newer AGAIN=$BATS_FILE_TMPDIR/again
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    (umask 077; mkdir "$GNUPGHOME")
    gpg --batch --quiet --passphrase '' --quick-generate-key 'Howdah test <test@howdah.invalid>' rsa2048 sign never
    make_root "$ROOT"
    directory_account hdfs
    mkdir "$ROOT.repo"
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --debs "$DEBS" --rpms /nonexistent --out "$BATS_FILE_TMPDIR/made"
    cp -R "$BATS_FILE_TMPDIR/made/apt" "$ROOT.repo/apt"
    cp "$ROOT.repo/apt/howdah.gpg" "$ROOT/srv/"
    echo 'deb [signed-by=/srv/howdah.gpg] file:/srv/repo/apt stable main' >"$ROOT/etc/apt/sources.list"
    touch "$ROOT.repo/ready"
    boot_root "$ROOT"
}

teardown_file() {
    [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }
    gpgconf --kill gpg-agent 2>/dev/null || true # there is none if no repository was signed
}

# directory_account USER: one that a directory service has, as LDAP would: in no local file, with a primary group of its own kind.
directory_account() {
    mkdir -p "$ROOT/var/lib/extrausers"
    echo "$1:x:6001:6000:of a directory:/var/lib/hadoop-$1:/usr/sbin/nologin" >"$ROOT/var/lib/extrausers/passwd"
    echo 'services:x:6000:' >"$ROOT/var/lib/extrausers/group"
    sed -i -E 's/^(passwd|group):.*/& extrausers/' "$ROOT/etc/nsswitch.conf"
}

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/services.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

# install PACKAGE...: by apt, which says what it does when it fails.
install() { in_root apt-get -qq -y install "$@" </dev/null; }

@test "apt takes the signed repository, and not one that was changed afterwards" {
    in_root apt-get -qq update
    echo >>"$ROOT.repo/apt/dists/stable/main/binary-amd64/Packages"
    gzip -9n <"$ROOT.repo/apt/dists/stable/main/binary-amd64/Packages" >"$ROOT.repo/apt/dists/stable/main/binary-amd64/Packages.gz"
    in_root sh -c 'rm -rf /var/lib/apt/lists/*'
    run in_root apt-get -qq update
    [ "$status" -ne 0 ]
    cp -R "$BATS_FILE_TMPDIR/made/apt/." "$ROOT.repo/apt/"
    in_root apt-get -qq update
}

@test "without a JDK 8 apt refuses, names it, and leaves nothing behind" {
    run in_root apt-get -y install howdah-hadoop
    [ "$status" -ne 0 ]
    [[ $output == *openjdk-8-jre-headless* ]]
    [ -z "$(in_root dpkg --audit)" ]
    [ ! -e "$ROOT/usr/bin/hadoop" ]
}

@test "with a later Java only apt refuses, whatever that Java says it provides" {
    local work=$BATS_TEST_TMPDIR/java17
    mkdir -p "$work/DEBIAN"
    printf 'Package: openjdk-17-jre-headless\nVersion: 17\nArchitecture: all\nMaintainer: m <m@howdah.invalid>\nDescription: Java 17\nProvides: %s\n' \
        'default-jre-headless, java-runtime-headless, java2-runtime-headless, java5-runtime-headless, java8-runtime-headless' >"$work/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work" "$ROOT/srv/java17.deb"
    in_root dpkg -i /srv/java17.deb
    run in_root apt-get -y install howdah-spark
    [ "$status" -ne 0 ]
    [[ $output == *openjdk-8-jre-headless* ]]
    [ -z "$(in_root dpkg --audit)" ]
    [ ! -e "$ROOT/usr/bin/spark-submit" ]
    in_root dpkg --purge openjdk-17-jre-headless
}

@test "beside another Hadoop apt refuses and names it" {
    local work=$BATS_TEST_TMPDIR/other
    mkdir -p "$work/DEBIAN"
    printf 'Package: hadoop\nVersion: 3\nArchitecture: all\nMaintainer: other <o@howdah.invalid>\nDescription: another one\n' >"$work/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work" "$ROOT/srv/hadoop.deb"
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root dpkg -i /srv/hadoop.deb
    run in_root apt-get -y --no-remove install howdah-hadoop
    [ "$status" -ne 0 ]
    [[ $output == *hadoop* ]]
    in_root dpkg --purge hadoop
}

@test "for another processor dpkg refuses, names both, and leaves nothing behind" {
    cp "$ROOT.repo"/apt/pool/main/howdah-engine_*_amd64.deb "$BATS_TEST_TMPDIR/engine.deb"
    mkdir "$BATS_TEST_TMPDIR/x"
    dpkg-deb -R "$BATS_TEST_TMPDIR/engine.deb" "$BATS_TEST_TMPDIR/x"
    sed -i 's/^Architecture: .*/Architecture: ppc64el/' "$BATS_TEST_TMPDIR/x/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$BATS_TEST_TMPDIR/x" "$ROOT/srv/other.deb"
    run in_root dpkg -i /srv/other.deb
    [ "$status" -ne 0 ]
    [[ $output == *'ppc64el'*'does not match system (amd64)'* ]]
    [ -z "$(in_root dpkg --audit)" ]
    # Where the repository has nothing for a processor, apt names the package that is missing.
    run in_root apt-get -s -o APT::Architecture=arm64 -o APT::Architectures=arm64 install howdah-hadoop
    [ "$status" -ne 0 ]
    [[ $output == *howdah* ]]
}

@test "on an older release apt refuses and names the C library" {
    printf 'Package: libc6\nStatus: install ok installed\nVersion: 2.24-11\nArchitecture: amd64\nMaintainer: m <m@howdah.invalid>\nDescription: C\n' \
        >"$ROOT/srv/status"
    run in_root apt-get -s -o Dir::State::status=/srv/status install howdah-engine
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'libc6 (>= 2.2'[5-8]')'* ]]
}

@test "with a full /var apt says so, and goes on when there is room" {
    in_root sh -c 'mkdir -p /srv/var && mount -t tmpfs -o size=64m tmpfs /srv/var && cp -a /var/. /srv/var/ && mount --bind /srv/var /var'
    in_root sh -c 'dd if=/dev/zero of=/var/fill bs=64k 2>/dev/null || true'
    run in_root apt-get -y install howdah-engine
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'No space left on device'* ]]
    in_root rm /var/fill
    install howdah-engine
    [ -z "$(in_root dpkg --audit)" ]
    in_root apt-get -qq -y purge howdah-engine
    in_root umount /var
    in_root umount /srv/var
}

@test "the README's way to install works: the repository on a web server; another package's yarn stays" {
    local other=$BATS_TEST_TMPDIR/other
    mkdir -p "$other/DEBIAN" "$other/usr/bin" "$other/usr/share/man/man1"
    printf 'Package: yarn\nVersion: 1\nArchitecture: all\nMaintainer: other <o@howdah.invalid>\nDescription: another yarn\n' >"$other/DEBIAN/control"
    printf '#!/bin/sh\necho another yarn\n' >"$other/usr/bin/yarn"
    chmod 755 "$other/usr/bin/yarn"
    echo '.TH YARN 1' >"$other/usr/share/man/man1/yarn.1"
    dpkg-deb --root-owner-group -b "$other" "$ROOT/srv/yarn.deb"
    in_root dpkg -i /srv/yarn.deb
    in_root rm /etc/apt/sources.list /srv/howdah.gpg
    in_root sh -c 'rm -rf /var/lib/apt/lists/*'
    in_root setsid python3 -m http.server -d /srv/repo --bind 127.0.0.1 8000 </dev/null >"$ROOT.web" 2>&1 3>&- &
    local lines
    lines=$(sed -n '\,^    curl .*/apt/,,/^    apt update/p' "$HOWDAH_ROOT/README.md" | sed 's/SERVER/127.0.0.1:8000/; s/apt install/apt -y install/; s/curl/curl -sS --retry 20 --retry-connrefused/')
    echo "$lines"
    [ "$(wc -l <<<"$lines")" -eq 3 ]
    in_root sh -ec "$lines" </dev/null
    in_root hadoop version | grep -q "Hadoop $HADOOP_VERSION-howdah"
    [ "$(in_root yarn)" = 'another yarn' ]
    in_root /usr/lib/howdah/bin/yarn version | grep -q "Hadoop $HADOOP_VERSION-howdah"
    in_root dpkg --purge yarn
    in_root update-alternatives --auto yarn
    [ "$(in_root readlink -f /usr/bin/yarn)" = /usr/lib/howdah/bin/yarn ]
    [ -z "$(in_root dpkg --audit)" ]
}

@test "everything installs, and nothing runs" {
    install howdah-hadoop-conf-pseudo howdah-hadoop-{secondarynamenode,journalnode,zkfc,timelineserver} howdah-spark howdah-spark-history-server \
        howdah-engine-dev
    [ -z "$(in_root dpkg --audit)" ]
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ "$(in_root readlink -f /etc/hadoop/conf)" = /etc/hadoop/conf.pseudo ]
    in_root getent passwd hdfs yarn mapred spark
    # The account that was there keeps its group, and none is made that it has no use for.
    [ "$(in_root id -gn hdfs)" = services ]
    [ -z "$(in_root getent group hdfs)" ]
    [ "$(in_root id -gn yarn)" = yarn ]
    for user in hdfs yarn mapred spark; do [[ " $(in_root id -nG "$user") " == *' hadoop '* ]]; done
    [ "$(in_root stat -c %U:%G:%a /var/lib/hadoop-hdfs)" = hdfs:hadoop:755 ]
    # A machine that boots does not start them either.
    [ -z "$(in_root find /etc -path '/etc/rc[2345].d/S*howdah*')" ]
}

@test "the commands say who they are, for any user" {
    in_root useradd -m worker
    as_user worker hadoop version | grep -q "Hadoop $HADOOP_VERSION-howdah"
    as_user worker howdah version | grep -q "Howdah $HOWDAH_VERSION"
    as_user worker spark-submit --version 2>&1 | grep -q "$SPARK_VERSION"
    run as_user worker howdah doctor
    [[ $output == *[Jj]ava* ]]
    [ "$status" -le 2 ]
}

@test "a service that cannot start says why" {
    mistake_is_named namenode
    unformatted_is_named
}

@test "a service with the wrong Java or none, and one without room for its logs, say so" {
    wrong_java_is_named
    missing_java_is_named
    full_logs_are_named
}

@test "howdah pseudo start brings up HDFS and YARN by their services" {
    in_root howdah pseudo start worker
    run in_root howdah pseudo status
    [ "$status" -eq 0 ]
    [ "$(in_root ps -o user= -C java | sort | uniq -c | xargs)" = '2 hdfs 1 mapred 2 yarn' ]
    # A user who may not send a daemon signals is told the same.
    run as_user worker howdah pseudo status
    [ "$status" -eq 0 ]
    [ "$(grep -c 'is running as process' <<<"$output")" -eq 5 ]
    # A second start leaves alone what runs.
    run in_root service howdah-hadoop-datanode start
    [ "$status" -eq 0 ]
    [[ $output == *already* ]]
}

@test "WordCount counts" {
    count_words
}

@test "a Spark job on YARN reads and writes HDFS" {
    count_words_with_spark --conf spark.ui.enabled=false --conf spark.eventLog.enabled=true
    write_data
    blocks_are_read_by_file
    # The history server works as it was shipped, and shows what another user recorded.
    in_root service howdah-spark-history-server start
    local deadline=$((SECONDS + 120))
    until in_root curl -s http://localhost:18080/api/v1/applications | grep -q '"sparkUser" : "worker"'; do
        [ "$SECONDS" -lt "$deadline" ]
        sleep 1
    done
    in_root service howdah-spark-history-server stop
}

# bats test_tags=slow
@test "a configuration out of templates: RPC over the engine only, Spark with the shuffle service" {
    install howdah-slurm-pbs
    in_root howdah template write /etc/hadoop/conf.site pseudo required spark-shuffle
    in_root howdah pseudo stop
    in_root update-alternatives --install /etc/hadoop/conf hadoop-conf /etc/hadoop/conf.site 50
    local daemon
    for daemon in namenode datanode resourcemanager nodemanager historyserver; do in_root service "howdah-hadoop-$daemon" start; done
    wait_for_hdfs
    as_user worker hdfs dfs -rm -r counts spark-counts
    count_words
    count_words_with_spark --conf spark.shuffle.service.enabled=true
    in_root grep -qr 'ExternalShuffleBlockResolver: Registered executor' /var/log/hadoop-yarn
    write_data
    for daemon in historyserver nodemanager resourcemanager datanode namenode; do in_root service "howdah-hadoop-$daemon" stop; done
    in_root update-alternatives --remove hadoop-conf /etc/hadoop/conf.site
    in_root rm -rf /etc/hadoop/conf.site
    in_root howdah pseudo start
}

@test "an upgrade keeps settings and data, and runs what ran before" {
    local before
    before=$(in_root cat /run/howdah-hadoop-namenode/hadoop-hdfs-namenode.pid)
    in_root sh -c 'echo "# of this site" >>/etc/hadoop/conf.dist/hadoop-env.sh; echo "# of this site" >>/etc/default/howdah-hadoop-datanode'
    in_root service howdah-hadoop-nodemanager stop
    newer_debs "$DEBS" "$NEWER"
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --debs "$NEWER" --rpms /nonexistent --out "$BATS_FILE_TMPDIR/made2"
    rm -rf "$ROOT.repo/apt"
    cp -R "$BATS_FILE_TMPDIR/made2/apt" "$ROOT.repo/apt"
    in_root apt-get -qq update
    # Two versions never mix: whoever asks for one package of the newer build gets all that are installed.
    [ "$(in_root apt-get -s install howdah-hadoop-datanode | grep -c '^Inst howdah-')" -eq \
        "$(in_root dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'howdah-*' | grep -v jdk8 | grep -c ' installed$')" ]
    in_root apt-get -qq -y dist-upgrade
    [ -z "$(in_root dpkg-query -W -f '${Version} ${Package}\n' 'howdah-hadoop*' 'howdah-spark*' 'howdah-conf*' 'howdah-slurm*' 'howdah-engine*' | grep -v -e '-2 ')" ]
    [ -z "$(in_root dpkg --audit)" ]
    in_root grep -q 'of this site' /etc/hadoop/conf.dist/hadoop-env.sh /etc/default/howdah-hadoop-datanode
    [ "$(in_root cat /run/howdah-hadoop-namenode/hadoop-hdfs-namenode.pid)" != "$before" ]
    # What did not run does not.
    [ "$(in_root service howdah-hadoop-nodemanager status)" = 'howdah-hadoop-nodemanager is not running' ]
    in_root service howdah-hadoop-nodemanager start
    in_root howdah pseudo status
    restarted_in_order
    wait_for_hdfs
    data_is_right
    # One version of each jar: what the older packages had is gone.
    [ -z "$(in_root find /usr/lib/howdah -name '*.jar' -xtype l)" ]
}

@test "when a daemon cannot come up again, the upgrade is told of it and is whole" {
    in_root sh -c 'cp /etc/hadoop/conf/core-site.xml /root/ && echo "<oops>" >>/etc/hadoop/conf/core-site.xml'
    run in_root apt-get -y install --reinstall howdah-hadoop-nodemanager
    in_root cp /root/core-site.xml /etc/hadoop/conf/core-site.xml
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *core-site.xml:* ]]
    [[ $output == *'howdah-hadoop-nodemanager: it could not be restarted'* ]]
    [ -z "$(in_root dpkg --audit)" ]
}

@test "removal stops the daemons and leaves data and settings" {
    in_root apt-get -qq -y remove '^howdah-hadoop' '^howdah-spark' '^howdah-conf' '^howdah-slurm'
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ -e "$ROOT/var/lib/hadoop-hdfs/pseudo/name/current/VERSION" ]
    [ -e "$ROOT/etc/hadoop/conf.dist/hadoop-env.sh" ]
    [ ! -e "$ROOT/usr/bin/hadoop" ]
    install howdah-hadoop-conf-pseudo
    in_root howdah pseudo start
    data_is_right
    in_root howdah pseudo stop
    nothing_runs
}

@test "purge leaves nothing of ours, but what others put there" {
    in_root sh -c 'mkdir -p /var/lib/hadoop-hdfs/disk1 && touch /var/lib/hadoop-hdfs/disk1/block'
    in_root apt-get -qq -y purge '^howdah-hadoop' '^howdah-spark' '^howdah-conf' '^howdah-slurm' '^howdah-engine'
    [ -z "$(in_root dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'howdah-*' | grep -v -e ' not-installed$' -e howdah-jdk8)" ]
    [ -z "$(in_root find /usr /etc /var/log -name '*howdah*' ! -name howdah.gpg ! -name howdah.list ! -path '/usr/share/doc/howdah-jdk8*' ! -path '/etc/rc?.d/*')" ]
    [ ! -e "$ROOT/etc/hadoop" ] && [ ! -e "$ROOT/etc/spark" ] && [ ! -e "$ROOT/usr/lib/howdah" ]
    [ ! -e "$ROOT/var/log/hadoop-hdfs" ] && [ ! -e "$ROOT/var/lib/hadoop-hdfs/pseudo" ]
    [ -e "$ROOT/var/lib/hadoop-hdfs/disk1/block" ]
}
