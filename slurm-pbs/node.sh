#!/usr/bin/env bash
# One node of a job's cluster: starts its daemons, watches them until standard input ends, stops them and cleans up.
#   node.sh SETTINGS [INDEX [by-file]]     INDEX in the job's list of nodes; without it Slurm says it. Started by job.sh.
# by-file: the job ends when run/stop is in its folder, which the first node makes; there is no standard input.
set -euo pipefail

# without_folder JOB: what is said where the job's folder is not seen.
without_folder() {
    printf '%s: ' "$(uname -n)"
    if [ -d "${1%/*}" ]; then
        printf "the folder %s is another one here than on the first node, whose %s it lacks" "${1%/*}" "${1##*/}"
    else
        printf "the folder %s, which the job's is in, is not there" "${1%/*}"
    fi
    echo ': name one that all nodes see (--shared), or submit from there'
}

[ -r "$1" ] || { without_folder "${1%/*}" >&2; exit 1; }
# shellcheck source=/dev/null
. "$1"
# shellcheck source=slurm-pbs/resources.sh
. "$HOWDAH_HOME/share/slurm-pbs/resources.sh"
# shellcheck source=slurm-pbs/storage.sh
. "$HOWDAH_HOME/share/slurm-pbs/storage.sh"
# shellcheck source=slurm-pbs/leftovers.sh
. "$HOWDAH_HOME/share/slurm-pbs/leftovers.sh"
# shellcheck source=slurm-pbs/reasons.sh
. "$HOWDAH_HOME/share/slurm-pbs/reasons.sh"
# shellcheck source=slurm-pbs/workers.sh
. "$HOWDAH_HOME/share/slurm-pbs/workers.sh"
# shellcheck disable=SC2153 # set by the file
index=${2:-${SLURM_NODEID:?no INDEX was given and Slurm names none}}
name=$(uname -n)
by_file=${3:-}
local_folder=$LOCAL/howdah-$RUN-$index
masters=() workers=()
if [ "$MODE" = spark-standalone ]; then scheduler=spark:master runner=spark:worker; else scheduler=yarn:resourcemanager runner=yarn:nodemanager; fi
[ "$index" -ne 0 ] || masters=(hdfs:namenode "$scheduler")
if [ "$index" -ne 0 ] || [ "$NODES" -eq 1 ] || [ "$ALL_WORK" = yes ]; then workers=(hdfs:datanode "$runner"); fi
if ! has_hdfs; then masters=(${masters[@]+"${masters[@]:1}"}) workers=(${workers[@]+"${workers[@]:1}"}); fi
[ ${#workers[@]} -gt 0 ] || RAM='' SSD='' HDD=''
declare -A pids=()
PLAN=() BINDINGS=() executor_cores=0 executor_heap=0 executor_engine=0
warnings=() claimed=() hurry=''
# The second compiler starts on code that has run ten times as often as by default: in their first seconds daemons pay a third less for it,
# and what is busy is compiled as before a little later.
late_compiler='-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000'

give_up() { printf '%s: %s\n' "$name" "$*" >&2; exit 1; }

# is_loopback: whether this node knows its own name as an address that leads others to themselves.
is_loopback() { [[ $(getent ahostsv4 "$name" | awk 'NR == 1 { print $1 }') == 127.* ]]; }

# own_address: a name or an address of this node by which others reach it.
own_address() {
    if is_loopback; then
        hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 -E '^[0-9.]+$' || printf '%s\n' "$name"
    else
        printf '%s\n' "$name"
    fi
}

# check_storage: gives up for a folder that does not do; leaves warnings. In the modes with replicas in RAM a node with little memory does without RAM.
check_storage() {
    local line
    line=$(probe_shared)
    [ -z "$line" ] || give_up "$line"
    [ ${#workers[@]} -gt 0 ] || return 0
    while read -r line; do
        [[ $line == 'warning: '* ]] || give_up "$line"
        warnings+=("$line")
    done < <(probe_storage)
}

# ask_doctor: the transport that the engine chooses here; warnings and problems of the node.
ask_doctor() {
    local report line
    transport='?'
    report=$(timeout 30 "$HOWDAH_HOME/bin/howdah" doctor --json 2>/dev/null) || true # its status is that of the worst finding
    line=$(sed -nE 's/^ *\{.*"name": "chosen transport".*"value": "(([^"\\]|\\.)*)".*/\1/p' <<<"$report")
    transport=${line:-not known: howdah doctor says nothing here}
    while read -r line; do warnings+=("$line"); done < <(sed -nE \
        's/^ *\{.*"name": "([^"]*)", "status": "(warning|problem)", "value": "(([^"\\]|\\.)*)", "advice": "(([^"\\]|\\.)*)"\},?$/\2: \1: \3 -> \5/p' <<<"$report")
}

# place_data: the share of each RAM disk, in bytes, and what is kept free where data lies in a RAM disk without a storage mode.
place_data() {
    local folders size
    ram=0 reserved=0
    split_list folders "$RAM"
    if [ ${#folders[@]} -gt 0 ] && [ "$DATA_MEMORY" -lt 512 ]; then
        warnings+=("warning: $DATA_MEMORY MB of memory are too few for replicas in RAM, which begin at 512")
        RAM='' DATA_MEMORY=0
        plan_node "$memory" "${roles[@]:0:3}" 0
    elif [ ${#folders[@]} -gt 0 ]; then
        ram=$(((DATA_MEMORY << 20) / ${#folders[@]}))
    elif [ "$DATA_MEMORY" -gt 0 ]; then
        size=$(whole_space "$LOCAL")
        [ "$DATA_MEMORY" -ge "$size" ] || reserved=$(((size - DATA_MEMORY) << 20))
    fi
}

# measure: what the daemons get; fails where the job has too little of this node.
measure() {
    local memory cores roles least=512
    memory=$(node_memory "${MEMORY[index]:-0}")
    cores=$(node_cores "${CORES[index]:-0}")
    roles=(${#masters[@]} ${#workers[@]} $((index == 0)) "$(ram_space)")
    plan_node "$memory" "${roles[@]}"
    if [ "$runner" = spark:worker ]; then
        least=$LEAST_EXECUTOR
        [ ${#workers[@]} -eq 0 ] || [ "$CONTAINERS" -lt "$least" ] || place_workers || give_up "howdah spark plan says above why no worker fits"
    fi
    [ ${#workers[@]} -eq 0 ] || place_data
    [ ${#workers[@]} -eq 0 ] || [ "$CONTAINERS" -ge "$least" ] ||
        give_up "the job has $memory MB of this node, its daemons need $(least_memory "$least" "${roles[@]}"): ask for more (Slurm: --mem, PBS: mem)"
    node_options="-Dhowdah.local=$local_folder -Dhowdah.address=$(own_address) -Dhowdah.memory=$CONTAINERS -Dhowdah.cores=$cores -Dhowdah.reserved=${reserved:-0}"
    node_options+=" -Dhowdah.data=$(data_folders) -Dhowdah.ram=${ram:-0} -Dhowdah.logs=$(container_logs)"
    {
        printf 'name=%q address=%q memory=%q cores=%q containers=%q ' "$name" "$(own_address)" "$memory" "$cores" $((${#workers[@]} ? CONTAINERS : 0))
        printf 'runners=%q executor_cores=%q executor_heap=%q executor_engine=%q ' "${#PLAN[@]}" "$executor_cores" "$executor_heap" "$executor_engine"
        printf 'storage=%q transport=%q warnings=(%s)\n' "$(storage_sizes)" "$transport" "$([ ${#warnings[@]} -eq 0 ] || printf '%q ' "${warnings[@]}")"
    } >"$JOB/run/node-$index.new"
    mv "$JOB/run/node-$index.new" "$JOB/run/node-$index"
}

# storage_sizes: MB of each kind of storage, as RAM, SSD and disk.
storage_sizes() {
    local kind folder folders total sizes=()
    for kind in RAM SSD HDD; do
        kind_folders folders "$kind"
        [ "$MODE" != lustre-only ] || folders=()
        total=0
        for folder in ${folders[@]+"${folders[@]}"}; do total=$((total + $(free_space "$folder"))); done
        if [ "$kind" = RAM ]; then total=$DATA_MEMORY; fi
        [ ${#folders[@]} -eq 0 ] || sizes+=("$(case $kind in HDD) echo disk ;; *) echo "$kind" ;; esac) $total")
    done
    [ -z "$SHARED_DATA" ] || sizes+=("shared $(free_space "$SHARED_DATA")")
    (IFS=,; printf '%s\n' "${sizes[*]}")
}

# run_spark_daemon master|worker|worker-N HEAP: likewise. Spark looks for another port where one is taken; a job does not.
run_spark_daemon() {
    export SPARK_CONF_DIR=$JOB/spark HADOOP_CONF_DIR=$JOB/conf SPARK_LOG_DIR=$JOB/logs SPARK_LOCAL_DIRS=$local_folder
    export SPARK_DAEMON_MEMORY=${2}m SPARK_DAEMON_JAVA_OPTS="$late_compiler ${SPARK_DAEMON_JAVA_OPTS:-} $node_options -Dspark.port.maxRetries=0"
    if [ "$1" = master ]; then
        exec "$HOWDAH_HOME/bin/spark-class" org.apache.spark.deploy.master.Master --host "$MASTER" --port 7077 --webui-port 8080 2>&1
    else
        run_spark_worker "$1"
    fi
}

# run_daemon FAMILY:DAEMON HEAP: in the foreground, in place of this process.
run_daemon() {
    local program=${1%%:*} daemon=${1##*:} log
    log=${program/hdfs/hadoop}-$(id -un)-$daemon-$name
    unset YARN_LOG_DIR YARN_PID_DIR YARN_ROOT_LOGGER
    export HADOOP_PID_DIR=$local_folder/run HADOOP_LOG_DIR=$JOB/logs HADOOP_LOGFILE=$log.log HADOOP_ROOT_LOGGER=INFO,RFA
    export HADOOP_HEAPSIZE=${HADOOP_HEAPSIZE:-$2} HADOOP_OPTS="$late_compiler ${HADOOP_OPTS:-} $node_options"
    exec >"$JOB/logs/$log.out" 2>&1 </dev/null
    if [ "$program" = spark ]; then run_spark_daemon "$daemon" "$2" >"$JOB/logs/$log.log"; fi
    if [ "$daemon" = namenode ]; then
        # A JVM of seconds: what the second compiler makes is done too late for it, and takes half of its time.
        HADOOP_OPTS+=' -XX:TieredStopAtLevel=1' "$HOWDAH_HOME/bin/hdfs" --config "$JOB/conf" namenode -format -nonInteractive >"$JOB/logs/format.out" 2>&1
    fi
    exec "$HOWDAH_HOME/bin/$program" --config "$JOB/conf" "$daemon"
}

# stop_daemons SECONDS DAEMON...: asks all at once, waits that long, then kills.
stop_daemons() {
    local deadline=$((SECONDS + $1)) daemon alive=1
    shift
    for daemon in "$@"; do [ -z "${pids[$daemon]:-}" ] || kill "${pids[$daemon]}" 2>/dev/null || true; done
    while [ -n "$alive" ] && [ "$SECONDS" -lt "$deadline" ]; do
        alive=''
        for daemon in "$@"; do
            if [ -n "${pids[$daemon]:-}" ] && kill -0 "${pids[$daemon]}" 2>/dev/null; then alive=1; fi
        done
        [ -z "$alive" ] || sleep 0.2
    done
    for daemon in "$@"; do [ -z "${pids[$daemon]:-}" ] || kill -9 "${pids[$daemon]}" 2>/dev/null || true; done
}

# workers_stopped: whether the workers of all nodes have; until then they ask the masters.
workers_stopped() { [ "$(find "$JOB/run" -name 'stopped-*' | wc -l)" -ge "$NODES" ]; }

# clean_up: within 20 seconds. A batch system that cancels waits less than that before it kills, and has told the daemons itself.
clean_up() {
    local grace=8 deadline folder
    trap '' TERM INT HUP
    [ -z "$hurry" ] || grace=2
    deadline=$((SECONDS + grace + 4))
    [ "$index" -ne 0 ] || : >"$JOB/run/stop" || true # the job's folder may be gone
    stop_daemons "$grace" ${workers[@]+"${workers[@]}"}
    : >"$JOB/run/stopped-$index" || true
    while [ ${#masters[@]} -gt 0 ] && [ ${#pids[@]} -gt 0 ] && [ "$SECONDS" -lt "$deadline" ] && ! workers_stopped; do sleep 0.2; done
    stop_daemons "$(between 0 "$grace" 5)" ${masters[@]+"${masters[@]}"}
    for folder in ${claimed[@]+"${claimed[@]}"}; do
        kill_users_of "$folder"
        rm -rf -- "$folder"
    done
    # No DataNode of the other nodes writes there any more.
    if [ "$index" -eq 0 ] && [ -n "$SHARED_DATA" ]; then rm -rf -- "$SHARED_DATA"; fi
    wait # all are dead: their processor time counts now
    times >"$JOB/run/times-$index" || true
}

# job_goes_on: waits a second.
job_goes_on() {
    local status=0
    if [ -n "$by_file" ]; then
        sleep 1
        [ ! -e "$JOB/run/stop" ] && [ -d "$JOB/run" ]
    else
        read -r -t 1 _ || status=$?
        [ "$status" -eq 0 ] || [ "$status" -gt 128 ]
    fi
}

# watch_daemons: returns at the end of the job, or when a signal came; gives up when a daemon dies.
watch_daemons() {
    local daemon
    while job_goes_on && [ -z "$hurry" ]; do
        for daemon in "${!pids[@]}"; do
            kill -0 "${pids[$daemon]}" 2>/dev/null || give_up "the ${daemon##*:} has died: $(reason "$JOB/logs" "${daemon##*:}" "$name")"
        done
    done
}

umask 077
check_storage
ask_doctor
while read -r root; do [ ! -d "$root" ] || remove_leftovers "$root"; done < <(data_roots)
[ -z "$SHARED_DATA" ] || remove_leftovers "${SHARED_DATA%/*}"
measure
trap clean_up EXIT
# No more than a flag: bash 5.2 dies of SIGSEGV in what comes after an exit from within read -t, here clean_up.
trap 'hurry=1' TERM INT HUP
claim "$local_folder" || give_up "the folder $local_folder cannot be made: set HOWDAH_JOB_LOCAL to a folder of this node's disk"
claimed=("$local_folder")
while read -r root; do
    [ "$root" != "$LOCAL" ] || continue
    claim "$root/howdah-$RUN-$index" || give_up "the folder $root/howdah-$RUN-$index cannot be made"
    claimed+=("$root/howdah-$RUN-$index")
done < <(data_roots)
for daemon in ${masters[@]+"${masters[@]}"}; do run_daemon "$daemon" "$MASTER_HEAP" & pids[$daemon]=$!; done
for daemon in ${workers[@]+"${workers[@]}"}; do run_daemon "$daemon" "$WORKER_HEAP" & pids[$daemon]=$!; done
watch_daemons
[ -z "$hurry" ] || exit 143
