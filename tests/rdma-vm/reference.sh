#!/usr/bin/env bash
# What the device gives to programs that are not ours: the other side of every comparison of the engine in this machine.
# Runs inside the virtual machine, so that both sides meet the same emulated processor:
#   ci/rdma-vm run --time 600 -- tests/rdma-vm/reference.sh [--json]
# Prints a line for each figure, TSV with a header or JSON objects: program, operation, bytes, metric, unit, value.
# Figures of an emulated processor mean nothing by themselves: compare within one run.
. "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

format=tsv
case ${1:-} in
    '') ;;
    --json) format=json ;;
    *) echo "usage: reference.sh [--json]" >&2 && exit 1 ;;
esac

# figure PROGRAM OPERATION BYTES METRIC UNIT VALUE
figure() {
    if [ "$format" = json ]; then
        printf '{"program":"%s","operation":"%s","bytes":%d,"metric":"%s","unit":"%s","value":%s}\n' "$@"
    else
        printf '%s\t%s\t%d\t%s\t%s\t%s\n' "$@"
    fi
}

# send_latency BYTES: one way, half of a round trip.
send_latency() {
    local least typical average tail
    # bytes iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%
    read -r _ _ least _ typical average _ tail _ < <(perftest ib_send_lat -s "$1" -n 1000)
    figure ib_send_lat send "$1" latency-minimum us "$least"
    figure ib_send_lat send "$1" latency-typical us "$typical"
    figure ib_send_lat send "$1" latency-average us "$average"
    figure ib_send_lat send "$1" latency-99-percent us "$tail"
}

# read_bandwidth BYTES
read_bandwidth() {
    local average
    # bytes iterations peak average rate; its MB are 2^20 bytes
    read -r _ _ _ average _ < <(perftest ib_read_bw -s "$1" -n 100)
    figure ib_read_bw read "$1" bandwidth MiB/s "$average"
}

# best FIELD ARGUMENTS...: the highest rate that three runs of dapltest print in FIELD; it gives averages only, and what
# else runs on the machine makes an average worse, never better. Its figures are written without the zeros after the
# decimal point (2.06 as 2.6), so whole numbers are taken, of rates that are high enough for that.
best() {
    local field=$1 rate highest=0
    shift
    for _ in 1 2 3; do
        rate=$(dapl "$@" | sed -n "s/^ *$field *: *\([0-9]*\)\..*/\1/p")
        [ "${rate:?dapltest printed no $field}" -le "$highest" ] || highest=$rate
    done
    echo "$highest"
}

# dapl_operation OPERATION BYTES PIPELINE ITERATIONS: operations a second, and what follows from them.
dapl_operation() {
    local rate
    rate=$(best 'Operation Throughput' P -i "$4" -p "$3" "$1" "$2" 1)
    figure dapltest "$1" "$2" "rate-pipeline-$3" 1/s "$rate"
    if [ "$3" -eq 1 ]; then
        figure dapltest "$1" "$2" latency-average us "$(awk "BEGIN { printf \"%.2f\", 1e6 / $rate }")"
    else
        figure dapltest "$1" "$2" bandwidth MiB/s "$(awk "BEGIN { printf \"%.2f\", $rate * $2 / 1048576 }")"
    fi
}

# dapl_ping_pong BYTES ITERATIONS: messages to and fro, one at a time. A transaction counts one operation for each
# message, so the time of one is the time one way.
dapl_ping_pong() {
    local rate
    rate=$(best 'Total WQE' T -i "$2" -t 1 -w 1 client SR "$1" 1 server SR "$1" 1)
    figure dapltest SR "$1" latency-average us "$(awk "BEGIN { printf \"%.2f\", 1e6 / $rate }")"
}

[ "$format" = json ] || printf 'program\toperation\tbytes\tmetric\tunit\tvalue\n'
for size in 1 2 4 8 16 32 64 128 256 512 1024 2048 4096; do send_latency "$size"; done
read_bandwidth 1048576
dapl_server
for size in 1 64 1024 2096; do dapl_ping_pong "$size" 500; done
for operation in RR RW; do
    dapl_operation "$operation" 64 1 500
    dapl_operation "$operation" 4096 1 500
    dapl_operation "$operation" 65536 8 100
    dapl_operation "$operation" 1048576 4 20
done
dapl_quit
