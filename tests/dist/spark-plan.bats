# howdah spark plan: what it prints for this machine and for a topology of hwloc's. What it plans: SparkPlanTest in java/cluster.

load tree

setup_file() { find_built_tree; }

setup() { XML=$ROOT/java/cluster/src/test/resources/topologies/x86-2x12.xml; }

@test "for this machine: executors, why, settings and workers; nothing is changed" {
    run -0 "$TREE/bin/howdah" spark plan
    echo "$output"
    [[ $output == *'NUMA node'*'Each executor: '*'Why:'*'spark-defaults.conf:'*'--cores '* ]]
}

@test "for another machine: lines that Spark takes" {
    run -0 "$TREE/bin/howdah" spark plan --xml "$XML" --memory 60g --machines 3 --conf
    echo "$output"
    [ "${#lines[@]}" -eq 6 ]
    [ "${lines[0]}" = 'spark.executor.cores 8' ]
    [ "${lines[2]}" = 'spark.executor.instances 18' ]
    [[ ${lines[4]} == 'spark.shuffle.rdma.memory.limit '[1-9]*m ]]
    run -0 "$TREE/bin/howdah" spark plan --xml "$XML"
    [[ $output == *'numactl --physcpubind=0-11,24-35 --membind=0 spark-class '* ]]
    run -0 "$TREE/bin/howdah" spark plan --xml "$XML" --memory 60g --workers
    [[ ${lines[0]} == '0 0-11,24-35 3 8 '* ]]
    [[ ${lines[1]} == '1 12-23,36-47 3 8 '* ]]
    [ "${#lines[@]}" -eq 2 ]
    # A job may have more memory than NUMA nodes with its cores have: scripts go on with less, and say so.
    run -0 "$TREE/bin/howdah" spark plan --xml "$XML" --memory 100g --workers
    [[ ${lines[0]} == 'howdah spark: warning: '*' MB are not on NUMA nodes with cores of this process; executors do without' ]]
    [ "${#lines[@]}" -eq 3 ]
}

@test "what cannot be planned is named" {
    fails_with '/nonexistent.xml can' "$TREE/bin/howdah" spark plan --xml /nonexistent.xml
    fails_with '--memory 100g is more than' "$TREE/bin/howdah" spark plan --xml "$XML" --memory 100g
    fails_with '--smt 9 is out of range' "$TREE/bin/howdah" spark plan --smt 9
    fails_with '700 MB are too few' "$TREE/bin/howdah" spark plan --xml "$XML" --memory 700m
    run "$TREE/bin/howdah" spark
    [ "$status" -eq 2 ]
}
