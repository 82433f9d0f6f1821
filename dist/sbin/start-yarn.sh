#!/usr/bin/env bash
# start-yarn.sh [--config DIR]: starts the ResourceManager here and a NodeManager on every host of the slaves file.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

find_tree
if [ "${1:-}" = --config ]; then HADOOP_CONF_DIR=${2:?}; shift 2; fi
find_hadoop_conf
yarn=("$HADOOP_HOME/bin/yarn" --config "$HADOOP_CONF_DIR" --daemon start)
"${yarn[@]}" resourcemanager
on_hosts "${HADOOP_SLAVES:-$HADOOP_CONF_DIR/slaves}" "${yarn[@]}" nodemanager
