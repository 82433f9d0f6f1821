#!/usr/bin/env bash
# stop-thriftserver.sh: stops the Thrift server.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/spark-daemon.sh"

spark_daemon thriftserver
daemon_stop
