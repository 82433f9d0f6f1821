# shellcheck shell=bash
# A cluster of Hadoop inside an allocation of Slurm or PBS: started on its nodes, used by one command, stopped. Sourced by
# howdah.sbatch and howdah.pbs; node.sh is what runs on each node.

set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: howdah.sbatch [OPTION...] COMMAND [ARGUMENT...]     (sbatch -N NODES ... howdah.sbatch ...)
       howdah.pbs [OPTION...] COMMAND [ARGUMENT...]

Starts HDFS and YARN on the nodes of the job, runs COMMAND, for which hadoop, hdfs, yarn and spark-submit are that cluster's,
and stops it. The first node has NameNode and ResourceManager, the others DataNode and NodeManager; the only one has all.
What the command leaves in HDFS goes with the job: copy it out. Exits as the command does.

  --template NAME       a template of configurations over the cluster's (howdah template list); may be repeated
  -D PROPERTY=VALUE     one property over them; may be repeated
  --all-work            the first node has DataNode and NodeManager too

Environment:
  HOWDAH_HOME           the tree, in the same place on all nodes (default /usr/lib/howdah)
  JAVA_HOME             a JDK 8 on all nodes; without it each node looks for one
  HOWDAH_JOB_LOCAL      a folder of each node's own disk for data (default TMPDIR, else /tmp)
  HOWDAH_JOB_TIMEOUT    seconds until all nodes must be there (default 300)
  HOWDAH_JOB_RSH        PBS: what runs a command on another node (default: ssh -o BatchMode=yes)

The job's folder, howdah-job-ID where it was submitted, must be one that all nodes see; configuration and logs are in it.
TEXT
}

fail() {
    printf 'howdah job: error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'howdah job:        %s\n' "$2" >&2
    exit 1
}

# find_allocation slurm|pbs: HOSTS, JOB_ID and the folder that the job was submitted in.
find_allocation() {
    case $1 in
        slurm)
            [ -n "${SLURM_JOB_NODELIST:-}" ] || fail "this is no job of Slurm" "submit it: sbatch -N 4 howdah.sbatch COMMAND"
            mapfile -t HOSTS < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
            JOB_ID=$SLURM_JOB_ID SUBMITTED=${SLURM_SUBMIT_DIR:-$PWD}
            ;;
        pbs)
            [ -n "${PBS_NODEFILE:-}" ] || fail "this is no job of PBS" "submit it: qsub -l select=4 -- howdah.pbs COMMAND"
            [ -r "$PBS_NODEFILE" ] || fail "the list of nodes, PBS_NODEFILE=$PBS_NODEFILE, cannot be read"
            mapfile -t HOSTS < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")
            JOB_ID=$PBS_JOBID SUBMITTED=${PBS_O_WORKDIR:-$PWD}
            ;;
    esac
    [ ${#HOSTS[@]} -gt 0 ] || fail "the allocation has no nodes"
}

# make_job_folder: JOB with the configuration and what node.sh is told.
make_job_folder() {
    local workers=("${HOSTS[@]:1}") IFS=,
    if [ -n "$ALL_WORK" ] || [ ${#workers[@]} -eq 0 ]; then workers=("${HOSTS[@]}"); fi
    WORKERS=${#workers[@]}
    JOB=$SUBMITTED/howdah-job-$JOB_ID
    (umask 077; mkdir -- "$JOB") || fail "the job's folder $JOB cannot be made" "submit from a folder that you may write and all nodes see"
    mkdir "$JOB/logs"
    # howdah.local is known to each node by itself.
    # shellcheck disable=SC2016
    "$HOWDAH_HOME/bin/howdah" template write "$JOB/conf" cluster ${TEMPLATES[@]+"${TEMPLATES[@]}"} \
        --set namenode="${HOSTS[0]}" --set resourcemanager="${HOSTS[0]}" --workers "${workers[*]}" \
        --set hdfs='${howdah.local}/hdfs' --set yarn='${howdah.local}/yarn' ${PROPERTIES[@]+"${PROPERTIES[@]}"} ||
        fail "the configuration could not be made" "the message above says why"
    {
        printf 'HOWDAH_HOME=%q JOB=%q JOB_ID=%q LOCAL=%q NODES=%q ALL_WORK=%q\n' "$HOWDAH_HOME" "$JOB" "$JOB_ID" \
            "${HOWDAH_JOB_LOCAL:-${TMPDIR:-/tmp}}" "${#HOSTS[@]}" "$ALL_WORK"
        [ -z "${JAVA_HOME:-}" ] || printf 'export JAVA_HOME=%q\n' "$JAVA_HOME"
    } >"$JOB/settings"
}

# start_nodes slurm|pbs: node.sh on every node. They go on until the end of their standard input, a pipe that STOP holds: it
# comes when this script closes it, and also when this script is killed.
start_nodes() {
    local node=$HOWDAH_HOME/share/slurm-pbs/node.sh pipe both end i rsh
    pipe=$(mktemp -d)
    mkfifo "$pipe/stop"
    # Opened for both first: neither end waits for the other.
    # shellcheck disable=SC2094
    exec {both}<>"$pipe/stop" {end}<"$pipe/stop" {STOP}>"$pipe/stop" {both}>&-
    rm -rf "$pipe"
    if [ "$1" = slurm ]; then
        srun --overlap --nodes="${#HOSTS[@]}" --ntasks="${#HOSTS[@]}" --ntasks-per-node=1 --kill-on-bad-exit=1 --input=all \
            --label bash "$node" "$JOB/settings" <&"$end" >"$JOB/logs/nodes.log" 2>&1 {STOP}>&- &
        NODE_PIDS+=($!)
    else
        read -r -a rsh <<<"${HOWDAH_JOB_RSH:-ssh -o BatchMode=yes}"
        for i in "${!HOSTS[@]}"; do
            "${rsh[@]}" "${HOSTS[i]}" "$(printf '%q ' bash "$node" "$JOB/settings" "$i")" <&"$end" \
                >"$JOB/logs/node-${HOSTS[i]}.log" 2>&1 {STOP}>&- &
            NODE_PIDS+=($!)
        done
    fi
    exec {end}<&-
}

# nodes_alive: fails, with what they said last, when a node gave up.
nodes_alive() {
    local pid
    for pid in "${NODE_PIDS[@]}"; do
        kill -0 "$pid" 2>/dev/null && continue
        tail -n 20 "$JOB"/logs/node*.log >&2
        fail "a node could not start its daemons, or lost them" "its words are above, logs are in $JOB/logs"
    done
}

# wait_for WHAT COMMAND...: until COMMAND succeeds; not longer than HOWDAH_JOB_TIMEOUT.
wait_for() {
    local what=$1 deadline=$((SECONDS + ${HOWDAH_JOB_TIMEOUT:-300}))
    shift
    until "$@"; do
        nodes_alive
        [ "$SECONDS" -lt "$deadline" ] || fail "$what: not within ${HOWDAH_JOB_TIMEOUT:-300} seconds" "logs are in $JOB/logs; HOWDAH_JOB_TIMEOUT waits longer"
        sleep 1
    done
}

hdfs_ready() { [ "$(hdfs dfsadmin -report -live 2>/dev/null | sed -n 's/^Live datanodes (\([0-9]*\)).*/\1/p')" = "$WORKERS" ]; }
yarn_ready() { [ "$(yarn node -list -states RUNNING 2>/dev/null | sed -n 's/^Total Nodes:\([0-9]*\)/\1/p')" = "$WORKERS" ]; }

# stop_nodes: once; waits for them, as they clean up.
stop_nodes() {
    local pid
    trap '' TERM INT HUP
    [ -z "$COMMAND_PID" ] || kill "$COMMAND_PID" 2>/dev/null || true # it may have ended
    [ -z "$STOP" ] || exec {STOP}>&-
    STOP=''
    for pid in ${NODE_PIDS[@]+"${NODE_PIDS[@]}"}; do wait "$pid" 2>/dev/null || true; done
    [ -z "$OWN_LOCAL" ] || rm -rf -- "$OWN_LOCAL"
}

# cluster_environment: what the command, and what waits for the cluster, find it by.
cluster_environment() {
    OWN_LOCAL=$(mktemp -d "${HOWDAH_JOB_LOCAL:-${TMPDIR:-/tmp}}/howdah-$JOB_ID-command.XXXXXX") ||
        fail "$(uname -n) cannot write to its disk" "set HOWDAH_JOB_LOCAL to a folder of each node's own disk"
    unset HADOOP_HOME HADOOP_PREFIX SPARK_HOME
    export HADOOP_CONF_DIR=$JOB/conf YARN_CONF_DIR=$JOB/conf HADOOP_LOG_DIR=$JOB/logs PATH=$HOWDAH_HOME/bin:$PATH
    export HADOOP_OPTS="${HADOOP_OPTS:-} -Dhowdah.local=$OWN_LOCAL" SPARK_LOCAL_DIRS=$OWN_LOCAL
}

# run_job slurm|pbs ARGUMENT...
run_job() {
    local kind=$1 status=0
    shift
    HOWDAH_HOME=${HOWDAH_HOME:-/usr/lib/howdah} TEMPLATES=() PROPERTIES=() ALL_WORK='' NODE_PIDS=() STOP='' COMMAND_PID='' OWN_LOCAL=''
    export HOWDAH_HOME
    while [ $# -gt 0 ]; do
        case $1 in
            -h | --help) usage; exit 0 ;;
            --all-work) ALL_WORK=1; shift ;;
            --template | -D)
                [ $# -ge 2 ] || fail "$1 needs a value" "see: howdah.sbatch --help"
                if [ "$1" = -D ]; then PROPERTIES+=(-D "$2"); else TEMPLATES+=("$2"); fi
                shift 2
                ;;
            -*) fail "option $1 is not known" "see: howdah.sbatch --help" ;;
            *) break ;;
        esac
    done
    [ $# -gt 0 ] || fail "no command was given" "as: sbatch -N 4 howdah.sbatch hadoop jar ..."
    [[ ${HOWDAH_JOB_TIMEOUT:-300} =~ ^[1-9][0-9]*$ ]] || fail "HOWDAH_JOB_TIMEOUT=$HOWDAH_JOB_TIMEOUT is not a number of seconds"
    find_allocation "$kind"
    make_job_folder
    cluster_environment
    trap stop_nodes EXIT
    trap 'exit 143' TERM INT HUP
    start_nodes "$kind"
    wait_for "HDFS with $WORKERS DataNodes" hdfs_ready
    wait_for "YARN with $WORKERS NodeManagers" yarn_ready
    hdfs dfs -mkdir -p /tmp . && hdfs dfs -chmod 1777 /tmp
    printf 'howdah job: %d nodes in %d s: %s\n' "${#HOSTS[@]}" "$SECONDS" "${HOSTS[*]}"
    # In the background, so that the end of the job's time, and of a node, is heard of while it runs.
    "$@" {STOP}>&- &
    COMMAND_PID=$!
    wait -n || status=$?
    if kill -0 "$COMMAND_PID" 2>/dev/null; then nodes_alive; fi
    exit "$status"
}
