#!/usr/bin/env bash
# slaves.sh [--config DIR] COMMAND...: runs COMMAND over ssh on every host of HADOOP_SLAVES (default: etc/hadoop/slaves).
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

find_tree
if [ "${1:-}" = --config ]; then HADOOP_CONF_DIR=${2:?}; shift 2; fi
[ $# -gt 0 ] || die "a command is needed" "usage: slaves.sh [--config DIR] COMMAND..."
find_hadoop_conf
on_hosts "${HADOOP_SLAVES:-$HADOOP_CONF_DIR/slaves}" "$@"
