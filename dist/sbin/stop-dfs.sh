#!/usr/bin/env bash
# stop-dfs.sh [--config DIR]: stops the NameNodes, DataNodes, secondary or journal nodes and failover controllers of the configuration.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

begin "$@"
dfs_daemons stop
