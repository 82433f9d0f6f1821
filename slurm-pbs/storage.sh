# shellcheck shell=bash
# The folders of a job's data: by kind, and probed on each node. Sourced by job.sh and node.sh.

# stores_in_ram: whether the mode is one of HDFS's storage modes that have replicas in RAM.
stores_in_ram() { [ "$MODE" = hhh ] || [ "$MODE" = hhh-m ] || [ "$MODE" = hhh-l ]; }

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

# probe_shared: what is wrong with the folder of copies, COPIES, on this node, in a line. SHARED_LOCAL is true where all DataNodes
# are on one node by the user's word.
probe_shared() {
    [ "$MODE" = hhh-l ] || return 0
    if ! takes_file "$COPIES"; then
        echo "--shared ${COPIES%/*} cannot be written on this node"
    elif [ "$SHARED_LOCAL" != true ] && on_one_node "$COPIES"; then
        echo "--shared ${COPIES%/*} is on $(stat -f -c %T -- "$COPIES"), which only one node has: name a folder of Lustre or of another shared file system"
    fi
}

# ram_space: the MB that the RAM disks of this node may take.
ram_space() {
    local folder folders total=0
    split_list folders "$RAM"
    [ -n "$RAM" ] || ! in_memory "$LOCAL" || folders=("$LOCAL")
    for folder in ${folders[@]+"${folders[@]}"}; do
        if [ -d "$folder" ]; then total=$((total + $(free_space "$folder"))); fi
    done
    printf '%s\n' "$total"
}

# data_roots: the folders that this node's data is below, a line each, LOCAL first.
data_roots() {
    printf '%s\n' "$LOCAL" "$RAM" "$SSD" "$HDD" | tr , '\n' | awk 'NF && !seen[$0]++'
}

# data_folders: the value of dfs.datanode.data.dir: what is named for each kind, else LOCAL. Without a storage mode all are alike.
data_folders() {
    local kind tag folder folders list=()
    for kind in RAM SSD HDD; do
        split_list folders "${!kind}"
        [ "$kind" != HDD ] || [ -n "$SSD$HDD" ] || folders=("$LOCAL")
        case $kind in RAM) tag='[RAM_DISK]' ;; SSD) tag='[SSD]' ;; HDD) tag='[DISK]' ;; esac
        stores_in_ram || tag=''
        for folder in ${folders[@]+"${folders[@]}"}; do list+=("${tag}file://$folder/howdah-$RUN-$index/data-${kind,,}"); done
    done
    (IFS=,; printf '%s\n' "${list[*]}")
}
