#!/usr/bin/env bash
# stop-master.sh: stops the standalone master.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/spark-daemon.sh"

spark_daemon master
daemon_stop
