#!/usr/bin/env bash
# stop-thriftserver.sh: stops the Thrift server.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

spark_daemon thriftserver
daemon_stop
