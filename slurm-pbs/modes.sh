# shellcheck shell=bash
# The modes of a job, its options and HiBD's names for them. Sourced by job.sh, which has fail.
# shellcheck disable=SC2034 # for the caller

MODES='plain, hhh, hhh-m, hhh-l, lustre-local, lustre-only, spark-standalone'

# choose_mode: refuses a mode by its name; RAM, SSD, HDD and SHARED from options, else from HiBD's variables.
choose_mode() {
    local name variable
    case $MODE in
        plain | hhh | hhh-m | hhh-l | lustre-local | lustre-only | spark-standalone) ;;
        mrlustre-local) MODE=lustre-local ;; # HiBD's names
        mrlustre-lustre) MODE=lustre-only ;;
        hhh-l-bb) fail "the mode $MODE is not in this release" "there are: $MODES" ;;
        *) fail "the mode $MODE is not known" "there are: $MODES" ;;
    esac
    if [ -n "$RAM" ] && ! stores_in_ram; then
        fail "a folder in RAM ($RAM) is of no use in the mode $MODE" "add --mode hhh, hhh-m or hhh-l, or leave out --ram and dfs.memory.storage"
    fi
    if [ "$MODE" = lustre-only ]; then
        [ -z "$SSD$HDD" ] || fail "folders of nodes' own disks ($SSD$HDD) are of no use in the mode lustre-only" "add --mode lustre-local, or leave out --ssd and --hdd"
    else
        SSD=${SSD:-${SSD_PATH:-}} HDD=${HDD:-${HDD_PATH:-}}
    fi
    SHARED=${SHARED:-${LUSTRE_PATH:-}}
    ! stores_in_ram || RAM=${RAM:-${RAMDISK_PATH:-/dev/shm}}
    [[ $SHARED != *,* ]] || fail "--shared $SHARED is a list" "name one folder that all nodes see"
    for name in RAM SSD HDD SHARED; do
        # Folders go into URIs, comma lists and options that are split at blanks.
        [[ ${!name} =~ ^(/[A-Za-z0-9/._+=@-]*(,/[A-Za-z0-9/._+=@-]*)*)?$ ]] || fail "--${name,,} ${!name} has a character that Hadoop's lists and URIs do not take" \
            "name absolute paths of letters, digits and / . _ + = @ -, with commas between them"
    done
    check_shared
}

# check_shared: SHARED is there where the mode needs it.
check_shared() {
    if keeps_shared_data && [ -z "$SHARED" ]; then
        fail "the mode $MODE keeps data on a shared file system, and none is named" "add --shared FOLDER, or set LUSTRE_PATH"
    fi
    if [ -n "$SHARED" ] && { [ ! -d "$SHARED" ] || [ ! -w "$SHARED" ]; }; then
        fail "--shared $SHARED is not a folder that can be written" "name a folder that all nodes see"
    fi
}

# read_settings FILE: HiBD's file of settings, a line each: C, H, M or Y (core, hdfs, mapred, yarn), name, value. Into CORE_SITE,
# HDFS_SITE, MAPRED_SITE and YARN_SITE.
read_settings() {
    local line kind name value number=0
    if [ ! -f "$1" ] || [ ! -r "$1" ]; then fail "the settings file $1 cannot be read" "check --settings"; fi
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        read -r kind name value <<<"${line%$'\r'}"
        if [ -z "$kind" ] || [[ $kind == '#'* ]]; then continue; fi
        if [[ ! $name =~ ^[A-Za-z0-9._-]+$ ]] || [ -z "$value" ]; then kind=; fi
        if [ "$name" = dfs.memory.storage ]; then RAM=${RAM:-$value}; continue; fi # HiBD's scripts make a folder in RAM of it
        case $kind in
            C) CORE_SITE+=("$name" "$value") ;;
            H) HDFS_SITE+=("$name" "$value") ;;
            M) MAPRED_SITE+=("$name" "$value") ;;
            Y) YARN_SITE+=("$name" "$value") ;;
            *) fail "line $number of $1 is not 'C NAME VALUE'" "C stands for core-site.xml, H for hdfs-site.xml, M for mapred-site.xml, Y for yarn-site.xml" ;;
        esac
    done <"$1"
}

# write_settings FOLDER: what read_settings has read, as a template.
write_settings() {
    mkdir "$1"
    site_file "$1/core-site.xml" ${CORE_SITE[@]+"${CORE_SITE[@]}"}
    site_file "$1/hdfs-site.xml" ${HDFS_SITE[@]+"${HDFS_SITE[@]}"}
    site_file "$1/mapred-site.xml" ${MAPRED_SITE[@]+"${MAPRED_SITE[@]}"}
    site_file "$1/yarn-site.xml" ${YARN_SITE[@]+"${YARN_SITE[@]}"}
}
