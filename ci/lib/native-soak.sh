# shellcheck shell=bash
# Many random fault schedules (native/test/test_fault.c, mixed_faults) in batches, each with a report of its own, so that
# an interrupted run goes on with the next batch. Sourced by ci/native, after common.sh.

SOAK_BATCH=250

# soak_batch FOLDER TRANSPORT FIRST COUNT: the schedules with seeds FIRST and so on, unless their report is there.
soak_batch() {
    local report=$1/$2-$3-$4
    [ ! -e "$report" ] || return 0
    if ! HOWDAH_TEST_SEED=$3 HOWDAH_TEST_SEEDS=$4 timeout 1800 \
        "$1/test_fault" "$2" mixed_faults >"$report.new" 2>&1; then
        tail -n 20 "$report.new"
        echo "soak $2: failed in seeds $3 to $(($3 + $4 - 1))"
        return 1
    fi
    mv "$report.new" "$report"
}

# soak_sums FOLDER: the reports' figures added up, a line for each transport.
soak_sums() {
    awk '/^faults: / {
            for (i = 2; i <= NF; i++) {
                split($i, pair, "=")
                if (pair[1] == "transport") transport = pair[2]
                else if (pair[1] != "test") {
                    if (!(pair[1] in known)) { known[pair[1]]; names[++count] = pair[1] }
                    sum[transport, pair[1]] += pair[2]
                }
            }
            seen[transport]
        }
        END {
            for (transport in seen) {
                line = "soak " transport ":"
                for (i = 1; i <= count; i++) line = line sprintf(" %s=%.0f", names[i], sum[transport, names[i]])
                print line
            }
        }' "$1"/*-*-*
}

# soak N: N schedules over each transport. Reports belong to one build of the test.
soak() {
    local schedules=$1 folder transport first count failed=0
    folder=$HOWDAH_BUILD/native-soak/$(sha256sum <"$HOWDAH_BUILD/native/test/test_fault" | cut -c1-16)
    mkdir -p "$folder"
    # A copy: what is built meanwhile shall not change what is under test.
    [ -e "$folder/test_fault" ] || { cp "$HOWDAH_BUILD/native/test/test_fault" "$folder/new" && mv "$folder/new" "$folder/test_fault"; }
    for transport in self shm; do
        for ((first = 1; first <= schedules; first += SOAK_BATCH)); do
            count=$((schedules - first + 1 < SOAK_BATCH ? schedules - first + 1 : SOAK_BATCH))
            soak_batch "$folder" "$transport" "$first" "$count" || failed=1
            say "soak $transport: $((first + count - 1)) of $schedules"
        done
        [ "$failed" -ne 0 ] || echo "soak $transport: passed"
    done
    soak_sums "$folder"
    [ "$failed" -eq 0 ]
}
