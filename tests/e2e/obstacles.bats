#!/usr/bin/env bats
# Nodes on which the engine can't be used, or not wholly: commands and daemons work over sockets, and say why once.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    cluster start --dir "$DIR" --datanodes 6 --no-yarn -D dfs.replication=6
    mkdir "$BATS_FILE_TMPDIR/empty"
    echo garbage >"$BATS_FILE_TMPDIR/profile"
    other_version
}

setup() {
    set_up_tree
    export HADOOP_CONF_DIR=$DIR/conf
}

teardown_file() {
    set_up_tree
    processes_of "$DIR" | xargs -r kill
    cluster stop --dir "$DIR"
}

# other_version: in the folder "other", a library whose interface is not that of our classes.
other_version() {
    mkdir "$BATS_FILE_TMPDIR/other"
    cc -shared -fPIC -I "$JAVA_HOME/include" -I "$JAVA_HOME/include/linux" -o "$BATS_FILE_TMPDIR/other/libhowdah_jni.so" -xc - <<'C'
#include <jni.h>
static jint abi(JNIEnv *env, jclass class)
{
    (void)env, (void)class;
    return -1;
}
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    JNIEnv *env;
    JNINativeMethod method = {"abi", "()I", (void *)abi};
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
        return JNI_ERR;
    return (*env)->RegisterNatives(env, (*env)->FindClass(env, "io/howdah/engine/Native"), &method, 1) ? JNI_ERR : JNI_VERSION_1_8;
}
C
    cp "$TREE/lib/native/libhowdah.so.0" "$BATS_FILE_TMPDIR/other/"
}

# Each obstacle, with what is said of it; nothing for those under which the engine still works on one host.
OBSTACLES=(no_library other_library wrong_profile no_shared_memory little_locked_memory user_namespace)
declare -A SAID=([no_library]='libhowdah_jni.so' [other_library]='has interface -1' [wrong_profile]='profile .*/profile'
    [no_shared_memory]='/dev/shm' [little_locked_memory]='' [user_namespace]='user name ?space')

no_library() { HADOOP_OPTS="$ONE_COMPILER -Dio.howdah.native=$BATS_FILE_TMPDIR/empty" "$@"; }
other_library() { HADOOP_OPTS="$ONE_COMPILER -Dio.howdah.native=$BATS_FILE_TMPDIR/other" "$@"; }
wrong_profile() { HOWDAH_TUNING_PROFILE=$BATS_FILE_TMPDIR/profile "$@"; }
# shellcheck disable=SC2016
no_shared_memory() { unshare --mount bash -c 'mount -t tmpfs -o ro none /dev/shm && exec "$@"' bash "$@"; }
little_locked_memory() { (ulimit -l 64 && exec "$@"); }
user_namespace() { unshare --user --map-root-user "$@"; }

# possible OBSTACLE: some are made by namespaces.
possible() {
    case $1 in
        no_shared_memory) unshare --mount true 2>/dev/null ;;
        user_namespace) unshare --user --map-root-user true 2>/dev/null ;;
    esac
}

# restart_under OBSTACLE DAEMON: the daemon ends and runs again, with the same data and ports.
restart_under() {
    local pid
    pid=$(pid_of "$DIR" "$2")
    kill "$pid"
    ended() { [ ! -e "/proc/$pid" ]; }
    wait_until 60 ended
    HADOOP_CONF_DIR=$DIR/conf/$2 HADOOP_HEAPSIZE=128 "$1" "$TREE/bin/hdfs" datanode >"$BATS_TEST_TMPDIR/$1.log" 2>&1 3>&- &
}

@test "commands work, print what they always print, and say why when asked" {
    local obstacle
    head -c 3000 /dev/urandom >"$BATS_TEST_TMPDIR/file"
    for obstacle in "${OBSTACLES[@]}"; do
        possible "$obstacle" || { echo "# $obstacle can't be made here" >&3; continue; }
        "$obstacle" "$TREE/bin/hdfs" dfs -put "$BATS_TEST_TMPDIR/file" "/$obstacle" >"$BATS_TEST_TMPDIR/out" 2>&1
        cat "$BATS_TEST_TMPDIR/out"
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
        HADOOP_ROOT_LOGGER=DEBUG,console "$obstacle" "$TREE/bin/hdfs" dfs -cat "/$obstacle" 2>"$BATS_TEST_TMPDIR/log" |
            cmp - "$BATS_TEST_TMPDIR/file"
        grep 'sockets' "$BATS_TEST_TMPDIR/log" || true
        [ -z "${SAID[$obstacle]}" ] || grep -qE "sockets.*${SAID[$obstacle]}" "$BATS_TEST_TMPDIR/log"
    done
}

@test "a DataNode takes and serves blocks, and says why once" {
    local obstacle number=0 part
    for obstacle in "${OBSTACLES[@]}"; do
        number=$((number + 1))
        ! possible "$obstacle" || restart_under "$obstacle" "datanode-$number"
    done
    head -c 3000000 /dev/urandom >"$BATS_TEST_TMPDIR/file"
    everywhere() {
        "$TREE/bin/hdfs" dfs -put -f "$BATS_TEST_TMPDIR/file" /everywhere &&
            "$TREE/bin/hdfs" fsck /everywhere | grep -q 'Average block replication:[[:space:]]*6'
    }
    wait_until 120 everywhere
    "$TREE/bin/hdfs" dfs -cat /everywhere | cmp - "$BATS_TEST_TMPDIR/file"
    for obstacle in "${OBSTACLES[@]}"; do
        possible "$obstacle" || { echo "# $obstacle can't be made here" >&3; continue; }
        grep 'sockets' "$BATS_TEST_TMPDIR/$obstacle.log" || true
        run -1 grep -E '(ERROR|FATAL)' "$BATS_TEST_TMPDIR/$obstacle.log"
        [ -n "${SAID[$obstacle]}" ] || continue
        for part in RPC 'Block data'; do
            [ "$(grep -cE "$part uses sockets: .*${SAID[$obstacle]}" "$BATS_TEST_TMPDIR/$obstacle.log")" -eq 1 ]
        done
    done
}
