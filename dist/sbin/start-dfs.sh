#!/usr/bin/env bash
# start-dfs.sh [--config DIR]: starts the NameNodes, DataNodes, secondary or journal nodes and failover controllers of the configuration.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

find_tree
if [ "${1:-}" = --config ]; then HADOOP_CONF_DIR=${2:?}; shift 2; fi
find_hadoop_conf
lists=$(mktemp -d)
trap 'rm -rf -- "$lists"' EXIT

# hosts GETCONF-OPTION: the hosts that the configuration gives a role, in a file.
hosts() { "$HADOOP_HOME/bin/hdfs" --loglevel ERROR getconf "$1" 2>/dev/null | tr ' ' '\n' | sed -e '/^$/d' -e 's/^0\.0\.0\.0$/localhost/' | sort -u >"$lists/hosts"; }

# role DAEMON HOSTS-FILE
role() {
    [ -s "$2" ] || return 0
    printf '%s: %s\n' "$1" "$(hosts_of "$2" | tr '\n' ' ')"
    on_hosts "$2" "$HADOOP_HOME/bin/hdfs" --config "$HADOOP_CONF_DIR" --daemon start "$1"
}

hosts -namenodes || die "the configuration names no NameNode" "set fs.defaultFS in $HADOOP_CONF_DIR/core-site.xml to hdfs://HOST:8020"
role namenode "$lists/hosts"
cp -- "$lists/hosts" "$lists/namenodes"
role datanode "${HADOOP_SLAVES:-$HADOOP_CONF_DIR/slaves}"
if hosts -secondaryNameNodes; then role secondarynamenode "$lists/hosts"; fi
if hosts -journalNodes; then role journalnode "$lists/hosts"; fi
if [ "$("$HADOOP_HOME/bin/hdfs" --loglevel ERROR getconf -confKey dfs.ha.automatic-failover.enabled 2>/dev/null)" = true ]; then
    role zkfc "$lists/namenodes"
fi
