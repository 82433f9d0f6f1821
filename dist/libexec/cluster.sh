# shellcheck shell=bash
# Hosts of a cluster and commands on them over ssh. Sourced, never run.

# hosts_of FILE: its hosts, without comments and blank lines.
hosts_of() {
    [ -r "$1" ] || die "the list of hosts $1 cannot be read" "put one host a line into it"
    sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' -- "$1"
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
