#!/usr/bin/env bash
# yarn-daemons.sh [--config DIR] start|stop|status COMMAND: yarn-daemon.sh on every host of the slaves file.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

find_tree
if [ "${1:-}" = --config ]; then HADOOP_CONF_DIR=${2:?}; shift 2; fi
find_hadoop_conf
on_hosts "${HADOOP_SLAVES:-$HADOOP_CONF_DIR/slaves}" "$HADOOP_HOME/sbin/yarn-daemon.sh" --config "$HADOOP_CONF_DIR" "$@"
