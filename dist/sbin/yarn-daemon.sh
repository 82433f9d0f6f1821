#!/usr/bin/env bash
# yarn-daemon.sh [--config DIR] start|stop|status COMMAND [ARGUMENT...]: a YARN daemon; yarn --daemon does the same.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

one_daemon yarn "$@"
