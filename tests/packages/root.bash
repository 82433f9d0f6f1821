# shellcheck shell=bash
# A small system of its own for installing packages into: Debian's base system in a folder, with its own processes,
# network and mounts. No systemd runs in it, so services start by their SysV scripts, unless it is booted by boot_systemd.
# Loaded by the tests beside it.

. "$HOWDAH_ROOT/ci/lib/jdk8.sh"

# What packages of ours depend on and Debian has, curl, which the README's way to install takes, and accounts that are in no
# local file; the rest of a system is not needed.
ROOT_PACKAGES=ca-certificates,curl,python3,procps,libnss-extrausers

# ROOT_ARCH: ppc64el, where the system is not to be of this machine's architecture: then its programs run under emulation.
# ROOT_EXTRA: more packages, with commas between them.
# ROOT_SUITE: of Debian, where it is not to be this machine's.
# ROOT_FILES: these packages and what they depend on, as files only: nothing is set up, which takes a tenth of the time.

# base_system: prints the archive of a base system, made once and kept.
base_system() {
    local mirror suite variant=minbase archive=$HOWDAH_CACHE/packages/root include=${ROOT_FILES:-$ROOT_PACKAGES${ROOT_EXTRA:+,$ROOT_EXTRA}}
    suite=${ROOT_SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
    [ -z "${ROOT_FILES:-}" ] || variant=extract
    archive+=-$suite-${ROOT_ARCH:-$(dpkg --print-architecture)}-$(echo "$include" | sha256sum | cut -c1-8).tar
    if [ ! -e "$archive" ]; then
        mirror=$(debian_mirror 2>/dev/null) || true
        [ -n "$mirror" ] || { echo "no Debian archive in this machine's apt sources" >&2; return 1; }
        mkdir -p "${archive%/*}"
        in_emulation mmdebstrap --quiet --mode=root --variant="$variant" ${ROOT_ARCH:+--arch="$ROOT_ARCH" --skip=check/qemu} --include="$include" \
            "$suite" "$archive.new.tar" "deb $mirror $suite main" >&2 || return 1
        mv "$archive.new.tar" "$archive"
    fi
    echo "$archive"
}

# why_no_root: prints why such a system cannot be had here; nothing where it can.
why_no_root() {
    local tool
    [ "$(id -u)" -eq 0 ] || { echo "only root can make a root file system"; return; }
    for tool in mmdebstrap nsenter unshare ${ROOT_ARCH:+qemu-ppc64le-static}; do
        command -v "$tool" >/dev/null || { echo "$tool is missing"; return; }
    done
    unshare --mount --pid --net --uts --fork true 2>/dev/null || { echo "this machine allows no namespaces"; return; }
    in_emulation true 2>/dev/null || echo "this kernel lets no namespace run programs of another architecture (Linux 6.7 does)"
}

# EMULATION: what the first process of a user namespace does there before all else: it waits until map_users was called for
# it, and has the kernel run programs for POWER by qemu. The namespace has a table of such programs of its own (Linux 6.7):
# the machine's stays as it is.
# shellcheck disable=SC2016 # expanded in there
EMULATION='
    until grep -q . /proc/self/uid_map; do sleep 0.1; done
    table=/proc/sys/fs/binfmt_misc qemu=/usr/share/binfmts/qemu-ppc64le
    mount -t proc proc /proc
    mount -t binfmt_misc binfmt_misc $table || exit 1
    printf %s ":ppc64le:M::$(sed -n "s/^magic //p" $qemu):$(sed -n "s/^mask //p" $qemu):/usr/bin/qemu-ppc64le-static:F" >$table/register || exit 1
'

# map_users PID: in its user namespace everybody is who they are outside.
map_users() {
    local own
    own=$(readlink /proc/self/ns/user)
    until [ "$(readlink "/proc/$1/ns/user")" != "$own" ]; do kill -0 "$1" || return 1; sleep 0.1; done
    echo '0 0 4294967295' >"/proc/$1/uid_map"
    echo '0 0 4294967295' >"/proc/$1/gid_map"
}

# in_emulation COMMAND...: where ROOT_ARCH is set, with programs of that architecture run by emulation; else just so.
in_emulation() {
    [ -n "${ROOT_ARCH:-}" ] || { "$@"; return; }
    unshare --user --mount --pid --fork --kill-child --propagation private bash -c "$EMULATION"'exec "$@"' _ "$@" &
    map_users $! && wait $!
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
    echo node >"$root/etc/hostname"
    mkdir -p "$root$JAVA_HOME" "$root/srv/repo"
    # Accounts of services must get to the JDK, wherever it is.
    chmod -R go+X "$root/root" "$root/home"
}

# offer_packages DEBS: as an unsigned repository that apt in there takes packages from. Before it is booted.
offer_packages() {
    mkdir "$ROOT.repo"
    "$HOWDAH_ROOT/ci/repo" --debs "$1" --rpms /nonexistent --out "$ROOT.made" || return 1
    cp -R "$ROOT.made/apt" "$ROOT.repo/apt"
    rm -rf "$ROOT.made"
    echo 'deb [trusted=yes] file:/srv/repo/apt stable main' >"$ROOT/etc/apt/sources.list"
    touch "$ROOT.repo/ready"
}

# boot_root FOLDER: its namespaces, held by a process that takes in orphans; its number is in FOLDER.pid.
boot_root() {
    local root=$1
    # shellcheck disable=SC2016 # expanded in there
    setsid unshare ${ROOT_ARCH:+--user} --mount --pid --net --uts --fork --kill-child --propagation private bash -c "${ROOT_ARCH:+$EMULATION}"'
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
    [ -z "${ROOT_ARCH:-}" ] || map_users $! || return 1
    await_root "$root" $!
}

# boot_systemd FOLDER: the same with systemd as its first process.
boot_systemd() {
    local root=$1
    # shellcheck disable=SC2016 # expanded in there
    setsid unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child --propagation private bash -c '
        set -e
        root=$1
        hostname node
        ip link set lo up
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
        mount -t tmpfs -o mode=755 tmpfs "$root/dev"
        mkdir "$root"/dev/{pts,shm}
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
        ln -s pts/ptmx "$root/dev/ptmx"
        ln -s /proc/self/fd "$root/dev/fd"
        for device in null zero full random urandom tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        mount --bind -o ro "$2" "$root$2"
        mount --bind "$root.repo" "$root/srv/repo"
        cd "$root"
        pivot_root . .
        umount -l .
        exec env -i container=howdah-test /lib/systemd/systemd --log-target=console
    ' _ "$root" "$JAVA_HOME" </dev/null >"$root.log" 2>&1 3>&- &
    await_root "$root" $!
    # "degraded" is up, too: not every unit of a whole machine can do its work in here.
    local deadline=$((SECONDS + 300))
    until in_root systemctl is-system-running 2>/dev/null | grep -q -e running -e degraded; do
        if ! kill -0 "$(cat "$root.pid")" || [ "$SECONDS" -ge "$deadline" ]; then tail -n 40 "$root.log" >&2; return 1; fi
        sleep 0.2
    done
}

# await_root FOLDER PID: until the namespaces that PID holds are set up.
await_root() {
    local root=$1 holder=$2
    echo "$holder" >"$root.holder"
    until [ -n "$(pgrep -P "$holder")" ] && [ -e "/proc/$(pgrep -P "$holder")/root/srv/repo/ready" ]; do
        kill -0 "$holder" 2>/dev/null || { cat "$root.log" >&2; return 1; }
        sleep 0.1
    done
    pgrep -P "$holder" >"$root.pid"
}

# shellcheck disable=SC2153 # ROOT is what the tests export
# in_root COMMAND...: runs it in there as root, with the environment of a login.
in_root() {
    nsenter --target "$(cat "$ROOT.pid")" ${ROOT_ARCH:+--user} --mount --pid --net --uts --root \
        env -C / -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

# add_jdk_package FOLDER: a package that stands for the JDK of this machine, as a site would make one for its own; FOLDER is for work.
add_jdk_package() {
    local work=$1/jdk
    mkdir -p "$work/DEBIAN" "$work/usr/lib/jvm"
    ln -s "$JAVA_HOME" "$work/usr/lib/jvm/site-8-jdk"
    printf 'Package: howdah-jdk8\nVersion: 1\nArchitecture: all\nMaintainer: site <site@howdah.invalid>\nDescription: the JDK 8 of this site\n' \
        >"$work/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$work" "$ROOT/srv/howdah-jdk8.deb"
    in_root dpkg -i /srv/howdah-jdk8.deb
}

# newer_debs FROM TO: the packages of FROM as BIGTOP_BUILD_STAMP=2 would build them, which are the same files: only what
# describes a package is made anew, as a whole build takes minutes.
newer_debs() {
    local from=$1 to=$2 deb work
    mkdir -p "$to"
    for deb in "$from"/all/*.deb "$from/$(dpkg --print-architecture)"/*.deb; do
        work=$(mktemp -d "$to/work.XXXXXX")
        (cd "$work" && ar x "$deb" && mkdir control && tar -xzf control.tar.gz -C control) || return 1
        sed -i -E -e '/^Version: /s/-1$/-2/' -e '/^[A-Za-z-]+: /s/\(= ([^)]*)-1\)/(= \1-2)/g' "$work/control/control"
        tar -C "$work/control" --owner=0 --group=0 -czf "$work/control.tar.gz" . || return 1
        deb=${deb##*/}
        (cd "$work" && ar rc "../${deb/-1_/-2_}" debian-binary control.tar.gz data.tar.gz) || return 1
        rm -rf "$work"
    done
}

# as_user USER COMMAND...: in there, as somebody else.
as_user() {
    local user=$1
    shift
    in_root setpriv --reuid "$user" --regid "$(in_root id -g "$user")" --init-groups env HOME="/home/$user" "$@"
}

# drop_root: everything in there ends with its first process; mounts go with it.
drop_root() {
    local holder=none # where it was never booted
    [ ! -e "$ROOT.holder" ] || holder=$(cat "$ROOT.holder")
    [ ! -e "$ROOT.pid" ] || kill -9 "$(cat "$ROOT.pid")" 2>/dev/null || true
    while [ -e "/proc/$holder" ]; do sleep 0.1; done
    rm -rf --one-file-system "${ROOT:?}" "$ROOT.repo"
}

# start_of PACKAGE: when its daemon started, in clock ticks since this machine booted.
start_of() {
    # shellcheck disable=SC2016 # expanded in there
    in_root sh -c 'sed "s/.*) //" "/proc/$(cat "/run/$1"/*.pid)/stat" | cut -d" " -f20' _ "$1"
}

# restarted_in_order: the history server after the NameNode, as it dies when that goes away while it starts.
restarted_in_order() { [ "$(start_of howdah-hadoop-namenode)" -lt "$(start_of howdah-hadoop-historyserver)" ]; }

# wait_for_hdfs: until the NameNode has left safe mode; fails when it has ended, or within ten minutes.
wait_for_hdfs() {
    local deadline=$((SECONDS + 600))
    until as_user hdfs timeout 300 hdfs dfsadmin -safemode wait; do
        in_root service howdah-hadoop-namenode status || return 1
        [ "$SECONDS" -lt "$deadline" ] || { echo "HDFS is in safe mode after ten minutes" >&2; return 1; }
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
