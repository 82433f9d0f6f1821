#!/usr/bin/env bash
# yarn-daemons.sh [--config DIR] start|stop|status COMMAND: yarn-daemon.sh on every host of the slaves file.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

begin "$@"
on_slaves "$HADOOP_HOME/sbin/yarn-daemon.sh" --config "$HADOOP_CONF_DIR" ${REST[@]+"${REST[@]}"}
