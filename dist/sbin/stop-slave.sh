#!/usr/bin/env bash
# stop-slave.sh: stops SPARK_WORKER_INSTANCES (1) standalone workers here.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

for ((i = 1; i <= ${SPARK_WORKER_INSTANCES:-1}; i++)); do
    spark_daemon "worker-$i"
    daemon_stop
done
