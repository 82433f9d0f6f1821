# shellcheck shell=bash
# The nodes that a batch system gave a job, what of them it gave, and names that Hadoop takes. Sourced by job.sh, which has fail.
# shellcheck disable=SC2034 # for the caller: JOB_ID, SUBMITTED, MASTER

# find_allocation slurm|pbs: HOSTS, JOB_ID, SUBMITTED (the folder that the job was submitted in), and for each host MEMORY (MB) and
# CORES, 0 where the batch system does not say.
find_allocation() {
    case $1 in
        slurm)
            [ -n "${SLURM_JOB_NODELIST:-}" ] || fail "this is no job of Slurm" "submit it: sbatch -N 4 howdah.sbatch COMMAND"
            mapfile -t HOSTS < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
            JOB_ID=$SLURM_JOB_ID SUBMITTED=${SLURM_SUBMIT_DIR:-$PWD}
            slurm_sizes
            ;;
        pbs)
            [ -n "${PBS_NODEFILE:-}" ] || fail "this is no job of PBS" "submit it: qsub -l select=4 -- howdah.pbs COMMAND"
            [ -r "$PBS_NODEFILE" ] || fail "the list of nodes, PBS_NODEFILE=$PBS_NODEFILE, cannot be read"
            mapfile -t HOSTS < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")
            JOB_ID=$PBS_JOBID SUBMITTED=${PBS_O_WORKDIR:-$PWD}
            pbs_sizes
            ;;
    esac
    [ ${#HOSTS[@]} -gt 0 ] || fail "the allocation has no nodes"
    JOB_ID=${JOB_ID//[^A-Za-z0-9._-]/_} # 42[3].head
}

# expand_counts LIST: 4(x2),8 as 4 4 8.
expand_counts() {
    local part i
    for part in ${1//,/ }; do
        [[ $part =~ ^([0-9]+)(\(x([0-9]+)\))?$ ]] || continue
        for ((i = 0; i < ${BASH_REMATCH[3]:-1}; i++)); do printf '%s ' "${BASH_REMATCH[1]}"; done
    done
}

# slurm_sizes: memory as the job's own record has it; variables may be those of a job that this one was submitted from.
slurm_sizes() {
    local record each kind i
    read -r -a CORES <<<"$(expand_counts "${SLURM_JOB_CPUS_PER_NODE:-}")"
    record=$(scontrol show job "$SLURM_JOB_ID" 2>/dev/null | grep -oE 'MinMemory(Node|CPU)=[0-9.]+[KMGT]?') || record=''
    kind=${record%%=*}
    each=$(awk -v size="${record#*=}" 'BEGIN { unit = substr(size, length(size)); n = size + 0
        if (unit == "K") n /= 1024; if (unit == "G") n *= 1024; if (unit == "T") n *= 1048576; print int(n) }')
    MEMORY=()
    for i in "${!HOSTS[@]}"; do
        if [ "$kind" = MinMemoryCPU ]; then MEMORY[i]=$((each * ${CORES[i]:-1})); else MEMORY[i]=$each; fi
    done
}

# pbs_sizes: PBS says the processors of the first chunk; its limits of memory are cgroups, which each node sees for itself.
pbs_sizes() {
    local i
    CORES=() MEMORY=()
    for i in "${!HOSTS[@]}"; do CORES[i]=${NCPUS:-${PBS_NUM_PPN:-0}} MEMORY[i]=0; done
}

# choose_sizes: HOWDAH_JOB_MEMORY and HOWDAH_JOB_CORES win over the allocation.
choose_sizes() {
    local i name
    for name in HOWDAH_JOB_MEMORY HOWDAH_JOB_CORES; do
        [[ ${!name:-1} =~ ^[1-9][0-9]{0,8}$ ]] || fail "$name=${!name} is not a number" "memory is in MB a node, cores are a node's"
    done
    for i in "${!HOSTS[@]}"; do
        MEMORY[i]=${HOWDAH_JOB_MEMORY:-${MEMORY[i]:-0}}
        CORES[i]=${HOWDAH_JOB_CORES:-${CORES[i]:-0}}
    done
}

# on_first_node slurm|pbs: whether this script runs there.
on_first_node() { [ "$1" = pbs ] || [ "${SLURMD_NODENAME:-}" = "${HOSTS[0]}" ]; }

# choose_work slurm|pbs: whether the first node works beside its masters, where neither option says so: it does where it is a large
# part of the job and the masters leave it most of what another node has for tasks.
choose_work() {
    local memory daemons=2 others
    if [ -n "$ALL_WORK" ] || [ ${#HOSTS[@]} -gt 8 ] || ! on_first_node "$1" || [ "$(node_cores "${CORES[0]}")" -lt 8 ]; then return 0; fi
    memory=$(node_memory "${MEMORY[0]}")
    has_hdfs || daemons=1
    plan_node "$memory" 0 "$daemons" 0 0
    others=$CONTAINERS
    plan_node "$memory" "$daemons" "$daemons" 1 0
    [ $((4 * CONTAINERS)) -lt $((3 * others)) ] || ALL_WORK=yes
}

# check_names: refuses what would end up as another folder, another host or another option. Folders go into URIs, comma lists and
# options that are split at blanks.
check_names() {
    local host
    LOCAL=${HOWDAH_JOB_LOCAL:-${TMPDIR:-/tmp}}
    [[ $LOCAL =~ ^/[A-Za-z0-9/._+=@-]*$ ]] || fail "the folder for data, $LOCAL, has a character that Hadoop's lists and URIs do not take" \
        "set HOWDAH_JOB_LOCAL to an absolute path of letters, digits and / . _ + = @ -"
    LOCAL=${LOCAL%/}
    [[ $SUBMITTED != *[:\*\;\$\"\`\\$'\n']* ]] || fail "the job's folder cannot be in $SUBMITTED, whose name has a character that a class path does not take" \
        "submit from a folder without : * ; \$ \" \` and \\ in its path"
    for host in "${HOSTS[@]}"; do
        [[ $host =~ ^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$ ]] || fail "the node $host has a name that Hadoop's addresses do not take" \
            "host names have letters, digits and - (no _): leave this node out, or have it renamed"
    done
}

# choose_master slurm|pbs: MASTER, a name or an address of the first node by which the others reach it. That node may know its own
# name as a loopback address.
choose_master() {
    local names=("${HOSTS[0]}") name address
    [ "$1" = pbs ] || names+=("$(scontrol show node "${HOSTS[0]}" 2>/dev/null | grep -oE 'NodeAddr=[^ ]+' | cut -d= -f2 || true)")
    if on_first_node "$1"; then
        names+=("$(uname -n)" "$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 -E '^[0-9.]+$' || true)")
    fi
    for name in "${names[@]}"; do
        if [ -z "$name" ] || [[ $name == *_* ]]; then continue; fi
        address=$(getent ahostsv4 "$name" | awk 'NR == 1 { print $1 }') || true
        if [ -n "$address" ] && [[ $address != 127.* ]]; then MASTER=$name; return; fi
    done
    fail "the first node, ${HOSTS[0]}, has no address that other nodes reach" "check its name in DNS or /etc/hosts, and its network"
}
