# shellcheck shell=bash
# Data in and out of a job's HDFS, the traffic of its cluster and what it has used. Sourced by job.sh, which has fail.
# shellcheck disable=SC2153 # set by job.sh

# from_submission PATH: a path of the user's, who gave it where the job was submitted.
from_submission() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "${SLURM_SUBMIT_DIR:-${PBS_O_WORKDIR:-$PWD}}/$1" ;; esac; }

# check_staging: INPUTS are SOURCE=/HDFS, OUTPUTS /HDFS=TARGET. What cannot be copied is named before the cluster starts.
check_staging() {
    local item path
    has_hdfs || [ $((${#INPUTS[@]} + ${#OUTPUTS[@]})) -eq 0 ] ||
        fail "the mode $MODE has no HDFS, so --in and --out have nothing to copy to or from" "give commands the absolute paths of your files on the shared file system"
    for item in ${INPUTS[@]+"${INPUTS[@]}"}; do
        [[ $item == ?*=/* ]] || fail "--in $item is not SOURCE=/PATH-IN-HDFS"
        path=$(from_submission "${item%%=/*}")
        [ -r "$path" ] || fail "--in: $path is not there, or cannot be read"
    done
    for item in ${OUTPUTS[@]+"${OUTPUTS[@]}"}; do
        [[ $item == /*=?* ]] || fail "--out $item is not /PATH-IN-HDFS=TARGET"
        path=$(from_submission "${item#*=}")
        [ ! -e "$path" ] || fail "--out: $path is there already" "name another one, or move it away"
        [ -w "$(dirname -- "$path")" ] || fail "--out: $path cannot be made" "name one in a folder that you may write"
    done
}

# stage_in, stage_out: one after the other; the name in HDFS is the copy's own.
stage_in() {
    local item target parent
    for item in ${INPUTS[@]+"${INPUTS[@]}"}; do
        target=/${item#*=/}
        parent=${target%/*}
        if [ -n "$parent" ]; then
            run_on_cluster hdfs dfs -mkdir -p "$parent" || fail "the folder $parent cannot be made in HDFS" "the lines above say why"
        fi
        run_on_cluster hdfs dfs -put -- "$(from_submission "${item%%=/*}")" "$target" || fail "--in $item could not be copied" "the lines above say why"
    done
}

stage_out() {
    local item failed=0
    for item in ${OUTPUTS[@]+"${OUTPUTS[@]}"}; do
        if ! run_on_cluster hdfs dfs -get -- "${item%%=*}" "$(from_submission "${item#*=}")"; then
            echo "howdah job: error: --out $item could not be copied" >&2
            failed=1
        fi
    done
    return "$failed"
}

# show_traffic: what the daemons have served, by transport; a line where they do not say. Also in the job's folder.
show_traffic() {
    run_on_cluster timeout 60 "$HOWDAH_HOME/bin/howdah" stat >"$JOB/traffic" 2>&1 || true
    # The mode spark-standalone has no ResourceManager to ask.
    sed -e "/the ResourceManager's web server .* does not answer/d" -e 's/^/howdah job: /' "$JOB/traffic"
}

# seconds_of FILE...: of processors, out of what times has written there.
seconds_of() {
    awk 'FNR == 2 { for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += part[1] * 60 + part[2] } } END { printf "%.0f\n", sum }' "$@" </dev/null
}

# show_use: node-seconds and processor-seconds, and their price if a node-hour has one. Also in the job's folder.
show_use() {
    local used=$((SECONDS * ${#HOSTS[@]})) processors files=("$JOB"/run/times-*)
    [ -e "${files[0]}" ] || return 0
    processors=$(seconds_of "${files[@]}")
    printf 'nodes=%d seconds=%d node_seconds=%d processor_seconds=%d\n' "${#HOSTS[@]}" "$SECONDS" "$used" "$processors" >"$JOB/use"
    printf 'howdah job: %d node-seconds (%d nodes, %d s), %d processor-seconds' "$used" "${#HOSTS[@]}" "$SECONDS" "$processors"
    if [ -n "${HOWDAH_JOB_PRICE:-}" ]; then awk -v used="$used" -v price="$HOWDAH_JOB_PRICE" 'BEGIN { printf ", price %.4f", used * price / 3600 }'; fi
    echo
}
