# shellcheck shell=bash
# Spark in a job: its configuration, executors by what the nodes have, its own master and workers. Sourced by job.sh, which has fail.
# shellcheck disable=SC2034,SC2153,SC2154 # upper case: set by job.sh; lower case: by a node's file in run/

# write_spark_configuration FOLDER: the default one, with this cluster as master.
write_spark_configuration() {
    cp -RL "$HOWDAH_HOME/etc/spark" "$1"
    chmod -R u+w "$1"
    {
        echo
        if [ "$MODE" = spark-standalone ]; then echo "spark.master spark://$MASTER:7077"; else echo 'spark.master yarn'; fi
        # By default in the user's home folder, which without HDFS may be another one on each node.
        has_hdfs || echo "spark.yarn.stagingDir file://$SHARED_DATA/staging"
        # The tree is in one place on all nodes.
        [[ $HOWDAH_HOME == *[[:blank:]]* ]] || echo "spark.yarn.jars local:$HOWDAH_HOME/jars/*"
    } >>"$1/spark-defaults.conf"
}

# choose_topology: TOPOLOGY, a file that stands for the nodes' own topology.
choose_topology() {
    TOPOLOGY=''
    [ -n "${HOWDAH_JOB_TOPOLOGY:-}" ] || return 0
    TOPOLOGY=$(from_submission "$HOWDAH_JOB_TOPOLOGY")
    [ -r "$TOPOLOGY" ] || fail "HOWDAH_JOB_TOPOLOGY: $TOPOLOGY cannot be read" "write it by lstopo FILE.xml"
}

# size_executors MEMORY CORES: EXECUTORS of a node, with EXECUTOR_CORES, EXECUTOR_HEAP (MB) and EXECUTOR_ENGINE (MB, 0: the default).
# Several small ones have shorter collections of garbage than a large one: five cores at most. Spark takes a tenth, at least 384 MB,
# beside the heap, a third of it for the engine; of executors of 4 GB and more a fifth is for map output, as howdah spark plan has it.
size_executors() {
    local each output
    EXECUTORS=$((($2 + 4) / 5)) EXECUTOR_ENGINE=0
    while :; do
        each=$(($1 / EXECUTORS)) output=0
        [ "$each" -lt 4096 ] || output=$((each / 5))
        EXECUTOR_HEAP=$(between 0 $(((each - output) * 10 / 11)) $((each - output - 384)))
        if [ "$EXECUTOR_HEAP" -ge 1024 ] || [ "$EXECUTORS" -eq 1 ]; then break; fi
        EXECUTORS=$((EXECUTORS - 1))
    done
    EXECUTOR_HEAP=$(between 512 "$EXECUTOR_HEAP" 31000) # with more, references are twice as long
    [ "$output" -eq 0 ] || EXECUTOR_ENGINE=$((output + (EXECUTOR_HEAP > 3840 ? EXECUTOR_HEAP / 10 : 384) / 3))
    EXECUTOR_CORES=$(between 1 $(($2 / EXECUTORS)) "$2")
}

# write_executors FILE: by the smallest node that works. Spark's own workers are planned by each node; on YARN executors are beside an
# ApplicationMaster.
write_executors() {
    local least fewest
    working_shares >"$JOB/run/shares"
    least=$(sort -n "$JOB/run/shares" | awk 'NR == 1 { print $1 }')
    fewest=$(sort -n -k 2 "$JOB/run/shares" | awk 'NR == 1 { print $2 }')
    if [ "$MODE" = spark-standalone ]; then
        EXECUTOR_HEAP=$least EXECUTOR_CORES=$fewest
        EXECUTOR_ENGINE=$(sort -n -k 3 "$JOB/run/shares" | awk 'NR == 1 { print $3 }')
        printf 'howdah job: Spark: %d workers, executors of %d tasks at a time and %d MB\n' "$(runners)" "$EXECUTOR_CORES" "$EXECUTOR_HEAP"
    else
        [ "$least" -ge 1792 ] || echo "howdah job: warning: $least MB for tasks on a node are too few for Spark on YARN, which wants 1792" >&2
        size_executors "$(between 0 $((least - 896)) "$least")" "$fewest"
    fi
    {
        printf 'spark.executor.cores %d\nspark.executor.memory %dm\n' "$EXECUTOR_CORES" "$EXECUTOR_HEAP"
        if [ "$MODE" = spark-standalone ]; then
            printf 'spark.executor.extraJavaOptions -XX:+UseParallelGC -XX:ParallelGCThreads=%d\n' "$EXECUTOR_CORES"
        else
            printf 'spark.executor.instances %d\n' $((EXECUTORS * WORKERS))
        fi
        [ "$EXECUTOR_ENGINE" -eq 0 ] ||
            printf 'spark.shuffle.rdma.memory.limit %dm\nspark.shuffle.rdma.memory.fraction 0.8\n' "$EXECUTOR_ENGINE"
        printf 'spark.driver.memory %dm\n' "$(between 512 "$COMMAND_HEAP" 31000)"
        if [ ${#SPARK_PROPERTIES[@]} -gt 0 ]; then printf '%s\n' "${SPARK_PROPERTIES[@]}"; fi
    } >>"$1"
}

# working_shares: MB for tasks and cores of each node that works, a line each, or of an executor, with its MB of the engine's memory, where it
# has Spark's workers. As all that is asked of each node, without a process for each.
working_shares() (
    for i in "${!HOSTS[@]}"; do
        # shellcheck source=/dev/null
        . "$JOB/run/node-$i"
        if [ "$containers" -eq 0 ]; then
            : # masters only
        elif [ "$MODE" = spark-standalone ]; then
            echo "$executor_heap $executor_cores $executor_engine"
        else
            echo "$containers $cores"
        fi
    done
)

# runners: the number of Spark's workers of all nodes.
runners() (
    total=0
    for i in "${!HOSTS[@]}"; do
        # shellcheck source=/dev/null
        . "$JOB/run/node-$i"
        total=$((total + runners))
    done
    printf '%s\n' "$total"
)

# spark_workers: host and state of each worker, a line each; fails while the master does not answer.
spark_workers() {
    local page
    page=$(http GET "$MASTER:8080" /json/) || return 1
    tr -d '\n' <<<"$page" | tr '{' '\n' | sed -n 's/.*"host" *: *"\([^"]*\)".*"webuiaddress".*"state" *: *"\([A-Z]*\)".*/\1 \2/p'
}

spark_ready() {
    local workers
    all_nodes_said && workers=$(spark_workers) && [ "$(grep -c ' ALIVE$' <<<"$workers")" -ge "$(runners)" ]
}
