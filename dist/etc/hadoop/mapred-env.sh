# shellcheck shell=bash
# Read by mapred after hadoop-env.sh.

# The job history server: heap in megabytes, JVM options.
# export HADOOP_JOB_HISTORYSERVER_HEAPSIZE=1000
# export HADOOP_JOB_HISTORYSERVER_OPTS="${HADOOP_JOB_HISTORYSERVER_OPTS:-}"

# export HADOOP_MAPRED_LOG_DIR=/var/log/mapred
# export HADOOP_MAPRED_PID_DIR=/run/mapred
