#!/usr/bin/env bash
# start-history-server.sh: serves what applications logged in spark.history.fs.logDirectory; SPARK_HISTORY_OPTS.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

spark_daemon historyserver
start_spark_daemon org.apache.spark.deploy.history.HistoryServer "$@"
