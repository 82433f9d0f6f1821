# shellcheck shell=bash
# What services of either format say when they cannot start, and the data that must outlive them. Loaded by the tests
# beside it, after root.bash.

# refuses SERVICE WORDS: it does not start, and both what it prints and its status have the words, a pattern.
refuses() {
    local words=$2 status output
    run in_root service "$1" start
    echo "start: $output"
    # shellcheck disable=SC2053 # a pattern
    [ "$status" -ne 0 ] && [[ $output == $words ]] || return 1
    run in_root service "$1" status
    echo "status: $output"
    # shellcheck disable=SC2053
    [ "$status" -ne 0 ] && [[ $output == *'is not running'$words ]]
}

# break_file FILE: a mistake at its end; the file as it was is kept beside root's things.
# shellcheck disable=SC2016 # expanded in there
break_file() { in_root sh -c 'cp "$1" /root/kept && echo "<oops>" >>"$1"' _ "$1"; }

mend_file() { in_root cp /root/kept "$1"; }

# mistake_is_named DAEMON: in /etc/hadoop/conf.
mistake_is_named() {
    local failed=0
    break_file /etc/hadoop/conf/core-site.xml
    refuses "howdah-hadoop-$1" '*/etc/hadoop/conf*core-site.xml:*' || failed=1
    mend_file /etc/hadoop/conf/core-site.xml
    in_root service "howdah-hadoop-$1" stop
    return "$failed"
}

# named_in_log_and_status PATTERN WORDS: the NameNode ends by itself; its log has the pattern of grep, its status the words, a
# pattern of the shell, and nothing after a stop.
named_in_log_and_status() {
    local log=/var/log/hadoop-hdfs/hadoop-hdfs-namenode-node.log status output
    in_root service howdah-hadoop-namenode start || true # it may live long enough to seem started: status decides below
    while in_root service howdah-hadoop-namenode status; do sleep 0.5; done
    in_root grep -q "$1" "$log" || return 1
    run in_root service howdah-hadoop-namenode status
    echo "$output"
    # shellcheck disable=SC2053 # a pattern
    [ "$status" -ne 0 ] && [[ $output == $2"$log"* ]] || return 1
    in_root service howdah-hadoop-namenode stop
    run in_root service howdah-hadoop-namenode status
    [ "$output" = 'howdah-hadoop-namenode is not running' ]
}

# unformatted_is_named: what the NameNode finds out by itself.
unformatted_is_named() { named_in_log_and_status 'does not exist' '*does not exist*'; }

# wrong_java_is_named: a Java 17 that somebody set for one service.
wrong_java_is_named() {
    local failed=0
    mkdir -p "$ROOT/srv/java17/bin"
    printf 'JAVA_VERSION="17.0.9"\n' >"$ROOT/srv/java17/release"
    printf '#!/bin/sh\nexit 1\n' >"$ROOT/srv/java17/bin/java"
    chmod 755 "$ROOT/srv/java17/bin/java"
    in_root sh -c 'echo JAVA_HOME=/srv/java17 >>/etc/default/howdah-hadoop-journalnode'
    refuses howdah-hadoop-journalnode '*/srv/java17 is Java 17*JDK 8*' || failed=1
    in_root sed -i /JAVA_HOME=.srv/d /etc/default/howdah-hadoop-journalnode
    return "$failed"
}

# missing_java_is_named: the JDK is gone after the installation.
missing_java_is_named() {
    local failed=0
    in_root sh -c 'echo JAVA_HOME=/srv/gone >>/etc/default/howdah-hadoop-journalnode'
    refuses howdah-hadoop-journalnode '*JAVA_HOME=/srv/gone is not a folder*JDK 8*' || failed=1
    in_root sed -i /JAVA_HOME=.srv/d /etc/default/howdah-hadoop-journalnode
    return "$failed"
}

# full_logs_are_named: the folder of logs has no room.
full_logs_are_named() {
    local failed=0
    in_root mount -t tmpfs -o size=64k,mode=777 tmpfs /var/log/hadoop-hdfs
    in_root sh -c 'dd if=/dev/zero of=/var/log/hadoop-hdfs/fill bs=4k 2>/dev/null || true' # until it is full
    refuses howdah-hadoop-journalnode '*/var/log/hadoop-hdfs*No space left on device*' || failed=1
    in_root umount /var/log/hadoop-hdfs
    return "$failed"
}

# nothing_runs: no daemon does, and each service says so.
nothing_runs() {
    run in_root pgrep java
    [ "$status" -eq 1 ] || { echo "still there: $output"; return 1; }
    run in_root howdah pseudo status
    [ "$status" -ne 0 ] && [ "$(grep -c 'is not running' <<<"$output")" -eq 5 ]
}

# write_data: a file beside what the jobs wrote; the sum of it all is kept.
write_data() {
    as_user worker hdfs dfs -put -f "/usr/lib/howdah/share/hadoop/mapreduce/hadoop-mapreduce-examples-$HADOOP_VERSION.jar" data || return 1
    sum_of_data >"$ROOT.sum"
    grep -qv "^$(sha256sum </dev/null | cut -c1-64)" "$ROOT.sum"
}

# blocks_are_read_by_file: a client beside the DataNode gets the descriptors of a block's file. The DataNode says so in its log
# of clients, which is off by default.
blocks_are_read_by_file() {
    in_root hadoop daemonlog -setlevel localhost:50075 org.apache.hadoop.hdfs.server.datanode.DataNode.clienttrace INFO || return 1
    as_user worker hdfs dfs -cat data >/dev/null || return 1
    in_root sh -c 'grep -hE "op: REQUEST_SHORT_CIRCUIT_FDS.*success: true" /var/log/hadoop-hdfs/*datanode*.log' | grep -c .
}

sum_of_data() { as_user worker hdfs dfs -cat data 'counts/part-*' 'spark-counts/part-*' | sha256sum; }

# data_is_right: what was written before is there, byte for byte.
data_is_right() {
    local sum
    sum=$(sum_of_data)
    [ "$sum" = "$(cat "$ROOT.sum")" ] || { echo "the data is not what it was: $sum"; return 1; }
}
