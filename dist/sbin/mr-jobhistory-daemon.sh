#!/usr/bin/env bash
# mr-jobhistory-daemon.sh [--config DIR] start|stop|status COMMAND [ARGUMENT...]: the job history server; mapred --daemon does the same.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

one_daemon mapred "$@"
