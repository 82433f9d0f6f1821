#!/usr/bin/env bash
# One node of a job's cluster: starts its daemons, watches them until standard input ends, stops them and cleans up.
#   node.sh SETTINGS [INDEX]     INDEX in the job's list of nodes; without it Slurm says it. Started by job.sh.
set -euo pipefail

# shellcheck source=/dev/null
. "$1"
# shellcheck disable=SC2153 # set by the file
index=${2:-${SLURM_NODEID:?no INDEX was given and Slurm names none}}
local_folder=$LOCAL/howdah-$JOB_ID-$index
daemons=()
[ "$index" -ne 0 ] || daemons+=(hdfs:namenode yarn:resourcemanager)
if [ "$index" -ne 0 ] || [ "$NODES" -eq 1 ] || [ -n "$ALL_WORK" ]; then daemons+=(hdfs:datanode yarn:nodemanager); fi
started=()

# tree PROGRAM ARGUMENT...: of the tree, with this job's configuration.
tree() { "$HOWDAH_HOME/bin/$1" --config "$JOB/conf" "${@:2}" </dev/null; }

clean_up() {
    local i
    trap '' TERM INT HUP
    for ((i = ${#started[@]} - 1; i >= 0; i--)); do tree "${started[i]%%:*}" --daemon stop "${started[i]##*:}" || true; done
    rm -rf -- "$local_folder"
}

umask 077
mkdir -- "$local_folder" || { echo "$(uname -n): the folder $local_folder cannot be made: set HOWDAH_JOB_LOCAL to a folder of this node's disk" >&2; exit 1; }
trap clean_up EXIT
trap 'exit 143' TERM INT HUP
export HADOOP_PID_DIR=$local_folder/run HADOOP_LOG_DIR=$JOB/logs HADOOP_OPTS="${HADOOP_OPTS:-} -Dhowdah.local=$local_folder"
export HADOOP_STOP_TIMEOUT=${HADOOP_STOP_TIMEOUT:-20}
[ "$index" -ne 0 ] || tree hdfs namenode -format -nonInteractive >"$JOB/logs/format.log" 2>&1 ||
    { tail -n 5 "$JOB/logs/format.log" >&2; echo "$(uname -n): the NameNode could not be formatted, see $JOB/logs/format.log" >&2; exit 1; }
for daemon in "${daemons[@]}"; do
    tree "${daemon%%:*}" --daemon start "${daemon##*:}"
    started+=("$daemon")
done
# Every five seconds one look at the daemons; the end of standard input is the end of the job.
while :; do
    status=0
    read -r -t 5 _ || status=$?
    [ "$status" -ne 0 ] || continue
    [ "$status" -gt 128 ] || exit 0
    for daemon in "${started[@]}"; do
        tree "${daemon%%:*}" --daemon status "${daemon##*:}" >/dev/null ||
            { echo "$(uname -n): the ${daemon##*:} has died, see its log in $JOB/logs" >&2; exit 1; }
    done
done
