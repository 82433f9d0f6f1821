#!/usr/bin/env bats
# Upstream's way to start a cluster: start-dfs.sh and start-yarn.sh over ssh, here to a real sshd of the test's own on
# loopback, with the hosts, folders and ports of a configuration that the test writes.

bats_require_minimum_version 1.5.0

load lib

setup() {
    set_up_tree
    . "$HOWDAH_ROOT/ci/lib/sshd.sh"
    SSHD=$(provide_sshd) || { REASON=$SSHD SSHD='' && skip "$REASON"; }
    CONF=$BATS_TEST_TMPDIR/conf
    mkdir "$BATS_TEST_TMPDIR/ssh"
    start_sshd
    write_conf
}

teardown() {
    [ -n "${SSHD:-}" ] || return 0
    for daemon in nodemanager resourcemanager; do "$TREE/bin/yarn" --config "$CONF" --daemon stop "$daemon"; done
    for daemon in secondarynamenode datanode namenode; do "$TREE/bin/hdfs" --config "$CONF" --daemon stop "$daemon"; done
    kill "$(cat "$BATS_TEST_TMPDIR/ssh/pid")"
}

# free_ports N: prints N ports that nobody listens on, a line each.
free_ports() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys
ports = []
while len(ports) < int(sys.argv[1]):
    port = random.randrange(20000, 32000)
    with socket.socket() as probe:
        if port not in ports and probe.connect_ex(("127.0.0.1", port)):
            ports.append(port)
print(*ports, sep="\n")
PYTHON
}

start_sshd() {
    local ssh=$BATS_TEST_TMPDIR/ssh port
    port=$(free_ports 1)
    ssh-keygen -q -t ed25519 -N '' -f "$ssh/host"
    ssh-keygen -q -t ed25519 -N '' -f "$ssh/user"
    cp "$ssh/user.pub" "$ssh/authorized"
    # Debian's sshd wants this folder, which its service would make.
    [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
    "$SSHD" -f /dev/null -p "$port" -h "$ssh/host" -o ListenAddress=127.0.0.1 -o "AuthorizedKeysFile=$ssh/authorized" \
        -o StrictModes=no -o UsePAM=no -o PermitRootLogin=yes -o "PidFile=$ssh/pid" -E "$ssh/log"
    wait_until 20 test -s "$ssh/pid"
    export HADOOP_SSH_OPTS="-p $port -i $ssh/user -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
}

# site FILE NAME VALUE...
site() {
    local file=$CONF/$1
    shift
    {
        echo '<configuration>'
        while [ $# -gt 0 ]; do
            printf '<property><name>%s</name><value>%s</value></property>\n' "$1" "$2"
            shift 2
        done
        echo '</configuration>'
    } >"$file"
}

write_conf() {
    local port
    mapfile -t port < <(free_ports 13)
    cp -r "$TREE/etc/hadoop" "$CONF"
    printf 'export %s\n' "JAVA_HOME=$JAVA_HOME" "HADOOP_LOG_DIR=$BATS_TEST_TMPDIR/log" "YARN_LOG_DIR=$BATS_TEST_TMPDIR/log" \
        "HADOOP_PID_DIR=$BATS_TEST_TMPDIR/pid" "YARN_PID_DIR=$BATS_TEST_TMPDIR/pid" HADOOP_HEAPSIZE=256 >>"$CONF/hadoop-env.sh"
    echo localhost >"$CONF/slaves"
    site core-site.xml fs.defaultFS "hdfs://localhost:${port[0]}" hadoop.tmp.dir "$BATS_TEST_TMPDIR/data"
    site hdfs-site.xml dfs.replication 1 dfs.namenode.http-address "localhost:${port[1]}" \
        dfs.datanode.address "localhost:${port[2]}" dfs.datanode.http.address "localhost:${port[3]}" \
        dfs.datanode.ipc.address "localhost:${port[4]}" dfs.namenode.secondary.http-address "localhost:${port[5]}"
    site yarn-site.xml yarn.resourcemanager.hostname localhost yarn.resourcemanager.address "localhost:${port[6]}" \
        yarn.resourcemanager.scheduler.address "localhost:${port[7]}" \
        yarn.resourcemanager.resource-tracker.address "localhost:${port[8]}" \
        yarn.resourcemanager.admin.address "localhost:${port[9]}" yarn.resourcemanager.webapp.address "localhost:${port[10]}" \
        yarn.nodemanager.localizer.address "localhost:${port[11]}" yarn.nodemanager.webapp.address "localhost:${port[12]}"
}

nodes_running() { "$TREE/bin/yarn" --config "$CONF" node -list 2>&1 | grep -q 'Total Nodes:1'; }

@test "start-dfs.sh and start-yarn.sh bring up what the configuration names, the stop scripts end it" {
    slow
    local daemon
    run -0 "$TREE/sbin/slaves.sh" --config "$CONF" echo here
    [ "$output" = "localhost: here" ]
    run -0 "$TREE/bin/hdfs" --config "$CONF" namenode -format -nonInteractive
    run -0 "$TREE/sbin/start-dfs.sh" --config "$CONF"
    [[ $output == *"namenode: localhost"*"datanode: localhost"*"secondarynamenode: localhost"* ]]
    run -0 "$TREE/sbin/start-yarn.sh" --config "$CONF"
    wait_until 60 "$TREE/bin/hdfs" --config "$CONF" dfs -put -f "$CONF/core-site.xml" /file
    [ "$("$TREE/bin/hdfs" --config "$CONF" dfs -cat /file)" = "$(cat "$CONF/core-site.xml")" ]
    wait_until 60 nodes_running
    run -0 "$TREE/sbin/hadoop-daemons.sh" --config "$CONF" status datanode
    [[ $output == "localhost: datanode is running as process "* ]]
    run -0 "$TREE/sbin/stop-yarn.sh" --config "$CONF"
    run -0 "$TREE/sbin/stop-dfs.sh" --config "$CONF"
    for daemon in namenode datanode secondarynamenode; do
        run -3 "$TREE/bin/hdfs" --config "$CONF" --daemon status "$daemon"
    done
    for daemon in resourcemanager nodemanager; do run -3 "$TREE/bin/yarn" --config "$CONF" --daemon status "$daemon"; done
}

@test "a host that cannot be reached fails the start and is named" {
    echo 127.0.0.2 >"$CONF/slaves" # sshd listens on 127.0.0.1 only
    run -1 "$TREE/sbin/hadoop-daemons.sh" --config "$CONF" status datanode
    [[ $output == "127.0.0.2: "*refused* ]]
}
