#!/usr/bin/env bash
# start-yarn.sh [--config DIR]: starts the ResourceManager here and a NodeManager on every host of the slaves file.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

begin "$@"
yarn_daemons start
