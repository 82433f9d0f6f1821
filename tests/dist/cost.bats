# howdah cost: what a batch job wrote into its folder, and two of them side by side.

bats_require_minimum_version 1.5.0

load tree

setup_file() { find_built_tree; }

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir howdah-job-41 howdah-job-42
    echo 'nodes=3 seconds=120 node_seconds=360 processor_seconds=500' >howdah-job-41/use
    echo 'nodes=3 seconds=90 node_seconds=270 processor_seconds=400' >howdah-job-42/use
    printf '%s\n' 'TRAFFIC      OVER     CALLS  BYTES   CONNECTIONS' 'HDFS writes  shm      24     60 MB   24' '' 'auto: on' >howdah-job-42/traffic
    unset HOWDAH_JOB_PRICE
}

cost() { "$TREE/bin/howdah" cost "$@"; }

@test "one job: what it used, its traffic, and its price if a node-hour has one" {
    run -0 cost howdah-job-42/
    [[ $output == *node-seconds*270* && $output == *'HDFS writes  shm'* && $output != *price* && $output != *auto* ]]
    HOWDAH_JOB_PRICE=2 run -0 cost howdah-job-42
    grep -qE '^price +0\.1500$' <<<"$output"
}

@test "two jobs: how many times the first one's figures are the second one's" {
    run -0 cost --price 0.5 howdah-job-41 howdah-job-42
    grep -qE '^seconds +120 +90 +1\.33$' <<<"$output"
    grep -qE '^processor-seconds +500 +400 +1\.25$' <<<"$output"
    grep -qE '^price +0\.0500 +0\.0375 +1\.33$' <<<"$output"
}

@test "a job that has not ended, a folder of something else and a wrong price are refused by name" {
    mkdir running
    run -1 cost running
    [[ $output == *'running/use cannot be read'*'has not ended'* ]]
    run -1 cost absent
    [[ $output == *'there is no folder absent'* ]]
    echo 'something else' >running/use
    run -1 cost running
    [[ $output == *'is not what a batch job writes'* ]]
    run -1 cost --price cheap howdah-job-41
    [[ $output == *'cheap is not a price'* ]]
    run -2 cost
}
