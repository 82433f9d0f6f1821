#!/usr/bin/env bash
# hadoop-daemon.sh [--config DIR] start|stop|status COMMAND [ARGUMENT...]: an HDFS daemon; hdfs --daemon does the same.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

one_daemon hdfs "$@"
