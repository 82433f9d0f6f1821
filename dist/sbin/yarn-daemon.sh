#!/usr/bin/env bash
# yarn-daemon.sh [--config DIR] start|stop|status COMMAND [ARGUMENT...]: a YARN daemon; yarn --daemon does the same.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/cluster.sh"

one_daemon yarn "$@"
