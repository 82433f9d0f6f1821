#!/usr/bin/env bash
# mr-jobhistory-daemon.sh [--config DIR] start|stop|status COMMAND [ARGUMENT...]: the job history server; mapred --daemon does the same.
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../libexec/functions.sh"

options=()
while [ $# -gt 0 ]; do
    case $1 in
        --config) options+=(--config "${2-}"); shift; [ $# -eq 0 ] || shift ;;
        --hosts | --script) shift; [ $# -eq 0 ] || shift ;; # upstream's; of no use here
        *) break ;;
    esac
done
[ $# -ge 2 ] || die "an action and a daemon are needed" "usage: mr-jobhistory-daemon.sh [--config DIR] start|stop|status COMMAND"
find_tree
exec "$HADOOP_HOME/bin/mapred" ${options[@]+"${options[@]}"} --daemon "$@"
