#!/usr/bin/env bash
# stop-history-server.sh: stops the history server.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

spark_daemon historyserver
daemon_stop
