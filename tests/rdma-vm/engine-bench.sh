#!/usr/bin/env bash
# The engine and programs that are not ours on the same device, in turn, so that both meet the same emulated processor:
#   ci/rdma-vm run --time 1800 -- tests/rdma-vm/engine-bench.sh HD-PERF ROUNDS all|perftest
# perftest: only verbs beside perftest.
# Prints, for ci/bench/engine.py, blocks of JSON or single figures, each behind a line that says whose they are:
#   == SIDE             what hd-perf --json prints; of variants, SIDE-VARIANT
#   = SIDE MEASURE BYTES UNIT VALUE
# and lines beginning with # for whoever watches.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

perf=$1 rounds=$2 parts=$3
TURNS=10
# The protocols of paper 2, and the choice between them.
protocols=('copy:transport=udapl,rendezvous.protocol=copy,eager.threshold=2k'
    'read:transport=udapl,rendezvous.protocol=read,eager.threshold=256'
    'write:transport=udapl,rendezvous.protocol=write,eager.threshold=256'
    'auto:transport=udapl,rendezvous.protocol=auto,eager.threshold=2k')
export HOWDAH_LOG_LEVEL=error

# engine SIDE TRANSPORT [HD-PERF OPTION...]
engine() {
    echo "== $1"
    settle
    HOWDAH_TRANSPORT=$2 "$perf" --engine-only --json --rounds 1 "${@:3}"
}

# in_turn SIDE SIZE COUNT VARIANT...: both processes have an engine for each variant, which take turns many times: so what
# the emulated processor does meanwhile is done to all of them.
in_turn() {
    local variant options=()
    for variant in "${@:4}"; do options+=(--variant "$variant"); done
    echo "== $1"
    settle
    "$perf" --json --rounds "$TURNS" --iterations $(($3 / TURNS)) --latency "$2" "${options[@]}"
}

# perftest_latency SIZE COUNT
perftest_latency() {
    local least typical average
    # bytes iterations t_min t_max t_typical t_avg ...: typical is the median of single round trips, as hd-perf's is
    settle
    read -r _ _ least _ typical average _ < <(perftest ib_send_lat -s "$1" -n "$2")
    echo "= perftest latency $1 us $typical"
    echo "= perftest mean_latency $1 us $average"
    echo "= perftest least_latency $1 us $least"
}

# What the last program left to be done is not to be measured with the next one.
settle() {
    sleep 0.3
}

perftest_pull() {
    local average
    # bytes iterations peak average rate; its MB are 2^20 bytes
    read -r _ _ _ average _ < <(perftest ib_read_bw -s 1048576 -n 50)
    echo "= perftest pull 1048576 MB/s $(awk "BEGIN { print $average * 1.048576 }")"
}

# What is compared runs within seconds of each other, and in another order each time: the emulated processor's own speed
# changes by the minute.
for ((round = 1; round <= rounds; round++)); do
    echo "# round $round of $rounds"
    for size in 1 64 1024 4096; do
        # Most of a second: the first two thousand messages of either side are slower, and what a program that has just
        # ended leaves to the kernel takes some tens of milliseconds.
        count=$((size < 1024 ? 20000 : 8000))
        if ((round % 2)); then perftest_latency "$size" "$count"; fi
        engine verbs verbs --iterations "$count" --latency "$size"
        if ! ((round % 2)); then perftest_latency "$size" "$count"; fi
        [ "$parts" = perftest ] || in_turn pair "$size" "$count" verbs:transport=verbs udapl:transport=udapl
    done
    perftest_pull
    engine verbs verbs --iterations 50 --pull 1m
    if [ "$parts" = perftest ]; then continue; fi
    engine udapl udapl --iterations 50 --pull 1m
    # As above: of small messages so many that a run takes a while.
    for each in 64:8000 1k:5000 4k:2000 16k:500 64k:100 256k:100 1m:100; do
        in_turn protocol "${each%:*}" "${each#*:}" "${protocols[@]}"
    done
done
