#!/usr/bin/env bash
# stop-yarn.sh [--config DIR]: stops the ResourceManager here and a NodeManager on every host of the slaves file.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

begin "$@"
yarn_daemons stop
