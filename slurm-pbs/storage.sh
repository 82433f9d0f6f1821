# shellcheck shell=bash
# The folders of a job's data: by kind, and probed on each node. Sourced by job.sh and node.sh.
# shellcheck disable=SC2153,SC2154 # set by these

# stores_in_ram: whether the mode is one of HDFS's storage modes that have replicas in RAM.
stores_in_ram() { [ "$MODE" = hhh ] || [ "$MODE" = hhh-m ] || [ "$MODE" = hhh-l ]; }

# has_hdfs: whether the mode has it; without it jobs read and write files of the shared file system.
has_hdfs() { [[ $MODE != lustre-* ]]; }

# keeps_shared_data: whether the mode has data of the job's on the shared file system.
keeps_shared_data() { [ "$MODE" = hhh-l ] || ! has_hdfs; }

# in_memory FOLDER: whether what is written there takes memory.
in_memory() { case $(stat -f -c %T -- "$1" 2>/dev/null) in tmpfs | ramfs) ;; *) return 1 ;; esac; }

# on_one_node FOLDER: whether its file system is one that only one node has. DataNodes of the mode HHH-L go by the same list.
on_one_node() {
    case $(stat -f -c %T -- "$1" 2>/dev/null) in
        ext2/ext3 | ext4 | xfs | btrfs | f2fs | jfs | reiserfs | tmpfs | ramfs | overlayfs | msdos | vfat | zfs) ;;
        *) return 1 ;;
    esac
}

# free_space FOLDER, whole_space FOLDER: MB of its file system.
free_space() { df -Pm -- "$1" | awk 'NR == 2 { print $4 }'; }
whole_space() { df -Pm -- "$1" | awk 'NR == 2 { print $2 }'; }

# rotates FOLDER [BLOCK-DEVICES]: whether its file system is on a disk that turns; not where the system does not say.
rotates() {
    local device file
    device=$(findmnt -n -o MAJ:MIN -T "$1" 2>/dev/null | tr -d ' ') || return 1
    for file in "${2:-/sys/dev/block}/$device"/{,../}queue/rotational; do # of a partition it is the disk's
        if [ -r "$file" ]; then [ "$(<"$file")" = 1 ]; return; fi
    done
    return 1
}

# takes_file FOLDER: whether this node may write there.
takes_file() {
    local probe
    probe=$(mktemp -- "$1/.howdah-XXXXXXXX" 2>/dev/null) && rm -f -- "$probe"
}

# split_list NAME LIST: the words of a list with commas into the array NAME.
split_list() {
    local -n list_of=$1
    # shellcheck disable=SC2034 # the caller's
    IFS=, read -r -a list_of <<<"$2"
}

# probe_storage: what is wrong with the folders of RAM, SSD and HDD on this node; a line each. Those that begin with "warning: "
# are only worth knowing.
probe_storage() {
    local kind folder folders
    for kind in RAM SSD HDD; do
        split_list folders "${!kind}"
        for folder in ${folders[@]+"${folders[@]}"}; do
            if [ ! -d "$folder" ]; then
                echo "--${kind,,} $folder is not a folder of this node"
            elif ! takes_file "$folder"; then
                echo "--${kind,,} $folder cannot be written on this node"
            elif [ "$kind" = RAM ] && ! in_memory "$folder"; then
                echo "--ram $folder is on $(stat -f -c %T -- "$folder"), not in RAM: name a folder of a tmpfs, as /dev/shm"
            elif [ "$kind" = SSD ] && rotates "$folder"; then
                echo "warning: --ssd $folder is on a disk that turns"
            fi
        done
    done
}

# probe_shared: what is wrong with the job's folder of shared data, SHARED_DATA, on this node, in a line. SHARED_LOCAL is true where
# all nodes have it by the user's word, whatever file system it is on.
probe_shared() {
    keeps_shared_data || return 0
    if ! takes_file "$SHARED_DATA"; then
        echo "--shared ${SHARED_DATA%/*} cannot be written on this node"
    elif [ "$SHARED_LOCAL" != true ] && on_one_node "$SHARED_DATA"; then
        echo "--shared ${SHARED_DATA%/*} is on $(stat -f -c %T -- "$SHARED_DATA"), which only one node has: name a folder of Lustre or of another shared file system"
    fi
}

# ram_space: the MB that the RAM disks of this node may take.
ram_space() {
    local folder folders total=0
    split_list folders "$RAM"
    if [ -z "$RAM" ] && [ "$MODE" != lustre-only ] && in_memory "$LOCAL"; then folders=("$LOCAL"); fi
    for folder in ${folders[@]+"${folders[@]}"}; do
        if [ -d "$folder" ]; then total=$((total + $(free_space "$folder"))); fi
    done
    printf '%s\n' "$total"
}

# data_roots: the folders that this node's data is below, a line each, LOCAL first. In the mode lustre-only a node has its part of SHARED.
data_roots() {
    local shared=''
    [ "$MODE" != lustre-only ] || shared=${SHARED%/}
    printf '%s\n' "$LOCAL" "$RAM" "$SSD" "$HDD" "$shared" | tr , '\n' | awk 'NF && !seen[$0]++'
}

# kind_folders NAME RAM|SSD|HDD: into the array NAME: what is named for the kind, else for HDD LOCAL.
kind_folders() {
    if [ "$2" != HDD ] || [ -n "$SSD$HDD" ]; then split_list "$1" "${!2}"; else split_list "$1" "$LOCAL"; fi
}

# own_share: this node's folder of SHARED, in the mode lustre-only.
own_share() { printf '%s\n' "${SHARED%/}/howdah-$RUN-$index"; }

# container_logs: the folder of containers' logs.
container_logs() { if [ "$MODE" = lustre-only ]; then printf '%s/logs\n' "$(own_share)"; else printf '%s/yarn/logs\n' "$local_folder"; fi; }

# data_folders: the value of dfs.datanode.data.dir, or without HDFS of yarn.nodemanager.local-dirs. Without a storage mode all are alike.
data_folders() {
    local kind tag folder folders list=()
    if [ "$MODE" = lustre-only ]; then printf 'file://%s/data-shared\n' "$(own_share)"; return; fi
    for kind in RAM SSD HDD; do
        kind_folders folders "$kind"
        case $kind in RAM) tag='[RAM_DISK]' ;; SSD) tag='[SSD]' ;; HDD) tag='[DISK]' ;; esac
        stores_in_ram || tag=''
        for folder in ${folders[@]+"${folders[@]}"}; do list+=("${tag}file://$folder/howdah-$RUN-$index/data-${kind,,}"); done
    done
    (IFS=,; printf '%s\n' "${list[*]}")
}
