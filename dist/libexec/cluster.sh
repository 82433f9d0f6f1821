# shellcheck shell=bash
# Hosts of a cluster and commands on them over ssh. Sourced, never run.

# hosts_of FILE: its hosts, without comments and blank lines.
hosts_of() {
    local hosts wrong
    [ -r "$1" ] || die "the list of hosts $1 cannot be read" "put one host a line into it"
    hosts=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' -- "$1")
    wrong=$(grep -m 1 _ <<<"$hosts") || true
    [ -z "$wrong" ] || die "$wrong in $1 has a _, which Hadoop's addresses do not take" "use another name or the address of the host"
    [ -z "$hosts" ] || printf '%s\n' "$hosts"
}

# quoted WORD...: the words as a shell on another host takes them.
quoted() { printf '%q ' "$@"; }

# on_hosts FILE COMMAND...: COMMAND on each host of FILE, at once; output marked by host; fails if one of them failed.
on_hosts() {
    local hosts host pids=() pid failed=0 ssh_options
    hosts=$(hosts_of "$1") || exit 1
    shift
    split_words ssh_options "${HADOOP_SSH_OPTS:-${SPARK_SSH_OPTS:--o BatchMode=yes -o ConnectTimeout=10}}"
    for host in $hosts; do
        # shellcheck disable=SC2029 # expanded here on purpose
        (set -o pipefail; ssh "${ssh_options[@]}" -- "$host" "$(quoted "$@")" </dev/null 2>&1 | sed "s/^/$host: /") &
        pids+=($!)
        [ -z "${HADOOP_SLAVE_SLEEP:-}" ] || sleep "$HADOOP_SLAVE_SLEEP"
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
    return "$failed"
}

# begin [--config DIR] ARGUMENT...: what each command for a cluster starts with; the other arguments into the array REST.
begin() {
    find_tree hadoop
    if [ "${1:-}" = --config ]; then
        HADOOP_CONF_DIR=${2:?--config needs a folder}
        shift 2
    fi
    # shellcheck disable=SC2034 # for the caller
    REST=("$@")
    find_hadoop_conf
}

# on_slaves COMMAND...: COMMAND on each host of the slaves file.
on_slaves() { on_hosts "${HADOOP_SLAVES:-$HADOOP_CONF_DIR/slaves}" "$@"; }

# one_daemon PROGRAM [--config DIR] start|stop|status DAEMON [ARGUMENT...]: PROGRAM --daemon, under upstream's older name.
one_daemon() {
    local program=$1 options=()
    shift
    while [ $# -gt 0 ]; do
        case $1 in
            --config) options+=(--config "${2-}"); shift; [ $# -eq 0 ] || shift ;;
            --hosts | --script) shift; [ $# -eq 0 ] || shift ;; # upstream's; of no use here
            *) break ;;
        esac
    done
    [ $# -ge 2 ] || die "an action and a daemon are needed" "usage: ${0##*/} [--config DIR] start|stop|status DAEMON"
    find_tree hadoop
    exec "$HADOOP_HOME/bin/$program" ${options[@]+"${options[@]}"} --daemon "$@"
}

# conf_hosts GETCONF-OPTION FILE: the hosts that the configuration gives a role, into FILE.
conf_hosts() {
    "$HADOOP_HOME/bin/hdfs" --loglevel ERROR getconf "$1" 2>/dev/null | tr ' ' '\n' |
        sed -e '/^$/d' -e 's/^0\.0\.0\.0$/localhost/' | sort -u >"$2"
}

# dfs_role ACTION DAEMON HOSTS-FILE
dfs_role() {
    local hosts
    [ -s "$3" ] || return 0
    hosts=$(hosts_of "$3") || exit 1
    printf '%s: %s\n' "$2" "$(xargs <<<"$hosts")"
    on_hosts "$3" "$HADOOP_HOME/bin/hdfs" --config "$HADOOP_CONF_DIR" --daemon "$1" "$2"
}

# dfs_daemons start|stop: every daemon of HDFS that the configuration names, on the hosts it names.
dfs_daemons() {
    local lists automatic
    lists=$(mktemp -d)
    # shellcheck disable=SC2064 # the value of now is meant
    trap "rm -rf -- '$lists'" EXIT
    conf_hosts -namenodes "$lists/namenodes" ||
        die "the configuration names no NameNode" "set fs.defaultFS in $HADOOP_CONF_DIR/core-site.xml to hdfs://HOST:8020"
    dfs_role "$1" namenode "$lists/namenodes"
    dfs_role "$1" datanode "${HADOOP_SLAVES:-$HADOOP_CONF_DIR/slaves}"
    if conf_hosts -secondaryNameNodes "$lists/hosts"; then dfs_role "$1" secondarynamenode "$lists/hosts"; fi
    if conf_hosts -journalNodes "$lists/hosts"; then dfs_role "$1" journalnode "$lists/hosts"; fi
    automatic=$("$HADOOP_HOME/bin/hdfs" --loglevel ERROR getconf -confKey dfs.ha.automatic-failover.enabled) ||
        die "the configuration does not say whether HDFS fails over by itself" "the message above names what is wrong in $HADOOP_CONF_DIR"
    if [ "$automatic" = true ]; then dfs_role "$1" zkfc "$lists/namenodes"; fi
}

# yarn_daemons start|stop: the ResourceManager here, a NodeManager on every host of the slaves file.
yarn_daemons() {
    local yarn=("$HADOOP_HOME/bin/yarn" --config "$HADOOP_CONF_DIR" --daemon "$1")
    "${yarn[@]}" resourcemanager
    on_slaves "${yarn[@]}" nodemanager
}
