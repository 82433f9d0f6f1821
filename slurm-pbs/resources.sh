# shellcheck shell=bash
# What a job may use of a node, and how its daemons and containers share it. Sourced by job.sh and node.sh.

# cgroup_values CONTROLLER V2-FILE V1-FILE [CGROUPS [ROOT]]: the values of the file in this process's cgroup and those above it.
cgroup_values() {
    local id names path root=${5:-/sys/fs/cgroup} folder file
    while IFS=: read -r id names path; do
        if [ "$id" = 0 ] && [ -z "$names" ]; then
            folder=$root file=$2
            [ ! -d "$root/unified" ] || folder=$root/unified
        elif [[ ,$names, == *",$1,"* ]]; then
            folder=$root/$names file=$3
            [ -d "$folder" ] || folder=$root/$1
        else
            continue
        fi
        while :; do
            [ ! -r "$folder$path/$file" ] || cat -- "$folder$path/$file"
            [ "${path:-/}" != / ] || break
            path=${path%/*}
        done
    done 2>/dev/null <"${4:-/proc/self/cgroup}"
}

# node_memory GIVEN [CGROUPS [ROOT]]: the MB that the job may use here: the least of what the batch system gave (0: it did not
# say), the cgroups' limits and the machine's memory.
node_memory() {
    local least value
    least=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
    if [ "$1" -gt 0 ] && [ "$1" -lt "$least" ]; then least=$1; fi
    while read -r value; do
        [[ $value =~ ^[0-9]{1,18}$ ]] || continue # "max"
        if [ $((value >> 20)) -lt "$least" ]; then least=$((value >> 20)); fi
    done < <(cgroup_values memory memory.max memory.limit_in_bytes "${@:2}")
    printf '%s\n' "$least"
}

# node_cores GIVEN [CGROUPS [ROOT]]: likewise, processors: what was given, what this process may run on, the cgroups' quotas.
node_cores() {
    local least value period
    least=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
    if [ "$1" -gt 0 ] && [ "$1" -lt "$least" ]; then least=$1; fi
    while read -r value period; do
        [[ $value =~ ^[0-9]{1,18}$ ]] || continue
        value=$(((value + ${period:-100000} - 1) / ${period:-100000}))
        if [ "$value" -ge 1 ] && [ "$value" -lt "$least" ]; then least=$value; fi
    done < <(cgroup_values cpu cpu.max cpu.cfs_quota_us "${@:2}")
    printf '%s\n' "$least"
}

# between LOW VALUE HIGH
between() { if [ "$2" -lt "$1" ]; then echo "$1"; elif [ "$2" -gt "$3" ]; then echo "$3"; else echo "$2"; fi; }

# plan_node MEMORY MASTERS WORKERS COMMAND RAM: MB for the heap of a master (MASTER_HEAP), of a worker (WORKER_HEAP) and of the
# job's command (COMMAND_HEAP), for data on RAM disks (DATA_MEMORY), and for the tasks of YARN or Spark (CONTAINERS). MASTERS,
# WORKERS and COMMAND are how many of these JVMs the node has. A JVM takes 160 MB beside its heap. RAM is the MB that RAM disks
# take at most; they get no more than half of what the JVMs leave.
plan_node() {
    local memory=$1 left
    MASTER_HEAP=$(between 192 $((memory / 12)) 4000)
    WORKER_HEAP=$(between 160 $((memory / 16)) 1000)
    COMMAND_HEAP=$(between 256 $((memory / 8)) 1000)
    left=$((memory - memory / 16 - $2 * (MASTER_HEAP + 160) - $3 * (WORKER_HEAP + 160) - $4 * (COMMAND_HEAP + 160)))
    DATA_MEMORY=0
    if [ "$3" -gt 0 ] && [ "$5" -gt 0 ] && [ "$left" -gt 0 ]; then DATA_MEMORY=$(between 0 $((left / 2)) "$5"); fi
    # shellcheck disable=SC2034 # for the caller
    CONTAINERS=$((left - DATA_MEMORY))
}

# least_memory TASKS MASTERS WORKERS COMMAND RAM: the MB a node needs so that as many are left for tasks.
least_memory() {
    local memory=512
    while plan_node "$memory" "${@:2}"; [ "$CONTAINERS" -lt "$1" ] && [ "$memory" -lt 65536 ]; do memory=$((memory + 64)); done
    printf '%s\n' "$memory"
}
