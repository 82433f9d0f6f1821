#!/usr/bin/env bash
# yarn-daemons.sh [--config DIR] start|stop|status COMMAND: yarn-daemon.sh on every host of the slaves file.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

begin "$@"
on_slaves "$HADOOP_HOME/sbin/yarn-daemon.sh" --config "$HADOOP_CONF_DIR" ${REST[@]+"${REST[@]}"}
