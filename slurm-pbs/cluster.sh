# shellcheck shell=bash
# A job's cluster: its configuration, and what its daemons say over HTTP. Sourced by job.sh, which has fail.
# shellcheck disable=SC2153,SC2154 # upper case: set by job.sh; lower case: by a node's file in run/

# write_template FOLDER: what follows from the allocation. howdah.* are properties that node.sh gives each daemon. Daemons listen
# on all addresses: a node may have several names and addresses. A NodeManager's name is what an ApplicationMaster there tells its tasks.
# The packages' folder of domain sockets is their DataNode's.
# shellcheck disable=SC2016 # Hadoop's variables
write_template() {
    local task master folders=() workers=1
    mkdir "$1"
    if has_hdfs; then
        write_hdfs_template "$1"
        workers=2
    else
        folders=(yarn.nodemanager.local-dirs '${howdah.data}' yarn.nodemanager.log-dirs '${howdah.logs}')
    fi
    site_file "$1/yarn-site.xml" yarn.resourcemanager.webapp.address "$MASTER:8088" yarn.resourcemanager.bind-host 0.0.0.0 \
        yarn.nodemanager.bind-host 0.0.0.0 yarn.nodemanager.hostname '${howdah.address}' yarn.nodemanager.resource.memory-mb '${howdah.memory}' \
        yarn.nodemanager.resource.cpu-vcores '${howdah.cores}' yarn.scheduler.minimum-allocation-mb 128 \
        yarn.scheduler.maximum-allocation-mb 1048576 yarn.scheduler.maximum-allocation-vcores 1024 \
        yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms 0 \
        yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage 99 \
        yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb 256 ${folders[@]+"${folders[@]}"}
    # As many tasks as cores, by what this node would have if it worked.
    plan_node "$(node_memory "${MEMORY[0]}")" 0 "$workers" 0 "$(ram_space)"
    task=$(between 512 $((CONTAINERS / $(node_cores "${CORES[0]}"))) 4096)
    master=$(between 512 "$task" 1536)
    site_file "$1/mapred-site.xml" mapreduce.map.memory.mb "$task" mapreduce.map.java.opts "-Xmx$((task * 4 / 5))m" \
        mapreduce.reduce.memory.mb "$task" mapreduce.reduce.java.opts "-Xmx$((task * 4 / 5))m" \
        yarn.app.mapreduce.am.resource.mb "$master" yarn.app.mapreduce.am.command-opts "-Xmx$((master * 4 / 5))m"
}

# write_hdfs_template FOLDER: likewise, of HDFS.
# shellcheck disable=SC2016 # Hadoop's variables
write_hdfs_template() {
    local tiers=()
    ! stores_in_ram || tiers=(dfs.rdma.memory.capacity '${howdah.ram}')
    site_file "$1/hdfs-site.xml" dfs.namenode.http-address "$MASTER:50070" dfs.namenode.rpc-bind-host 0.0.0.0 \
        dfs.namenode.http-bind-host 0.0.0.0 dfs.namenode.datanode.registration.ip-hostname-check false \
        dfs.datanode.du.reserved '${howdah.reserved}' dfs.datanode.data.dir '${howdah.data}' \
        ${tiers[@]+"${tiers[@]}"} dfs.namenode.safemode.extension 0 \
        dfs.client.read.shortcircuit false dfs.domain.socket.path ''
}

# configured FILE NAME: of the job's configuration.
configured() {
    (
        # shellcheck source=dist/libexec/hadoop.sh
        . "$HOWDAH_HOME/libexec/hadoop.sh"
        HADOOP_CONF_DIR=$JOB/conf
        site_value "$@"
    )
}

# find_pages: NAMENODE and RESOURCEMANAGER, host and port that answer HTTP.
find_pages() {
    [[ $(configured hdfs-site.xml dfs.http.policy) != HTTPS_ONLY && $(configured yarn-site.xml yarn.http.policy) != HTTPS_ONLY ]] ||
        fail "the daemons of a job are asked over HTTP, which HTTPS_ONLY forbids" "leave dfs.http.policy and yarn.http.policy as they are"
    NAMENODE=$(configured hdfs-site.xml dfs.namenode.http-address)
    RESOURCEMANAGER=$(configured yarn-site.xml yarn.resourcemanager.webapp.address)
    NAMENODE=$MASTER:${NAMENODE##*:} RESOURCEMANAGER=$MASTER:${RESOURCEMANAGER##*:}
}

# live_datanodes: their host names, a line each; fails while the NameNode does not answer or is in safe mode.
live_datanodes() {
    local bean
    bean=$(http GET "$NAMENODE" '/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo') || return 1
    grep -q '"Safemode" : ""' <<<"$bean" || return 1
    grep '"LiveNodes"' <<<"$bean" | grep -oE '\\"[^"\\]+\\":\{\\"infoAddr' | sed -e 's/^\\"//' -e 's/:[0-9]*\\".*//' -e 's/\\".*//' || true
}

# node_managers: name, state and health of each, a line each.
node_managers() {
    local bean
    bean=$(http GET "$RESOURCEMANAGER" '/jmx?qry=Hadoop:service=ResourceManager,name=RMNMInfo') || return 1
    grep '"LiveNodeManagers"' <<<"$bean" | sed -e 's/},{/}\n{/g' -e 's/\\//g' |
        sed -n 's/.*"HostName":"\([^"]*\)".*"State":"\([^"]*\)".*"HealthReport":"\([^"]*\)".*/\1 \2 \3/p'
}

hdfs_ready() {
    local names
    has_hdfs || return 0
    names=$(live_datanodes) && [ "$(grep -c . <<<"$names")" -ge "$WORKERS" ]
}

# tasks_ready: YARN, or in the mode spark-standalone Spark's own master and workers.
tasks_ready() { if [ "$MODE" = spark-standalone ]; then spark_ready; else yarn_ready; fi; }

yarn_ready() {
    local nodes
    nodes=$(node_managers) && [ "$(grep -c ' RUNNING ' <<<"$nodes ")" -ge "$WORKERS" ]
}

# make_folders: /tmp and the user's own in HDFS.
make_folders() {
    local user
    has_hdfs || return 0
    user=$(id -un)
    make_hdfs_folder "$NAMENODE" "$user" /tmp 1777 && make_hdfs_folder "$NAMENODE" "$user" "/user/$user"
}

# node_name INDEX: the host name of a node, if that has said it, else the batch system's name.
node_name() {
    local name=${HOSTS[$1]}
    # shellcheck source=/dev/null
    [ ! -r "$JOB/run/node-$1" ] || . "$JOB/run/node-$1"
    printf '%s\n' "$name"
}

# count_up TEXT NAME: TEXT has a host and perhaps a state in each line; adds one to the entries of a host that is up in the associative
# array NAME, with its domain and without.
count_up() {
    local -n up_of=$2
    local host state
    while read -r host state _; do
        case $state in '' | RUNNING | ALIVE) ;; *) continue ;; esac
        while [ -n "$host" ]; do
            # shellcheck disable=SC2004 # an associative array
            up_of[$host]=$((${up_of[$host]:-0} + 1))
            [[ $host == *.* ]] || break
            host=${host%.*}
        done
    done <<<"$1"
}

# missing_daemons: each daemon that is not there yet, with the last error of its log; of so many nodes that they are read.
missing_daemons() {
    local index live='' tasks scheduler=resourcemanager worker=nodemanager first shown=0 most=20
    local -A datanodes=() managers=()
    ! has_hdfs || live=$(live_datanodes) || live=-
    if [ "$MODE" = spark-standalone ]; then
        scheduler=master worker=worker
        tasks=$(spark_workers) || tasks=-
    else
        tasks=$(node_managers) || tasks=-
    fi
    first=$(node_name 0)
    [ "$live" != - ] || printf '  namenode on %s: %s\n' "$first" "$(reason "$JOB/logs" namenode "$first")"
    [ "$tasks" != - ] || printf '  %s on %s: %s\n' "$scheduler" "$first" "$(reason "$JOB/logs" "$scheduler" "$first")"
    count_up "$live" datanodes
    count_up "$tasks" managers
    for index in "${!HOSTS[@]}"; do
        if [ "$shown" -ge "$most" ]; then printf '  and perhaps others: logs are in %s/logs\n' "$JOB"; return; fi
        missing_on_node "$index" || shown=$((shown + 1))
    done
}

# missing_on_node INDEX: what is missing there, of missing_daemons' arrays; fails if something is.
missing_on_node() {
    local name='' address='' containers=0 runners=0 there status=0
    # shellcheck source=/dev/null
    [ ! -r "$JOB/run/node-$1" ] || . "$JOB/run/node-$1"
    if [ -z "$name" ]; then printf '  %s: the node has not started yet: see %s/logs\n' "${HOSTS[$1]}" "$JOB"; return 1; fi
    [ "$containers" -gt 0 ] || return 0
    if has_hdfs && [ "$live" != - ] && [ -z "${datanodes[$name]:-}" ]; then
        printf '  datanode on %s: %s\n' "$name" "$(reason "$JOB/logs" datanode "$name")"
        status=1
    fi
    [ "$tasks" != - ] || return "$status"
    there=${managers[$name]:-0}
    [ "$address" = "$name" ] || there=$((there + ${managers[$address]:-0}))
    if [ "$there" -lt $((runners > 0 ? runners : 1)) ]; then
        missing_worker "$worker" "$name" "$tasks" "$runners"
        status=1
    fi
    return "$status"
}

# missing_worker DAEMON NAME STATES RUNNERS: an unhealthy NodeManager has told the ResourceManager why. Of several workers of Spark on a
# node all are shown.
missing_worker() {
    local health i
    if [ "$4" -gt 1 ]; then
        for ((i = 0; i < $4; i++)); do printf '  %s-%d on %s: %s\n' "$1" "$i" "$2" "$(reason "$JOB/logs" "$1-$i" "$2")"; done
        return
    fi
    health=$(grep -E "^$2(\.[^ ]*)? UNHEALTHY" <<<"$3" | cut -d' ' -f3-) || true
    if [ -n "$health" ]; then
        printf '  %s on %s: %s -> %s\n' "$1" "$2" "$health" "$(remedy "$health" || echo 'see its log')"
    else
        printf '  %s on %s: %s\n' "$1" "$2" "$(reason "$JOB/logs" "$1" "$2")"
    fi
}
