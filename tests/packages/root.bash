# shellcheck shell=bash
# A small system of its own for installing packages into: Debian's base system in a folder, with its own processes,
# network and mounts. No systemd runs in it, so services start by their SysV scripts. Loaded by the tests beside it.

. "$HOWDAH_ROOT/ci/lib/jdk8.sh"

# What packages of ours depend on and Debian has; the rest of a system is not needed.
ROOT_PACKAGES=ca-certificates,python3,procps

# base_system: prints the archive of a base system, made once and kept.
base_system() {
    local mirror suite archive=$HOWDAH_CACHE/packages/root
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
    archive+=-$suite-$(dpkg --print-architecture)-$(echo "$ROOT_PACKAGES" | sha256sum | cut -c1-8).tar
    if [ ! -e "$archive" ]; then
        mirror=$(debian_mirror 2>/dev/null) || true
        [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources" >&2; return 1; }
        mkdir -p "${archive%/*}"
        mmdebstrap --quiet --variant=minbase --include="$ROOT_PACKAGES" "$suite" "$archive.new.tar" "deb $mirror $suite main" >&2 || return 1
        mv "$archive.new.tar" "$archive"
    fi
    echo "$archive"
}

# why_no_root: prints why such a system cannot be had here; nothing where it can.
why_no_root() {
    local tool
    [ "$(id -u)" -eq 0 ] || { echo "only root can make a root file system"; return; }
    for tool in mmdebstrap nsenter unshare; do command -v "$tool" >/dev/null || { echo "$tool is missing"; return; }; done
    unshare --mount --pid --net --uts --fork true 2>/dev/null || echo "this machine allows no namespaces"
}

# make_root FOLDER: the file system, with a place for the JDK where this machine has it.
make_root() {
    local root=$1 archive
    archive=$(base_system) || return 1
    mkdir -p "$root"
    tar -xf "$archive" -C "$root" --numeric-owner --exclude='./dev/*'
    rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/*
    # Debian's scripts leave services alone where there is no init, unless told that it is all right.
    printf '#!/bin/sh\nexit 0\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    printf '127.0.0.1 localhost node\n' >"$root/etc/hosts"
    mkdir -p "$root$JAVA_HOME" "$root/srv/repo" "$root/etc/apt/keyrings"
    # Accounts of services must get to the JDK, wherever it is.
    chmod -R go+X "$root/root" "$root/home"
}

# boot_root FOLDER: its namespaces, held by a process that takes in orphans; its number is in FOLDER.pid.
boot_root() {
    local root=$1 holder
    # shellcheck disable=SC2016 # expanded in there
    setsid unshare --mount --pid --net --uts --fork --kill-child --propagation private bash -c '
        root=$1
        hostname node
        ip link set lo up
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        mount --bind -o ro "$2" "$root$2"
        mount --bind "$root.repo" "$root/srv/repo"
        exec chroot "$root" /bin/bash -c "while :; do sleep 60 & wait; done"
    ' _ "$root" "$JAVA_HOME" </dev/null >"$root.log" 2>&1 3>&- &
    holder=$!
    for _ in {1..100}; do
        if [ -n "$(pgrep -P "$holder")" ] && [ -e "/proc/$(pgrep -P "$holder")/root/srv/repo/ready" ]; then break; fi
        sleep 0.1
    done
    pgrep -P "$holder" >"$root.pid"
    echo "$holder" >"$root.holder"
}

# shellcheck disable=SC2153 # ROOT is what the tests export
# in_root COMMAND...: runs it in there as root, with the environment of a login.
in_root() {
    nsenter --target "$(cat "$ROOT.pid")" --mount --pid --net --uts --root \
        env -C / -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

# as_user USER COMMAND...: in there, as somebody else.
as_user() {
    local user=$1
    shift
    in_root setpriv --reuid "$user" --regid "$user" --init-groups env HOME="/home/$user" "$@"
}

# drop_root: everything in there ends with its first process; mounts go with it.
drop_root() {
    [ ! -e "$ROOT.pid" ] || kill -9 "$(cat "$ROOT.pid")" 2>/dev/null || true
    while [ -e "/proc/$(cat "$ROOT.holder")" ]; do sleep 0.1; done
    rm -rf --one-file-system "${ROOT:?}" "$ROOT.repo"
}

# wait_for_hdfs: until the NameNode has left safe mode; fails when it has ended.
wait_for_hdfs() {
    until as_user hdfs hdfs dfsadmin -safemode wait; do
        in_root service howdah-hadoop-namenode status || return 1
        sleep 1
    done
}

# count_words: WordCount on YARN, as a user.
count_words() {
    in_root sh -c 'for i in 1 2 3; do echo "camel howdah camel"; done >/tmp/words'
    as_user worker hdfs dfs -put -f /tmp/words words || return 1
    as_user worker hadoop jar "/usr/lib/howdah/share/hadoop/mapreduce/hadoop-mapreduce-examples-$HADOOP_VERSION.jar" wordcount words counts || return 1
    words_counted
}

# words_counted: what it left in HDFS is right.
words_counted() { [ "$(as_user worker hdfs dfs -cat 'counts/part-*' | xargs)" = 'camel 6 howdah 3' ]; }

# count_words_with_spark [OPTION...]: the same by PySpark on YARN.
count_words_with_spark() {
    cat >"$ROOT/tmp/job.py" <<'PY'
from pyspark import SparkContext
sc = SparkContext()
sc.textFile("words").flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b).coalesce(1).sortByKey() \
    .saveAsTextFile("spark-counts")
PY
    as_user worker spark-submit --master yarn --num-executors 1 --driver-memory 512m --executor-memory 512m "$@" /tmp/job.py || return 1
    [ "$(as_user worker hdfs dfs -cat 'spark-counts/part-*' | xargs)" = '(camel, 6) (howdah, 3)' ]
}
