# shellcheck shell=bash
# Spark's workers of a node: how many, of what size, and bound to which processors, by howdah spark plan. Sourced by node.sh.
# shellcheck disable=SC2034,SC2154 # for and from node.sh

LEAST_EXECUTOR=896 # MB, with what is beside its heap: as howdah spark plan has it

# first_processors N: the first N that this process may use, as taskset takes them.
first_processors() {
    awk -v left="$1" '/^Cpus_allowed_list:/ {
        parts = split($2, part, ",")
        for (i = 1; i <= parts; i++) {
            split(part[i], ends, "-")
            last = part[i] ~ /-/ ? ends[2] : ends[1]
            for (cpu = ends[1] + 0; cpu <= last && left > 0; cpu++) { list = list comma cpu; comma = ","; left-- }
        }
        print list }' /proc/self/status
}

# plan_workers MEMORY CORES: PLAN, for each worker its NUMA node (- where the node has one only), processors, executors, and of an executor
# tasks, MB of heap and MB of the engine's memory (0: the default). Fails where howdah spark plan does, which says why.
plan_workers() {
    local command=("$HOWDAH_HOME/bin/howdah" spark plan --workers --memory "$1m") text
    if [ -n "$TOPOLOGY" ]; then command+=(--xml "$TOPOLOGY"); else command=(taskset -c "$(first_processors "$2")" "${command[@]}"); fi
    text=$("${command[@]}") || return 1
    mapfile -t PLAN <<<"$text"
}

# place_workers: PLAN by what measure has planned for the node, with the way to bind each worker in BINDINGS. Each worker more is a JVM
# more: several change workers, roles and what plan_node has set.
place_workers() {
    local i numa processors spark=()
    plan_workers "$CONTAINERS" "$cores" || return 1
    if [ ${#PLAN[@]} -gt 1 ]; then
        roles[1]=$((1 + ${#PLAN[@]}))
        plan_node "$memory" "${roles[@]}"
        plan_workers "$CONTAINERS" "$cores" || return 1
        for i in "${!PLAN[@]}"; do spark+=("spark:worker-$i"); done
        workers=(hdfs:datanode "${spark[@]}")
    fi
    for i in "${!PLAN[@]}"; do
        read -r numa processors _ <<<"${PLAN[i]}"
        BINDINGS[i]=$(way_to_bind "$numa" "$processors") ||
            warnings+=("warning: a worker of Spark cannot be bound to processors $processors of NUMA node $numa: it runs on all")
    done
    read -r _ _ _ executor_cores executor_heap executor_engine <<<"${PLAN[0]}" # they are alike
}

# way_to_bind NUMA PROCESSORS: a command that runs another one there, with that node's memory where numactl is installed; nothing where
# there is one NUMA node only. Fails if there is no way.
way_to_bind() {
    local way
    [ "$1" != - ] || return 0
    for way in "numactl --physcpubind=$2 --membind=$1" "taskset -c $2"; do
        # shellcheck disable=SC2086 # words
        if $way true >/dev/null 2>&1; then printf '%s\n' "$way"; return 0; fi
    done
    return 1
}

# run_spark_worker NAME: worker or worker-N, in place of this process, on its NUMA node.
run_spark_worker() {
    local number=${1#worker} executors tasks heap binding
    number=${number#-}
    read -r _ _ executors tasks heap _ <<<"${PLAN[${number:-0}]}"
    read -r -a binding <<<"${BINDINGS[${number:-0}]}"
    export SPARK_WORKER_DIR=$local_folder/work${number:+-$number}
    export SPARK_WORKER_MEMORY=$((executors * heap))m SPARK_WORKER_CORES=$((executors * tasks))
    exec ${binding[@]+"${binding[@]}"} "$HOWDAH_HOME/bin/spark-class" org.apache.spark.deploy.worker.Worker --host "$(own_address)" \
        --webui-port $((8081 + ${number:-0})) "spark://$MASTER:7077" 2>&1
}
