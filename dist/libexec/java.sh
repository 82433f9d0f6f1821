# shellcheck shell=bash
# Which Java runs, and what it has to be told about this system. Sourced, never run.

. "${BASH_SOURCE[0]%/*}/functions.sh"

# java_feature HOME: FEATURE, the feature version (8, 11, 17 ...) of the Java in HOME, from its release file where it has one;
# empty, with JAVA_REPORT, where Java itself has to say it and does not.
java_feature() {
    local line version=''
    if [ -r "$1/release" ]; then
        while IFS= read -r line; do
            case $line in JAVA_VERSION=\"*\"*) version=${line#*\"} ;; esac
        done <"$1/release"
    fi
    if [ -z "$version" ]; then
        JAVA_REPORT=$("$1/bin/java" -version 2>&1) || true
        version=${JAVA_REPORT#* version \"}
    fi
    version=${version#1.}
    FEATURE=${version%%[!0-9]*}
}

# guess_java_home: prints a JDK 8 of this machine, else the Java that is on PATH.
guess_java_home() {
    local home
    for home in /usr/lib/jvm/java-8-openjdk* /usr/lib/jvm/java-1.8.0 /usr/lib/jvm/java-1.8.0-openjdk* \
        /usr/lib/jvm/temurin-8-* /usr/lib/jvm/*-8-* "${XDG_CACHE_HOME:-$HOME/.cache}/howdah/jdk8"; do
        if [ -x "$home/bin/java" ]; then printf '%s\n' "$home"; return; fi
    done
    home=$(readlink -f -- "$(command -v java)" 2>/dev/null) || return 1
    home=${home%/bin/java}
    printf '%s\n' "${home%/jre}"
}

# find_java: JAVA_HOME, JAVA and the array JAVA_FLAGS (what a later Java needs); refuses what is not supported.
find_java() {
    local package
    if [ -z "${JAVA_HOME:-}" ]; then
        JAVA_HOME=$(guess_java_home) || die "JAVA_HOME is not set and no Java was found" \
            "install a JDK 8 and set JAVA_HOME to its folder (here or in etc/hadoop/hadoop-env.sh)"
    fi
    [ -d "$JAVA_HOME" ] || die "JAVA_HOME=$JAVA_HOME is not a folder" "set it to the folder of a JDK 8"
    [ -x "$JAVA_HOME/bin/java" ] || die "JAVA_HOME=$JAVA_HOME holds no bin/java" "set it to the folder of a JDK 8"
    export JAVA_HOME
    JAVA=$JAVA_HOME/bin/java
    JAVA_FLAGS=()
    java_feature "$JAVA_HOME"
    [ "$FEATURE" != 8 ] || return 0
    [ -n "$FEATURE" ] || die "$JAVA does not run, or does not say its version: ${JAVA_REPORT%%$'\n'*}" \
        "set JAVA_HOME to the folder of a JDK 8 that runs on this machine"
    [ "${HOWDAH_ALLOW_JDK:-}" = 1 ] || die "JAVA_HOME=$JAVA_HOME is Java $FEATURE; Hadoop and Spark of this age need Java 8" \
        "set JAVA_HOME to a JDK 8; HOWDAH_ALLOW_JDK=1 tries Java $FEATURE at your own risk"
    warn "Java $FEATURE is not supported (HOWDAH_ALLOW_JDK=1)"
    [ "$FEATURE" -ge 9 ] || return 0
    for package in java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent \
        java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar; do
        JAVA_FLAGS+=("--add-opens=java.base/$package=ALL-UNNAMED")
    done
}

# use_utf8: LC_ALL names UTF-8 where the locale is ASCII. Java 8 reads arguments and file names in the locale's character set and
# replaces every other character, so that two files get one name, or none. Processes that this one starts inherit it.
use_utf8() {
    local euro=$'\342\202\254' charset # one character if bash reads UTF-8
    [ ${#euro} -ne 1 ] || return 0
    charset=$(locale charmap 2>/dev/null) || charset=''
    case ${charset:-ANSI_X3.4-1968} in
        ANSI_X3.4-1968 | US-ASCII) ;;
        *)
            warn "file names are read in $charset: characters that it lacks are lost; set LC_ALL=C.UTF-8 if that is not meant"
            return
            ;;
    esac
    for LC_ALL in C.UTF-8 C.utf8 en_US.UTF-8; do
        { export LC_ALL; } 2>/dev/null
        [ ${#euro} -ne 1 ] || return 0
    done 2>/dev/null
    LC_ALL=C
    warn "this system has no UTF-8 locale: characters of file names beyond ASCII are lost; install C.UTF-8 or en_US.UTF-8"
}

# may_execute FOLDER: whether its file system is mounted so that files on it may be executed, libraries loaded.
may_execute() {
    local folder=${1// /\\040} point options longest='' denied=''
    while read -r _ _ _ _ point options _; do
        # Of two mounts on one point the later one is seen.
        if [[ $folder/ == "${point%/}"/* ]] && [ ${#point} -ge ${#longest} ]; then longest=$point denied=$options; fi
    done 2>/dev/null </proc/self/mountinfo
    [[ ,$denied, != *,noexec,* ]]
}

# own_folder FOLDER: makes it, closed to others; fails if it is another user's.
own_folder() {
    (umask 077; mkdir -p -- "$1") 2>/dev/null
    [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] && [ -w "$1" ]
}

# name_user: Java finds no user whose number the system's list has no name for, as in many containers. It goes by its number then,
# in HDFS too, unless HADOOP_USER_NAME says otherwise.
name_user() {
    local LC_ALL=C name='\u' # what a prompt would show: looked up without another process
    [ "${name@P}" = 'I have no name!' ] || return 0
    export HADOOP_USER_NAME=${HADOOP_USER_NAME:-$UID}
    SYSTEM_FLAGS+=("-Duser.name=$HADOOP_USER_NAME")
}

# find_library_folder: LIBRARY_FOLDER, where jars may unpack their native libraries, if Java's own choice, /tmp, is mounted
# noexec (or HOWDAH_LIBRARY_DIR names one); empty if /tmp will do. SYSTEM_FLAGS says it to these libraries.
find_library_folder() {
    local folder tmp=/tmp
    local candidates=("${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/howdah/lib" "/var/tmp/howdah-lib-$UID" "/dev/shm/howdah-lib-$UID")
    LIBRARY_FOLDER=''
    [ ! -L /tmp ] || tmp=$(readlink -f /tmp)
    if [ -n "${HOWDAH_LIBRARY_DIR:-}" ]; then
        candidates=("$HOWDAH_LIBRARY_DIR")
    elif may_execute "$tmp"; then
        return 0
    fi
    for folder in "${candidates[@]}"; do
        if own_folder "$folder" && may_execute "$(cd -P -- "$folder" && pwd)"; then
            # shellcheck disable=SC2034 # for the caller
            LIBRARY_FOLDER=$folder
            SYSTEM_FLAGS+=("-Dorg.xerial.snappy.tempdir=$folder" "-Dlibrary.leveldbjni.path=$folder"
                "-Dlibrary.jansi.path=$folder" "-Dcommons.crypto.lib.tempdir=$folder")
            return 0
        fi
    done
    warn "no folder was found that libraries may be loaded from (/tmp is mounted noexec, ${candidates[*]} is no better): LevelDB" \
        "and Snappy will not work; set HOWDAH_LIBRARY_DIR to a folder of this user's own"
}

# prepare_java: find_java, and SYSTEM_FLAGS, JVM options that this system needs.
prepare_java() {
    SYSTEM_FLAGS=()
    find_java
    use_utf8
    name_user
    find_library_folder
}
