#!/usr/bin/env bash
# start-slave.sh spark://HOST:PORT [OPTION...]: starts SPARK_WORKER_INSTANCES (1) standalone workers here.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

[ $# -gt 0 ] || die "the master's address is missing" "usage: start-slave.sh spark://HOST:PORT [OPTION...]"
# Each worker in a process of its own: what one sets is not the next one's.
for ((i = 1; i <= ${SPARK_WORKER_INSTANCES:-1}; i++)); do
    (
        spark_daemon "worker-$i"
        port=()
        [ -z "${SPARK_WORKER_PORT:-}" ] || port=(--port "$((SPARK_WORKER_PORT + i - 1))")
        start_spark_daemon org.apache.spark.deploy.worker.Worker --webui-port "$((${SPARK_WORKER_WEBUI_PORT:-8081} + i - 1))" \
            ${port[@]+"${port[@]}"} "$@"
    )
done
