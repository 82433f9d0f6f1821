#!/usr/bin/env bash
# start-thriftserver.sh [SUBMIT-OPTION...] [--hiveconf NAME=VALUE...]: serves SQL over JDBC (see beeline).
here=${BASH_SOURCE[0]}; [[ $here == */* && ! -L $here ]] || here=$(readlink -f -- "$here")
. "${here%/*}/../libexec/spark-daemon.sh"

spark_daemon thriftserver
export SPARK_SUBMIT_OPTS="${SPARK_SUBMIT_OPTS:-} -Dproc_thriftserver -Dio.howdah.role=daemon"
start_spark_daemon org.apache.spark.deploy.SparkSubmit --class org.apache.spark.sql.hive.thriftserver.HiveThriftServer2 \
    --name 'Thrift JDBC/ODBC Server' "$@"
