#!/usr/bin/env bash
# stop-history-server.sh: stops the history server.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/spark-daemon.sh"

spark_daemon historyserver
daemon_stop
