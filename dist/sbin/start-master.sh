#!/usr/bin/env bash
# start-master.sh [OPTION...]: starts a standalone master; SPARK_MASTER_HOST, SPARK_MASTER_PORT, SPARK_MASTER_WEBUI_PORT.
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

spark_daemon master
start_spark_daemon org.apache.spark.deploy.master.Master --host "${SPARK_MASTER_HOST:-$(own_host)}" \
    --port "${SPARK_MASTER_PORT:-7077}" --webui-port "${SPARK_MASTER_WEBUI_PORT:-8080}" "$@"
