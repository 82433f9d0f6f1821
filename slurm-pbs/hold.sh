#!/usr/bin/env bash
# The command of an interactive job: tells howdah job that the cluster is there, and waits until it is to stop.   hold.sh RECORD
set -euo pipefail

{
    echo 'unset HADOOP_HOME HADOOP_PREFIX SPARK_HOME'
    for name in HADOOP_CONF_DIR YARN_CONF_DIR HADOOP_LOG_DIR SPARK_CONF_DIR SPARK_LOCAL_DIRS HADOOP_HEAPSIZE HADOOP_OPTS PATH; do
        printf 'export %s=%q\n' "$name" "${!name}"
    done
} >"$1.env.new"
mv "$1.env.new" "$1.env"
while [ ! -e "$1.stop" ] && kill -0 "$PPID" 2>/dev/null; do sleep 0.5; done
