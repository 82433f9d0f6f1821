# shellcheck shell=bash
# Read by yarn after hadoop-env.sh.

# Heap, megabytes: of all of YARN, of one daemon (also NODEMANAGER, TIMELINESERVER, PROXYSERVER).
# export YARN_HEAPSIZE=${YARN_HEAPSIZE:-1000}
# export YARN_RESOURCEMANAGER_HEAPSIZE=2000

# JVM options: of all of YARN, of one daemon.
# export YARN_OPTS="${YARN_OPTS:-}"
# export YARN_RESOURCEMANAGER_OPTS="${YARN_RESOURCEMANAGER_OPTS:-}"

# export YARN_LOG_DIR=/var/log/yarn
# export YARN_PID_DIR=/run/yarn
