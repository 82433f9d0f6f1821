#!/usr/bin/env bash
# mr-jobhistory-daemon.sh [--config DIR] start|stop|status COMMAND [ARGUMENT...]: the job history server; mapred --daemon does the same.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/functions.sh"
. "${here%/*}/../libexec/cluster.sh"

one_daemon mapred "$@"
