#!/usr/bin/env bash
# stop-dfs.sh [--config DIR]: stops the NameNodes, DataNodes, secondary or journal nodes and failover controllers of the configuration.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

begin "$@"
dfs_daemons stop
