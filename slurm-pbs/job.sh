# shellcheck shell=bash
# A cluster of Hadoop inside an allocation of Slurm or PBS: started on its nodes, used by one command, stopped. Sourced by
# howdah.sbatch and howdah.pbs; node.sh is what runs on each node.

set -euo pipefail

# shellcheck source=dist/libexec/http.sh
. "${BASH_SOURCE[0]%/*}/../../libexec/http.sh"
# shellcheck source=dist/libexec/site-file.sh
. "${BASH_SOURCE[0]%/*}/../../libexec/site-file.sh"
# shellcheck source=slurm-pbs/resources.sh
. "${BASH_SOURCE[0]%/*}/resources.sh"
# shellcheck source=slurm-pbs/storage.sh
. "${BASH_SOURCE[0]%/*}/storage.sh"
# shellcheck source=slurm-pbs/leftovers.sh
. "${BASH_SOURCE[0]%/*}/leftovers.sh"
# shellcheck source=slurm-pbs/reasons.sh
. "${BASH_SOURCE[0]%/*}/reasons.sh"
# shellcheck source=slurm-pbs/allocation.sh
. "${BASH_SOURCE[0]%/*}/allocation.sh"
# shellcheck source=slurm-pbs/modes.sh
. "${BASH_SOURCE[0]%/*}/modes.sh"
# shellcheck source=slurm-pbs/spark.sh
. "${BASH_SOURCE[0]%/*}/spark.sh"
# shellcheck source=slurm-pbs/staging.sh
. "${BASH_SOURCE[0]%/*}/staging.sh"
# shellcheck source=slurm-pbs/cluster.sh
. "${BASH_SOURCE[0]%/*}/cluster.sh"

usage() {
    cat <<'TEXT'
Usage: howdah.sbatch [OPTION...] COMMAND [ARGUMENT...]     (sbatch -N NODES ... howdah.sbatch ...)
       howdah.pbs [OPTION...] COMMAND [ARGUMENT...]

Starts HDFS and YARN on the nodes of the job, runs COMMAND, for which hadoop, hdfs, yarn and spark-submit are that cluster's,
and stops it. The first node has NameNode and ResourceManager, the others DataNode and NodeManager; a single node has all.
What the command leaves in HDFS goes with the job: copy it out. Exits as the command does.

  --mode MODE           plain (default): HDFS and YARN; hhh, hhh-m, hhh-l: HDFS in the storage mode HHH, HHH-M or HHH-L, and YARN;
                        lustre-local, lustre-only: YARN without HDFS, intermediate data on the nodes' disks or in --shared;
                        spark-standalone: HDFS and Spark's own master and workers
  --ssd, --hdd FOLDER,...   each node's folders for HDFS's data, in lustre-local for intermediate data, on SSD and on disk
                        (default SSD_PATH, HDD_PATH, else HOWDAH_JOB_LOCAL)
  --ram FOLDER,...      hhh, hhh-m, hhh-l: likewise, of a tmpfs (default RAMDISK_PATH, else /dev/shm)
  --shared FOLDER       of Lustre or another shared file system: where the job's folder is made, in hhh-l the copies of blocks, in
                        lustre-only intermediate data (default LUSTRE_PATH; without it where the job was submitted, which
                        hhh-l and lustre-* do not take)
  --in SOURCE=/PATH     copies SOURCE into HDFS before COMMAND; may be repeated
  --out /PATH=TARGET    copies from HDFS to TARGET after COMMAND, whether that failed or not; may be repeated
  --settings FILE       HiBD's file of settings: a line each, C, H, M or Y (core, hdfs, mapred, yarn), NAME and VALUE
  --template NAME       a template of configurations over the cluster's (howdah template list); may be repeated
  -D PROPERTY=VALUE     one property over them, Hadoop's or Spark's; may be repeated
  --all-work            the first node works too, as the others; it does without this option where it has 8 cores, is one of at most 8
                        nodes, and its masters leave it three quarters of the memory that another node has for tasks
  --masters-only        the first node does not, whatever it has

Environment:
  HOWDAH_HOME           the tree, in the same place on all nodes (default /usr/lib/howdah)
  JAVA_HOME             a JDK 8 on all nodes; without it each node looks for one
  HOWDAH_JOB_LOCAL      a folder of each node's own disk for data (default TMPDIR, else /tmp)
  HOWDAH_JOB_MEMORY     MB of each node that the job may use (default: what the batch system and cgroups say)
  HOWDAH_JOB_CORES      likewise, processors of each node
  HOWDAH_JOB_TIMEOUT    seconds until all nodes must be there (default 300)
  HOWDAH_JOB_PRICE      of a node-hour: the job's output ends with its price
  HOWDAH_JOB_TOPOLOGY   spark-standalone: the nodes' topology in hwloc's XML, which workers are planned and bound by (default: the system's)
  HOWDAH_JOB_RSH        PBS: what runs a command on another node (default: ssh -o BatchMode=yes)

The job's folder, howdah-job-ID, must be one that all nodes see; configuration and logs are in it.
TEXT
}

fail() {
    printf 'howdah job: error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'howdah job:        %s\n' "$2" >&2
    exit 1
}

# make_job_folder: JOB with the configuration and what node.sh is told. A job that is started again gets another one.
make_job_folder() {
    local workers=("${HOSTS[@]:1}") run=$JOB_ID try=0
    if [ "$ALL_WORK" = yes ] || [ ${#workers[@]} -eq 0 ]; then workers=("${HOSTS[@]}"); fi
    WORKERS=${#workers[@]}
    until (umask 077; mkdir -- "$SUBMITTED/howdah-job-$run") 2>/dev/null; do
        [ -e "$SUBMITTED/howdah-job-$run" ] ||
            fail "the job's folder $SUBMITTED/howdah-job-$run cannot be made" "submit from a folder that you may write and all nodes see"
        try=$((try + 1)) run=$JOB_ID.$try
    done
    RUN=$run JOB=$SUBMITTED/howdah-job-$run
    mkdir "$JOB/logs" "$JOB/run"
    SHARED_DATA=''
    ! keeps_shared_data || SHARED_DATA=${SHARED%/}/howdah-$RUN-shared
    write_configuration "$(IFS=,; echo "${workers[*]}")"
    write_spark_configuration "$JOB/spark"
    write_node_settings
    find_pages
}

# write_configuration WORKERS: Hadoop's, out of templates. howdah.local and howdah.data are known to each node by itself.
# shellcheck disable=SC2016
write_configuration() {
    local layers=(cluster) shared=()
    if ! has_hdfs; then layers=("$MODE"); elif stores_in_ram; then layers+=("$MODE"); fi
    [ -z "$SHARED_DATA" ] || shared=(--set shared="$SHARED_DATA")
    write_template "$JOB/site"
    write_settings "$JOB/settings-site"
    layers+=("$JOB/site" "$JOB/settings-site" ${TEMPLATES[@]+"${TEMPLATES[@]}"})
    "$HOWDAH_HOME/bin/howdah" template write "$JOB/conf" "${layers[@]}" --set folders='${howdah.data}' ${shared[@]+"${shared[@]}"} \
        --set namenode="$MASTER" --set resourcemanager="$MASTER" --workers "$1" \
        --set hdfs='${howdah.local}/hdfs' --set yarn='${howdah.local}/yarn' ${PROPERTIES[@]+"${PROPERTIES[@]}"} ||
        fail "the configuration could not be made" "the message above says why"
}

# write_node_settings: what node.sh is told.
write_node_settings() {
    {
        printf 'HOWDAH_HOME=%q JOB=%q RUN=%q LOCAL=%q NODES=%q ALL_WORK=%q ' "$HOWDAH_HOME" "$JOB" "$RUN" "$LOCAL" "${#HOSTS[@]}" "$ALL_WORK"
        printf 'MODE=%q MASTER=%q RAM=%q SSD=%q HDD=%q SHARED=%q ' "$MODE" "$MASTER" "$RAM" "$SSD" "$HDD" "$SHARED"
        printf 'SHARED_DATA=%q SHARED_LOCAL=%q TOPOLOGY=%q\n' "$SHARED_DATA" "$(configured hdfs-site.xml dfs.rdma.lustre.path.local)" "$TOPOLOGY"
        printf 'MEMORY=(%s) CORES=(%s)\n' "${MEMORY[*]}" "${CORES[*]}"
        [ -z "${JAVA_HOME:-}" ] || printf 'export JAVA_HOME=%q\n' "$JAVA_HOME"
    } >"$JOB/settings"
}

# on_all_nodes COMMAND...: one step of srun. It would take options from SLURM_* and SRUN_* variables, and so from sbatch's and from
# those of a job that this one was submitted from: it keeps only what leads it to the job. The daemons get all of the job's memory
# and processors on each node.
on_all_nodes() (
    local variable
    for variable in $(compgen -e | grep -E '^(SLURM|SRUN|SBATCH|SALLOC|PMI)_'); do
        case $variable in
            SLURM_CONF | SLURM_JWT | SLURM_CLUSTERS | SLURM_CLUSTER_NAME | SLURM_WORKING_CLUSTER | SLURM_JOB_ID | SLURM_JOBID | SLURM_JOB_NODELIST) ;;
            *) unset "$variable" ;;
        esac
    done
    exec srun --overlap --export=ALL --mem=0 --cpu-bind=none --mpi=none --wait=0 --nodes="${#HOSTS[@]}" --ntasks="${#HOSTS[@]}" \
        --ntasks-per-node=1 --kill-on-bad-exit=1 --input=all --label "$@"
)

# on_host HOST COMMAND...: ssh takes a line for a shell. pbs_tmrsh takes words and passes no input on: there the node looks for
# a file.
on_host() {
    local host=$1 rsh
    shift
    read -r -a rsh <<<"${HOWDAH_JOB_RSH:-ssh -o BatchMode=yes}"
    if [ "${rsh[0]##*/}" = pbs_tmrsh ]; then
        "${rsh[@]}" "$host" "$@" by-file
    else
        "${rsh[@]}" "$host" "$(printf '%q ' "$@")"
    fi
}

# start_nodes slurm|pbs: node.sh on every node. It runs until the end of its standard input, a pipe that STOP keeps open: that
# is when this script closes it, or is killed.
start_nodes() {
    local node=$HOWDAH_HOME/share/slurm-pbs/node.sh pipe both end i
    pipe=$(mktemp -d)
    mkfifo "$pipe/stop"
    # Opened for both first: neither end waits for the other.
    # shellcheck disable=SC2094
    exec {both}<>"$pipe/stop" {end}<"$pipe/stop" {STOP}>"$pipe/stop" {both}>&-
    rm -rf "$pipe"
    if [ "$1" = slurm ]; then
        on_all_nodes "$BASH" "$node" "$JOB/settings" <&"$end" >"$JOB/logs/nodes.log" 2>&1 {STOP}>&- &
        NODE_PIDS+=($!)
    else
        for i in "${!HOSTS[@]}"; do
            if [ "$i" -eq 0 ]; then
                "$BASH" "$node" "$JOB/settings" 0
            else
                on_host "${HOSTS[i]}" bash "$node" "$JOB/settings" "$i"
            fi <&"$end" >"$JOB/logs/node-${HOSTS[i]}.log" 2>&1 {STOP}>&- &
            NODE_PIDS+=($!)
        done
    fi
    exec {end}<&-
}

# nodes_alive: fails, with the nodes' last lines, when one gave up.
nodes_alive() {
    local pid
    for pid in "${NODE_PIDS[@]}"; do
        kill -0 "$pid" 2>/dev/null && continue
        cat "$JOB"/logs/node*.log | grep -vE 'srun: (error|Job step aborted|launch/slurm|Terminating)|slurmstepd: ' | tail -n 20 >&2 || true
        fail "a node could not start its daemons, or lost them" "its last lines are above, logs are in $JOB/logs"
    done
}

# wait_for_cluster: until all daemons are there, not longer than HOWDAH_JOB_TIMEOUT. Every 15 seconds it says which are missing
# and why, where that has changed.
wait_for_cluster() {
    local timeout=${HOWDAH_JOB_TIMEOUT:-300} missing said='' started=$SECONDS next=15 shown=''
    until hdfs_ready && tasks_ready && make_folders; do
        nodes_alive
        if [ -z "$shown" ] && all_nodes_said; then print_nodes; shown=1; fi
        if [ $((SECONDS - started)) -ge "$timeout" ]; then
            missing_daemons >&2
            fail "the cluster is not ready after $timeout seconds" "the lines above say what is missing; HOWDAH_JOB_TIMEOUT waits longer"
        fi
        if [ $((SECONDS - started)) -ge "$next" ]; then
            next=$((SECONDS - started + 15))
            missing=$(missing_daemons)
            if [ -n "$missing" ] && [ "$missing" != "$said" ]; then
                printf 'howdah job: not ready after %d s, waiting up to %d s for:\n%s\n' $((SECONDS - started)) "$timeout" "$missing" >&2
                said=$missing
            fi
        fi
        sleep 0.3
    done
    [ -n "$shown" ] || print_nodes
}

# all_nodes_said: whether each has written what it has.
all_nodes_said() {
    local i
    for i in "${!HOSTS[@]}"; do [ -e "$JOB/run/node-$i" ] || return 1; done
}

# stop_command: the command and what it started, which is a process group.
stop_command() {
    local i
    [ -n "$COMMAND_PID" ] && kill -TERM -- "-$COMMAND_PID" 2>/dev/null || return 0
    for ((i = 0; i < 30; i++)); do
        kill -0 -- "-$COMMAND_PID" 2>/dev/null || return 0
        sleep 0.1
    done
    kill -KILL -- "-$COMMAND_PID" 2>/dev/null || true # it may have ended
}

# stop_nodes: once; waits for them, as they clean up, for not longer than they may take.
stop_nodes() {
    local pid deadline alive=1
    trap '' TERM INT HUP
    [ -z "$STOP" ] || exec {STOP}>&-
    STOP=''
    stop_command
    # First, as a node that does not answer may take longer than the batch system waits.
    [ -z "$OWN_LOCAL" ] || rm -rf -- "$OWN_LOCAL"
    deadline=$((SECONDS + 25))
    while [ -n "$alive" ] && [ "$SECONDS" -lt "$deadline" ]; do
        alive=''
        for pid in ${NODE_PIDS[@]+"${NODE_PIDS[@]}"}; do if kill -0 "$pid" 2>/dev/null; then alive=1; fi; done
        [ -z "$alive" ] || sleep 0.1
    done
    [ -z "$alive" ] || echo "howdah job: a node did not answer; what it has left, the next job there removes" >&2
    for pid in ${NODE_PIDS[@]+"${NODE_PIDS[@]}"}; do kill -9 "$pid" 2>/dev/null || true; done
    [ -z "$OWN_SHARED" ] || rm -rf -- "$OWN_SHARED" # mostly the first node has done so
    show_use || true
}

# own VARIABLE FOLDER: claims the folder and sets the variable to it. A signal does not come between making it and knowing it.
own() {
    local late=''
    trap 'late=1' TERM INT HUP
    claim "$2" || return 1
    printf -v "$1" %s "$2"
    trap 'exit 143' TERM INT HUP
    [ -z "$late" ] || exit 143
}

# make_own_folder: OWN_LOCAL, the command's folder on this node's disk.
make_own_folder() {
    own OWN_LOCAL "$LOCAL/howdah-$RUN-command" ||
        fail "$(uname -n) cannot write to its disk" "set HOWDAH_JOB_LOCAL to a folder of each node's own disk"
}

# make_shared_folder: OWN_SHARED, for copies of blocks in the mode HHH-L; without HDFS for what YARN's applications hand to their nodes.
make_shared_folder() {
    [ -n "$SHARED_DATA" ] || return 0
    own OWN_SHARED "$SHARED_DATA" || fail "$SHARED_DATA cannot be made" "remove it if a job that was killed has left it"
    has_hdfs || mkdir -m 700 -- "$SHARED_DATA/staging"
}

# cluster_environment: the variables by which the command finds the cluster.
# shellcheck disable=SC2031 # HADOOP_CONF_DIR is set in a subshell elsewhere
cluster_environment() {
    make_own_folder
    unset HADOOP_HOME HADOOP_PREFIX SPARK_HOME
    export HADOOP_CONF_DIR=$JOB/conf YARN_CONF_DIR=$JOB/conf HADOOP_LOG_DIR=$JOB/logs PATH=$HOWDAH_HOME/bin:$PATH
    export SPARK_CONF_DIR=$JOB/spark
    plan_node "$(node_memory "${MEMORY[0]}")" 2 0 1 0
    export HADOOP_HEAPSIZE=${HADOOP_HEAPSIZE:-$COMMAND_HEAP}
    export HADOOP_OPTS="${HADOOP_OPTS:-} -Dhowdah.local=$OWN_LOCAL" SPARK_LOCAL_DIRS=$OWN_LOCAL
}

# print_nodes: a table of what each node gives, and each warning once with the nodes that have it.
print_nodes() {
    local i name address memory cores containers runners executor_cores executor_heap executor_engine storage transport warnings warning order=()
    local -A nodes_of=()
    printf 'howdah job: %-20s %8s %6s %14s  %-24s %s\n' node MB cores 'MB for tasks' 'MB of storage' transport
    for i in "${!HOSTS[@]}"; do
        # shellcheck source=/dev/null
        . "$JOB/run/node-$i"
        printf 'howdah job: %-20s %8s %6s %14s  %-24s %s\n' "$name" "$memory" "$cores" "$containers" "$storage" "$transport"
        for warning in ${warnings[@]+"${warnings[@]}"}; do
            [ -n "${nodes_of[$warning]:-}" ] || order+=("$warning")
            nodes_of[$warning]+=" $name"
        done
    done
    for warning in ${order[@]+"${order[@]}"}; do printf 'howdah job: on%s: %s\n' "${nodes_of[$warning]}" "$warning"; done
}

# read_options ARGUMENT...: options into TEMPLATES, PROPERTIES, ALL_WORK; the command into THE_COMMAND.
read_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) usage; exit 0 ;;
            --all-work) ALL_WORK=yes; shift ;;
            --masters-only) ALL_WORK=no; shift ;;
            --in | --out | --mode | --ram | --ssd | --hdd | --shared | --settings | --template | -D)
                [ $# -ge 2 ] || fail "$1 needs a value" "see: howdah.sbatch --help"
                case $1 in
                    --in) INPUTS+=("$2") ;;
                    --out) OUTPUTS+=("$2") ;;
                    --mode) MODE=$2 ;;
                    --ram) RAM=$2 ;;
                    --ssd) SSD=$2 ;;
                    --hdd) HDD=$2 ;;
                    --shared) SHARED=$2 ;;
                    --settings) SETTINGS=$2 ;;
                    --template) TEMPLATES+=("$2") ;;
                    -D) if [[ $2 == spark.*=* ]]; then SPARK_PROPERTIES+=("${2%%=*} ${2#*=}"); else PROPERTIES+=(-D "$2"); fi ;;
                esac
                shift 2
                ;;
            -*) fail "option $1 is not known" "see: howdah.sbatch --help" ;;
            *) break ;;
        esac
    done
    [ $# -gt 0 ] || fail "no command was given" "as: sbatch -N 4 howdah.sbatch hadoop jar ..."
    THE_COMMAND=("$@")
}

# run_job slurm|pbs ARGUMENT...
run_job() {
    local kind=$1 status=0
    shift
    HOWDAH_HOME=${HOWDAH_HOME:-/usr/lib/howdah} TEMPLATES=() PROPERTIES=() SPARK_PROPERTIES=() ALL_WORK='' NODE_PIDS=() STOP='' COMMAND_PID='' OWN_LOCAL='' OWN_SHARED=''
    MODE=plain RAM='' SSD='' HDD='' SHARED='' SETTINGS='' INPUTS=() OUTPUTS=() CORE_SITE=() HDFS_SITE=() MAPRED_SITE=() YARN_SITE=()
    # A job that was given no environment has neither.
    PATH=${PATH:-/usr/local/bin:/usr/bin:/bin} HOME=${HOME:-$(getent passwd "$UID" | cut -d: -f6)}
    export HOWDAH_HOME PATH HOME
    read_options "$@"
    [[ ${HOWDAH_JOB_TIMEOUT:-300} =~ ^[1-9][0-9]{0,8}$ ]] || fail "HOWDAH_JOB_TIMEOUT=$HOWDAH_JOB_TIMEOUT is not a number of seconds"
    [ -z "$SETTINGS" ] || read_settings "$(from_submission "$SETTINGS")"
    choose_mode
    [[ ${HOWDAH_JOB_PRICE:-0} =~ ^[0-9]{1,9}(\.[0-9]{1,9})?$ ]] || fail "HOWDAH_JOB_PRICE=$HOWDAH_JOB_PRICE is not a price"
    choose_topology
    find_allocation "$kind"
    SUBMITTED=${SHARED:-$SUBMITTED}
    choose_sizes
    choose_work "$kind"
    check_names
    check_staging
    choose_master "$kind"
    make_job_folder
    trap stop_nodes EXIT
    trap 'exit 143' TERM INT HUP
    make_shared_folder
    start_nodes "$kind"
    cluster_environment
    wait_for_cluster
    write_executors "$JOB/spark/spark-defaults.conf"
    printf 'howdah job: %d nodes in %d s: %s\n' "${#HOSTS[@]}" "$SECONDS" "${HOSTS[*]}"
    stage_in
    run_on_cluster "${THE_COMMAND[@]}" || status=$?
    stage_out || status=$((status ? status : 1))
    show_traffic
    times >"$JOB/run/times-command" # before the nodes' scripts end, which count for themselves
    exit "$status"
}

# run_on_cluster COMMAND...: in the background, so that the end of the job's time, and of a node, is heard of while it runs; in a
# group of its own, so that it ends whole.
run_on_cluster() {
    local status=0
    setsid "$@" {STOP}>&- &
    COMMAND_PID=$!
    wait -n || status=$?
    if kill -0 "$COMMAND_PID" 2>/dev/null; then nodes_alive; fi
    COMMAND_PID=''
    return "$status"
}
