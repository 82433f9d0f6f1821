#!/usr/bin/env bats
# shellcheck disable=SC2143,SC2016 # "! grep -q" would not fail a test; awk has its own dollars
# The services under a real systemd, in a system of its own. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root REASON ROOT_EXTRA=systemd,systemd-sysv,dbus DEBS=$HOWDAH_BUILD/packages/deb
    REASON=$(why_no_root)
    [ -n "$REASON" ] || grep -q cgroup2 /proc/filesystems || REASON='this kernel has no cgroup2'
    [ -z "$REASON" ] || return 0
    make_root "$ROOT"
    offer_packages "$DEBS"
    boot_systemd "$ROOT"
}

teardown_file() { [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }; }

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/services.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

@test "everything installs, nothing runs, nothing is enabled" {
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root apt-get -qq update
    in_root apt-get -qq -y install howdah-hadoop-conf-pseudo howdah-hadoop-timelineserver howdah-spark howdah-spark-history-server </dev/null
    [ -z "$(in_root dpkg --audit)" ]
    [ -z "$(in_root systemctl list-units --no-legend --all --state=active,activating,failed 'howdah-*')" ]
    [ "$(in_root systemctl list-unit-files --no-legend 'howdah-*' | awk '{ print $2 }' | sort | uniq -c | xargs)" = '7 disabled' ]
}

@test "a service that cannot start says why in its status" {
    in_root sh -c 'cp /etc/hadoop/conf/core-site.xml /root/ && echo "<oops>" >>/etc/hadoop/conf/core-site.xml'
    in_root systemctl start howdah-hadoop-namenode
    # It stays down, with the reason in its status.
    while in_root systemctl is-active howdah-hadoop-namenode; do sleep 0.5; done
    in_root cp /root/core-site.xml /etc/hadoop/conf/core-site.xml
    in_root journalctl --sync
    run in_root systemctl status --no-pager --full --lines 50 howdah-hadoop-namenode
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == */etc/hadoop/conf*core-site.xml:* ]]
    in_root systemctl reset-failed howdah-hadoop-namenode
}

# all_daemons_run: to systemd a service is active before the script that starts it has become its JVM.
all_daemons_run() {
    local deadline=$((SECONDS + 120))
    until [ "$(in_root ps -o user= -C java | sort | uniq -c | xargs)" = '2 hdfs 1 mapred 2 yarn' ]; do
        [ "$SECONDS" -lt "$deadline" ] || { in_root ps -ef; return 1; }
        sleep 1
    done
}

@test "howdah pseudo start brings up HDFS and YARN by their units" {
    in_root useradd -m worker
    in_root howdah pseudo start worker || { in_root journalctl --no-pager -n 60 -u 'howdah-*'; return 1; }
    [ "$(in_root systemctl list-units --no-legend --state=active 'howdah-*' | wc -l)" -eq 5 ]
    all_daemons_run
}

@test "a daemon has no more rights than it needs" {
    local pid
    pid=$(in_root systemctl show --value -p MainPID howdah-hadoop-datanode)
    in_root grep -q '^NoNewPrivs:.*1$' "/proc/$pid/status"
    in_root grep -q '^CapEff:.*0000000000000000$' "/proc/$pid/status"
    in_root grep -q '^Seccomp:.*2$' "/proc/$pid/status"
    # /usr is read-only for it.
    in_root awk '$5 == "/usr" && $6 ~ /(^|,)ro(,|$)/ { found = 1 } END { exit !found }' "/proc/$pid/mountinfo"
    # As much memory may be locked as this machine lets anybody lock.
    [ "$(in_root systemctl show --value -p LimitMEMLOCK howdah-hadoop-datanode)" = infinity ]
    [ "$(in_root awk '/^Max locked memory/ { print $4 }' "/proc/$pid/limits")" = "$(in_root bash -c 'ulimit -l unlimited 2>/dev/null; prlimit -o HARD --noheadings --raw --memlock')" ]
}

@test "a service that crashed is started again" {
    local pid
    pid=$(in_root systemctl show --value -p MainPID howdah-hadoop-historyserver)
    in_root kill -SEGV "$pid"
    until [ "$(in_root systemctl show --value -p NRestarts howdah-hadoop-historyserver)" -eq 1 ]; do
        [ "$(in_root systemctl is-failed howdah-hadoop-historyserver)" != failed ]
        sleep 1
    done
    in_root systemctl is-active howdah-hadoop-historyserver
}

@test "WordCount counts, and a Spark job on YARN reads and writes HDFS" {
    count_words
    count_words_with_spark --conf spark.ui.enabled=false
    write_data
    blocks_are_read_by_file
}

@test "an enabled service comes up with the system's target, a reinstalled one is restarted" {
    local before
    in_root systemctl enable howdah-hadoop-datanode
    in_root systemctl stop howdah-hadoop-datanode
    in_root systemctl start multi-user.target
    in_root systemctl is-active howdah-hadoop-datanode
    before=$(in_root systemctl show --value -p MainPID howdah-hadoop-namenode)
    in_root apt-get -qq -y install --reinstall howdah-hadoop-namenode </dev/null
    in_root systemctl is-active howdah-hadoop-namenode
    [ "$(in_root systemctl show --value -p MainPID howdah-hadoop-namenode)" != "$before" ]
    until as_user hdfs hdfs dfsadmin -safemode wait; do in_root systemctl is-active howdah-hadoop-namenode; sleep 1; done
    data_is_right
}

@test "removal stops the units, purge leaves nothing of ours" {
    in_root apt-get -qq -y purge '^howdah-hadoop' '^howdah-spark' '^howdah-engine'
    run in_root pgrep java
    [ "$status" -eq 1 ]
    [ -z "$(in_root dpkg --audit)" ]
    [ -z "$(in_root systemctl list-units --no-legend --all 'howdah-*' | grep -v not-found)" ]
    [ -z "$(in_root find /usr /etc /var/log -name '*howdah*' ! -path '/usr/share/doc/howdah-jdk8*')" ]
}
