#!/usr/bin/env bats
# The local cluster from the distribution: start, status, stop, and what may go wrong. Most tests share one small cluster
# without YARN, which the first starts and the last stops; each states what it needs of it.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c RAM=/dev/shm/howdah-cluster-test-$$
}

setup() {
    set_up_tree
}

teardown_file() {
    set_up_tree
    # Stopping what is stopped is no failure; there is nothing to stop if the first start failed.
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
    rm -rf "${RAM:?}"
}

start_shared() { cluster start --dir "$DIR" --datanodes 2 --no-yarn; }

@test "start brings every daemon to work, status shows it" {
    run start_shared
    [ "$status" -eq 0 ]
    [[ $output == *"2 DataNodes live"* ]]
    run cluster status --dir "$DIR"
    [ "$status" -eq 0 ]
    [[ $output == *datanode-2*ready* ]]
    [ "$(cluster status --dir "$DIR" --json | field "s['state'], s['liveDataNodes']")" = "('running', 2)" ]
}

@test "every daemon listens on loopback only" {
    command -v ss >/dev/null || skip "ss is not installed"
    for daemon in namenode datanode-1 datanode-2; do
        pid=$(pid_of "$DIR" "$daemon")
        run bash -c "ss -Hltnp | grep -F 'pid=$pid,' | awk '{ print \$4 }' | grep -v '^\[*\(::ffff:\)*127\.'"
        [ -z "$output" ]
    done
}

@test "env is what a shell needs, and files can be written and read" {
    run cluster env --dir "$DIR"
    [ "$status" -eq 0 ]
    [[ $output == *"export HADOOP_CONF_DIR=$DIR/conf"* ]]
    echo 'kept over a restart' >"$BATS_TEST_TMPDIR/file"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/file" kept
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'kept over a restart' ]
}

@test "an append that finds fewer DataNodes than replicas fails, and says so" {
    local strict=(-D dfs.client.block.write.replace-datanode-on-failure.best-effort=false)
    echo one >"$BATS_TEST_TMPDIR/one"
    with "$DIR" hdfs dfs -D dfs.replication=3 -put "$BATS_TEST_TMPDIR/one" appended
    run with "$DIR" hdfs dfs "${strict[@]}" -appendToFile "$BATS_TEST_TMPDIR/one" appended
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'appendToFile: Failed to replace a bad datanode'* ]]
    with "$DIR" hdfs dfs -appendToFile "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/one" fresh
    [ "$(with "$DIR" hdfs dfs -cat fresh | xargs)" = 'one one' ]
}

@test "a second start finds everything running and touches nothing" {
    before=$(pid_of "$DIR" namenode)
    run cluster start --dir "$DIR"
    [ "$status" -eq 0 ]
    [[ $output == *"running already"* ]]
    [ "$(pid_of "$DIR" namenode)" = "$before" ]
    run cluster start --dir "$DIR" --mode hhh -D dfs.blocksize=1m
    [ "$status" -eq 1 ]
    [[ $output == *"cluster is running"*"--mode hhh (now none)"* ]]
    [[ $output == *"-D dfs.blocksize 1m (now not set)"* ]]
}

@test "a DataNode that is killed shows in status, and start brings it back" {
    kill -9 "$(pid_of "$DIR" datanode-2)"
    dead() { [ "$(state "$DIR" datanode-2)" = dead ]; }
    wait_until 10 dead
    run cluster status --dir "$DIR"
    [ "$status" -eq 4 ]
    cluster start --dir "$DIR"
    [ "$(state "$DIR" datanode-2)" = ready ]
}

@test "fresh is refused while the cluster runs" {
    run cluster start --fresh --dir "$DIR"
    [ "$status" -eq 1 ]
    [[ $output == *"is running"* ]]
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'kept over a restart' ]
}

@test "stop leaves no process, start again keeps data and ports" {
    before=$(cluster status --dir "$DIR" --json | field "[d['ports'] for d in s['daemons']]")
    run cluster stop --dir "$DIR"
    [ "$status" -eq 0 ]
    [ -z "$(processes_of "$DIR")" ]
    run cluster status --dir "$DIR"
    [ "$status" -eq 3 ]
    cluster start --dir "$DIR"
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'kept over a restart' ]
    [ "$(cluster status --dir "$DIR" --json | field "[d['ports'] for d in s['daemons']]")" = "$before" ]
}

@test "stop does not kill a process that got a recorded pid" {
    cluster stop --dir "$DIR"
    sleep 300 &
    foreign=$!
    echo "$foreign 1 $(cat /proc/sys/kernel/random/boot_id)" >"$DIR/run/namenode.pid"
    run cluster stop --dir "$DIR"
    [ "$status" -eq 0 ]
    kill -0 "$foreign"
    kill "$foreign"
}

@test "a port in use is named with its holder, and nothing is left" {
    port=$(sed -n 's/^port.datanode-1.http=//p' "$DIR/cluster.properties")
    python3 -c "import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $port)); s.listen(1); print('up', flush=True); time.sleep(120)" >"$BATS_TEST_TMPDIR/up" &
    holder=$!
    wait_until 10 grep -q up "$BATS_TEST_TMPDIR/up"
    run cluster start --dir "$DIR"
    kill "$holder"
    [ "$status" -eq 1 ]
    [[ $output == *"port $port of datanode-1.http is in use by pid $holder"* ]]
    [ -z "$(processes_of "$DIR")" ]
}

@test "an interrupt during start leaves nothing, and the next start recovers" {
    # A shell starts what runs in the background with interrupts ignored; a user's terminal does not.
    (exec setsid env --default-signal=INT "$HOWDAH" cluster start --dir "$DIR") >"$BATS_TEST_TMPDIR/out" 2>&1 &
    started() { grep -q 'datanode-2 .*started' "$BATS_TEST_TMPDIR/out"; }
    wait_until 60 started
    pid=$(pgrep -f "proc_howdah-cluster.*ClusterCommand start --dir $DIR\$")
    kill -INT "$pid"
    status=0
    wait $! || status=$?
    cat "$BATS_TEST_TMPDIR/out"
    grep -q interrupted "$BATS_TEST_TMPDIR/out"
    [ "$status" -ne 0 ]
    [ -z "$(processes_of "$DIR")" ]
    cluster start --dir "$DIR"
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'kept over a restart' ]
    cluster stop --dir "$DIR"
}

@test "a daemon that dies while starting is shown with its cause, and the others are stopped" {
    run cluster start --dir "$DIR" -D dfs.datanode.max.transfer.threads=many
    [ "$status" -eq 1 ]
    [[ $output == *"died while starting"* ]]
    [[ $output == *many* ]]
    [ -z "$(processes_of "$DIR")" ]
    run ! grep max.transfer.threads "$DIR/cluster.properties"
}

@test "a stopped cluster takes the mode HHH-L and leaves it, with its data" {
    mkdir "$BATS_FILE_TMPDIR/shared"
    cluster start --dir "$DIR" --mode Lustre --shared "$BATS_FILE_TMPDIR/shared" --ram "$RAM" -D dfs.blocksize=1m
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'kept over a restart' ]
    cluster stop --dir "$DIR"
    cluster start --dir "$DIR" --mode none
    [ "$(with "$DIR" hdfs dfs -cat kept)" = 'kept over a restart' ]
    cluster stop --dir "$DIR"
}

@test "fewer DataNodes than hold data are refused" {
    run cluster start --dir "$DIR" --datanodes 1
    [ "$status" -eq 1 ]
    [[ $output == *"2 DataNodes with data"* ]]
}

@test "a folder that no cluster made is refused, with and without fresh" {
    mkdir "$BATS_TEST_TMPDIR/mine"
    echo precious >"$BATS_TEST_TMPDIR/mine/file"
    for option in '' --fresh; do
        run cluster start --dir "$BATS_TEST_TMPDIR/mine" $option
        [ "$status" -eq 1 ]
        [[ $output == *"no howdah cluster made"* ]]
    done
    [ "$(cat "$BATS_TEST_TMPDIR/mine/file")" = precious ]
    [ "$(ls "$BATS_TEST_TMPDIR/mine")" = file ]
}

@test "a folder that can't be written is named" {
    touch "$BATS_TEST_TMPDIR/file"
    run cluster start --dir "$BATS_TEST_TMPDIR/file/c"
    [ "$status" -eq 1 ]
    [[ $output == *"$BATS_TEST_TMPDIR/file"* ]]
    run cluster start --dir /proc/c
    [ "$status" -eq 1 ]
    [[ $output == */proc/c*"can't be written"* ]]
}

@test "a disk that is full is named, with what is free" {
    mkdir "$BATS_TEST_TMPDIR/small"
    mount -t tmpfs -o size=20m none "$BATS_TEST_TMPDIR/small" 2>/dev/null || skip "no right to mount a small disk"
    run cluster start --dir "$BATS_TEST_TMPDIR/small/c"
    umount "$BATS_TEST_TMPDIR/small"
    [ "$status" -eq 1 ]
    [[ $output == *"20 MB free"* ]]
}

@test "a malformed site file is named with its line" {
    mkdir "$BATS_TEST_TMPDIR/conf"
    printf '<configuration>\n<property>\n' >"$BATS_TEST_TMPDIR/conf/hdfs-site.xml"
    run cluster start --dir "$BATS_TEST_TMPDIR/c" --conf "$BATS_TEST_TMPDIR/conf"
    [ "$status" -eq 1 ]
    [[ $output == *hdfs-site.xml*"line "* ]]
}

@test "another Java than 8 is refused with what is supported" {
    mkdir -p "$BATS_TEST_TMPDIR/jdk/bin"
    printf '#!/bin/sh\necho "openjdk version \\"21.0.1\\"" >&2\n' >"$BATS_TEST_TMPDIR/jdk/bin/java"
    chmod +x "$BATS_TEST_TMPDIR/jdk/bin/java"
    JAVA_HOME=$BATS_TEST_TMPDIR/jdk run cluster start --dir "$BATS_TEST_TMPDIR/c"
    [ "$status" -ne 0 ]
    [[ $output == *8* ]]
    [ ! -e "$BATS_TEST_TMPDIR/c" ]
}

@test "stat shows what went over which transport; RPC over the engine without a setting" {
    cluster start --dir "$BATS_TEST_TMPDIR/s" --datanodes 1 --no-yarn
    with "$BATS_TEST_TMPDIR/s" hdfs dfs -ls /
    run -0 "$HOWDAH" stat --dir "$BATS_TEST_TMPDIR/s"
    echo "$output"
    [[ $output == TRAFFIC*RPC*shm* ]]
    [[ $output == *"rpc: auto: libhowdah"* ]]
    [ "$("$HOWDAH" stat --dir "$BATS_TEST_TMPDIR/s" --json | field "[r['calls'] > 0 for r in s['rows'] if (r['traffic'], r['transport']) == ('RPC', 'shm')]")" = '[True]' ]
    # The same by the configuration that a shell has.
    eval "$(cluster env --dir "$BATS_TEST_TMPDIR/s")"
    "$HOWDAH" stat | grep -qE '^RPC +shm +[1-9]'
    cluster stop --dir "$BATS_TEST_TMPDIR/s"
}

@test "stock switches RDMA off for daemons and clients, and is recorded; a folder of the shell's that is gone does not matter" {
    HADOOP_CONF_DIR=/nonexistent cluster start --dir "$BATS_TEST_TMPDIR/s" --datanodes 1 --no-yarn --stock
    for file in core-site datanode-1/core-site; do
        [ "$(xmllint --xpath "string(//property[name='hadoop.rdma.enabled']/value)" "$BATS_TEST_TMPDIR/s/conf/$file.xml")" = false ]
    done
    grep -q '^stock=true$' "$BATS_TEST_TMPDIR/s/cluster.properties"
    run --separate-stderr "$HOWDAH" stat --dir "$BATS_TEST_TMPDIR/s"
    [[ $output == *RPC*sockets* && $output != *shm* ]]
    cluster stop --dir "$BATS_TEST_TMPDIR/s"
}

@test "wrong usage is answered, not guessed" {
    run cluster start --dir "$BATS_TEST_TMPDIR/c" --port namenode.htpp=1
    [ "$status" -eq 1 ]
    [[ $output == *namenode.http* ]]
    run cluster start --dir "$BATS_TEST_TMPDIR/c" --datanodes 0
    [ "$status" -eq 1 ]
    run cluster frobnicate
    [ "$status" -eq 2 ]
    run cluster status --dir "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 1 ]
    [[ $output == *"there is no cluster"* ]]
}

# as_user NUMBER SCRIPT: a shell's words as a user of that number, which the list of users in $BATS_TEST_TMPDIR may name; files are
# reached as before. $OWN is a cluster's folder.
as_user() {
    # shellcheck disable=SC2016
    OWN=$BATS_TEST_TMPDIR/$1 unshare --mount bash -c 'mount --bind "$1/passwd" /etc/passwd
        exec unshare --user --map-user="$2" env -u USER -u LOGNAME -u HADOOP_USER_NAME bash -ec "$3"' bash "$BATS_TEST_TMPDIR" "$@"
}

# A user's own cluster, in whose home folder a file with letters beyond ASCII is put under an ASCII locale.
# shellcheck disable=SC2016
OWN_CLUSTER='trap "\"$HOWDAH\" cluster stop --dir \"$OWN\"" EXIT
    "$HOWDAH" cluster start --dir "$OWN" --datanodes 1 --no-yarn -D "dfs.domain.socket.path=$OWN/dn._PORT" >&2
    export HADOOP_CONF_DIR=$OWN/conf
    env -u LANG LC_ALL=C "$TREE/bin/hdfs" dfs -put /etc/hostname größe
    "$TREE/bin/hdfs" dfs -ls -R /user'

@test "users of directory services and users without a name have a cluster, with a domain socket" {
    local user
    [ "$(id -u)" -eq 0 ] || skip "only root can put another list of users over the system's"
    printf '%s\n' 'root:x:0:0::/:/bin/bash' 'DOM\alice:x:5001:5001::/:/bin/bash' 'alice@site.org:x:5002:5002::/:/bin/bash' \
        '11100215:x:5003:5003::/:/bin/bash' >"$BATS_TEST_TMPDIR/passwd"
    run --separate-stderr as_user 5001 "$OWN_CLUSTER"
    # shellcheck disable=SC2154
    [ "$status" -eq 0 ] || { echo "$stderr"; false; }
    grep -qF ' DOM\alice ' <<<"$output"
    grep -qF '/user/DOM\alice/größe' <<<"$output"
    [ -n "${E2E_SLOW:-}" ] || return 0
    for user in 5002:alice@site.org 5003:11100215 4200000001:4200000001; do
        run -0 --separate-stderr as_user "${user%%:*}" "$OWN_CLUSTER"
        grep -qF "/user/${user#*:}/größe" <<<"$output"
    done
}

@test "fresh begins anew" {
    cluster start --fresh --dir "$DIR" --datanodes 1 --no-yarn
    run with "$DIR" hdfs dfs -test -e kept
    [ "$status" -ne 0 ]
    [ -z "$(ls "$BATS_FILE_TMPDIR/shared")" ]
    [ ! -e "$RAM" ]
    cluster stop --dir "$DIR"
}
