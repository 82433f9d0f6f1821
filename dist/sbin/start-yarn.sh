#!/usr/bin/env bash
# start-yarn.sh [--config DIR]: starts the ResourceManager here and a NodeManager on every host of the slaves file.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

begin "$@"
yarn_daemons start
