#!/usr/bin/env bash
# stop-master.sh: stops the standalone master.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

spark_daemon master
daemon_stop
