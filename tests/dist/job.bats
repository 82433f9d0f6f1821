#!/usr/bin/env bats
# shellcheck disable=SC2016 # expanded by another shell
# What the scripts for jobs of Slurm and PBS work out before a daemon runs. Whole jobs: tests/packages/batch.bats.

bats_require_minimum_version 1.5.0

load tree

setup_file() { find_built_tree; }

setup() { ROOM=$BATS_TEST_TMPDIR; }

# with_job BASH-TEXT: runs it where job.sh has been read, as a job of Slurm with stand-ins for its commands.
with_job() {
    mkdir -p "$ROOM/bin" "$ROOM/local"
    printf '#!/usr/bin/env bash\ncase "$1 $2" in "show hostnames") tr , "\\n" <<<"$3" ;; "show job") echo "${SCONTROL_JOB:-}" ;; *) exit 1 ;; esac\n' >"$ROOM/bin/scontrol"
    chmod +x "$ROOM/bin/scontrol"
    env PATH="$ROOM/bin:$PATH" HOWDAH_JOB_LOCAL="${HOWDAH_JOB_LOCAL-$ROOM/local}" bash -c '
        . "$1/share/slurm-pbs/job.sh"
        HOWDAH_HOME=$1 MODE=plain RAM="" SSD="" HDD="" SHARED="" ALL_WORK="" SUBMITTED=/submitted SHARED_DATA="" SHARED_LOCAL="" TOPOLOGY="" OWN_SHARED=""
        CORE_SITE=() HDFS_SITE=() MAPRED_SITE=() YARN_SITE=() SPARK_PROPERTIES=()
        eval "$2"' job "$TREE" "$1"
}

@test "the allocation: nodes, memory and processors of Slurm, whatever other jobs' variables say" {
    export SLURM_JOB_NODELIST=n1,n2,n3 SLURM_JOB_ID=7 SLURM_JOB_CPUS_PER_NODE='4(x2),8' SLURM_MEM_PER_CPU=9 SLURM_MEM_PER_NODE=9
    local show='find_allocation slurm; choose_sizes; echo "$JOB_ID ${HOSTS[*]} ${CORES[*]} ${MEMORY[*]}"'
    SCONTROL_JOB='   MinCPUsNode=1 MinMemoryNode=3000M MinTmpDiskNode=0' run -0 with_job "$show"
    [ "$output" = '7 n1 n2 n3 4 4 8 3000 3000 3000' ]
    SCONTROL_JOB='MinMemoryCPU=1.50G' run -0 with_job "$show"
    [ "$output" = '7 n1 n2 n3 4 4 8 6144 6144 12288' ]
    SCONTROL_JOB='MinMemoryNode=0' run -0 with_job "$show"
    [ "$output" = '7 n1 n2 n3 4 4 8 0 0 0' ]
    HOWDAH_JOB_MEMORY=100 HOWDAH_JOB_CORES=3 run -0 with_job "$show"
    [ "$output" = '7 n1 n2 n3 3 3 3 100 100 100' ]
    HOWDAH_JOB_MEMORY=4G fails_with 'HOWDAH_JOB_MEMORY=4G is not a number' with_job "$show"
}

@test "the allocation: nodes of PBS, and an array's id that makes a folder's name" {
    printf 'n1\nn1\n\nn2\n' >"$ROOM/nodes"
    PBS_NODEFILE=$ROOM/nodes PBS_JOBID='42[3].head' NCPUS=6 run -0 with_job 'find_allocation pbs; echo "$JOB_ID ${HOSTS[*]} ${CORES[*]}"'
    [ "$output" = '42_3_.head n1 n2 6 6' ]
}

@test "limits of cgroups count, of both versions, and of the groups above" {
    mkdir -p "$ROOM"/v2/job/step "$ROOM"/v1/memory/job "$ROOM"/v1/cpu,cpuacct/job
    echo max >"$ROOM/v2/job/step/memory.max"
    echo 1073741824 >"$ROOM/v2/job/memory.max"
    echo '100000 100000' >"$ROOM/v2/job/cpu.max"
    echo 0::/job/step >"$ROOM/groups2"
    run -0 with_job "node_memory 0 $ROOM/groups2 $ROOM/v2; node_memory 512 $ROOM/groups2 $ROOM/v2; node_cores 0 $ROOM/groups2 $ROOM/v2"
    [ "$(xargs <<<"$output")" = '1024 512 1' ]
    echo 2147483648 >"$ROOM/v1/memory/job/memory.limit_in_bytes"
    echo 50000 >"$ROOM/v1/cpu,cpuacct/job/cpu.cfs_quota_us"
    printf '5:memory:/job\n4:cpu,cpuacct:/job\n' >"$ROOM/groups1"
    run -0 with_job "node_memory 0 $ROOM/groups1 $ROOM/v1; node_cores 0 $ROOM/groups1 $ROOM/v1"
    [ "$(xargs <<<"$output")" = '2048 1' ]
}

@test "the first node works where that pays, and where an option says so" {
    # work VARIABLE=VALUE...: what is chosen in a job of PBS on three large nodes, with these changes.
    work() { with_job "node_memory() { echo \"\$1\"; }; node_cores() { echo \"\$1\"; }; KIND=pbs HOSTS=(a b c) MEMORY=(64000 0 0) CORES=(16 0 0); $*; choose_work \$KIND; echo \"[\$ALL_WORK]\"" </dev/null; }
    local change chosen
    while read -r chosen change; do
        run -0 work "$change"
        [ "$output" = "[${chosen#-}]" ] || { echo "$change: $output, not $chosen" && return 1; }
    done <<'CASES'
yes true
no ALL_WORK=no
- HOSTS+=(d e f g h i)
- CORES=(7 0 0)
- MEMORY=(16000 0 0)
yes MEMORY=(16000 0 0) MODE=lustre-only
yes ALL_WORK=yes CORES=(2 0 0)
- KIND=slurm
yes KIND=slurm SLURMD_NODENAME=a
CASES
    run -0 with_job 'read_options --masters-only true; echo "$ALL_WORK"'
    [ "$output" = no ]
}

@test "names that would become other folders, hosts or options are refused" {
    local name
    for name in 'a b' a,b a%b 'a#b' 'a;b' a:b relative; do
        [ "$name" = relative ] || name=/tmp/$name
        HOWDAH_JOB_LOCAL=$name fails_with "the folder for data, $name, has a character" with_job 'HOSTS=(n1); check_names'
    done
    fails_with 'cannot be in /x/a:b, whose name' with_job 'HOSTS=(n1); SUBMITTED=/x/a:b; check_names'
    fails_with 'the node n_2 has a name' with_job 'HOSTS=(n1 n_2); check_names'
    run -0 with_job 'HOSTS=(n1 n2.site.org 10.0.0.1); SUBMITTED="/x/a b%"; check_names'
}

@test "a mode that is not there is refused by its name, as are folders that are of no use" {
    local mode
    fails_with 'the mode hhh-l-bb is not in this release' with_job 'MODE=hhh-l-bb; choose_mode'
    fails_with 'the mode fast is not known' with_job 'MODE=fast; choose_mode'
    fails_with 'add --mode hhh' with_job 'RAM=/dev/shm; choose_mode'
    fails_with '--ssd /a b has a character' with_job 'SSD="/a b"; choose_mode'
    fails_with '--hdd /a,b has a character' with_job 'HDD=/a,b; choose_mode'
    fails_with "--shared $ROOM/none is not a folder" with_job "SHARED=$ROOM/none; choose_mode"
    fails_with "--shared $ROOM,/dev is a list" with_job "SHARED=$ROOM,/dev; choose_mode"
    for mode in hhh-l lustre-local lustre-only; do
        fails_with "the mode $mode keeps data on a shared file system, and none is named" with_job "MODE=$mode; choose_mode"
    done
    fails_with "folders of nodes' own disks (/disk) are of no use in the mode lustre-only" with_job "MODE=lustre-only SHARED=$ROOM HDD=/disk; choose_mode"
    fails_with 'HOWDAH_JOB_TOPOLOGY: /none.xml cannot be read' with_job 'HOWDAH_JOB_TOPOLOGY=/none.xml; choose_topology'
}

@test "HiBD's variables name the folders, options go before them" {
    export RAMDISK_PATH=/r SSD_PATH=/s HDD_PATH=/h1,/h2 LUSTRE_PATH=$ROOM
    run -0 with_job 'MODE=hhh SSD=/mine; choose_mode; echo "$RAM $SSD $HDD $SHARED"'
    [ "$output" = "/r /mine /h1,/h2 $ROOM" ]
    run -0 with_job 'MODE=hhh-m; choose_mode; echo "$RAM"'
    [ "$output" = /r ]
    run -0 with_job 'MODE=hhh-l; choose_mode; echo "$RAM $SHARED"'
    [ "$output" = "/r $ROOM" ]
    run -0 with_job 'choose_mode; echo "$RAM $SSD"' # a site may set them for all
    [ "$output" = ' /s' ]
    run -0 with_job 'MODE=mrlustre-local; choose_mode; echo "$MODE $SSD $HDD $SHARED"'
    [ "$output" = "lustre-local /s /h1,/h2 $ROOM" ]
    run -0 with_job 'MODE=mrlustre-lustre; choose_mode; echo "$MODE <$SSD$HDD> $SHARED"'
    [ "$output" = "lustre-only <> $ROOM" ]
}

@test "HiBD's file of settings becomes site files" {
    printf '# comment\n\nC\tfs.trash.interval\t10\nH dfs.blocksize 1m\r\nM a.b  one  <two>&\nH dfs.memory.storage /r\nY yarn.x y' >"$ROOM/settings"
    run -0 with_job "read_settings $ROOM/settings; write_settings $ROOM/site; echo \"\$RAM\""
    [ "$output" = /r ]
    value() { xmllint --xpath "string(//property[name='$2']/value)" "$ROOM/site/$1-site.xml"; }
    [ "$(value core fs.trash.interval) $(value hdfs dfs.blocksize) $(value mapred a.b) $(value yarn yarn.x)" = '10 1m one  <two>& y' ]
    printf 'C a b\nhdfs dfs.blocksize 1m\n' >"$ROOM/settings"
    fails_with "line 2 of $ROOM/settings is not" with_job "read_settings $ROOM/settings"
    fails_with "$ROOM/none cannot be read" with_job "read_settings $ROOM/none"
}

@test "a job's template: what each node says of itself, its RAM in a storage mode only" {
    value() { xmllint --xpath "string(//property[name='$2']/value)" "$ROOM/site/$1-site.xml"; }
    run -0 with_job "HOSTS=(n1) MASTER=n1 MEMORY=(3000) CORES=(2) LOCAL=$ROOM; write_template $ROOM/site"
    [ "$(value yarn yarn.nodemanager.hostname)" = '${howdah.address}' ]
    [ -z "$(value hdfs dfs.rdma.memory.capacity)" ]
    rm -r "$ROOM/site"
    run -0 with_job "MODE=hhh-m HOSTS=(n1) MASTER=n1 MEMORY=(3000) CORES=(2) LOCAL=$ROOM RAM=/dev/shm; write_template $ROOM/site"
    [ "$(value hdfs dfs.rdma.memory.capacity)" = '${howdah.ram}' ]
    rm -r "$ROOM/site"
    run -0 with_job "MODE=lustre-only HOSTS=(n1) MASTER=n1 MEMORY=(3000) CORES=(2) LOCAL=$ROOM SHARED=$ROOM; write_template $ROOM/site"
    [ ! -e "$ROOM/site/hdfs-site.xml" ]
    [ "$(value yarn yarn.nodemanager.local-dirs) $(value yarn yarn.nodemanager.log-dirs)" = '${howdah.data} ${howdah.logs}' ]
}

@test "without HDFS nothing is copied into it, and a node has its part of the shared folder" {
    fails_with 'the mode lustre-local has no HDFS, so --in and --out have nothing' with_job 'MODE=lustre-local INPUTS=(a=/b) OUTPUTS=(); check_staging'
    fails_with 'the mode lustre-only has no HDFS, so --in and --out have nothing' with_job 'MODE=lustre-only INPUTS=() OUTPUTS=(/a=b); check_staging'
    run -0 with_job 'MODE=lustre-only LOCAL=/l SHARED=/x/ RUN=7 index=1; data_roots; data_folders; container_logs'
    [ "$(xargs <<<"$output")" = '/l /x file:///x/howdah-7-1/data-shared /x/howdah-7-1/logs' ]
    run -0 with_job 'MODE=lustre-local LOCAL=/l SHARED=/x SSD=/s HDD=/h RUN=7 index=1 local_folder=/l/howdah-7-1; data_roots; data_folders; container_logs'
    [ "$(xargs <<<"$output")" = '/l /s /h file:///s/howdah-7-1/data-ssd,file:///h/howdah-7-1/data-hdd /l/howdah-7-1/yarn/logs' ]
    # On a tmpfs, too, the disk of a node has nothing that counts as memory.
    run -0 with_job 'in_memory() { true; }; free_space() { echo 9; }; LOCAL=/tmp; for MODE in lustre-local lustre-only; do ram_space; done'
    [ "$(xargs <<<"$output")" = '9 0' ]
}

@test "a signal while a folder is made leaves nothing; a folder of another job stays" {
    local job="LOCAL=$ROOM/local RUN=7 OWN_LOCAL='' JOB=$ROOM/none HOSTS=(a) STOP='' COMMAND_PID='' NODE_PIDS=(); trap stop_nodes EXIT"
    run with_job "$job; claim() { kill -TERM \$\$; mkdir \"\$1\"; }; make_own_folder; echo never"
    [ "$status" -eq 143 ]
    [ -z "$output" ]
    [ -z "$(ls -A "$ROOM/local")" ]
    mkdir "$ROOM/local/howdah-7-command"
    fails_with 'cannot write to its disk' with_job "$job; make_own_folder"
    [ -d "$ROOM/local/howdah-7-command" ]
}

@test "a job that is cancelled removes its own folder before it waits for a node that does not answer" {
    mkdir -p "$ROOM/local/own"
    sleep 600 3>&- &
    local node=$! job
    with_job "JOB=$ROOM/none HOSTS=(a) STOP='' COMMAND_PID='' NODE_PIDS=($node) OWN_LOCAL=$ROOM/local/own; stop_nodes" 3>&- &
    job=$!
    until [ ! -e "$ROOM/local/own" ]; do kill -0 "$job"; sleep 0.1; done
    kill -0 "$node" # the job still waits for it
    kill "$node"
    wait "$job"
}

@test "a node that is told to end, with all that it has started, cleans up and says so" {
    local home=$ROOM/tree node status stop round
    mkdir -p "$home/bin" "$home/share" "$ROOM/local"
    ln -s "$TREE/share/slurm-pbs" "$home/share/slurm-pbs"
    printf '#!/bin/bash\ncase "$*" in *-format*) exit ;; esac\ntouch %q/up-"$3"\nexec sleep 600\n' "$ROOM" >"$home/bin/hdfs"
    cp "$home/bin/hdfs" "$home/bin/yarn"
    printf '#!/bin/bash\n' >"$home/bin/howdah"
    chmod +x "$home"/bin/*
    printf 'HOWDAH_HOME=%q JOB=%q RUN=7 LOCAL=%q NODES=2 ALL_WORK= MODE=plain MASTER=n1 RAM= SSD= HDD= SHARED_DATA= SHARED_LOCAL= TOPOLOGY=\nMEMORY=(4000) CORES=(1)\n' \
        "$home" "$ROOM/job" "$ROOM/local" >"$ROOM/settings"
    mkfifo "$ROOM/stop"
    exec {stop}<>"$ROOM/stop"
    # An exit from within read -t ends bash 5.2 by SIGSEGV, most times but not each time.
    for round in 1 2 3; do
        rm -rf "$ROOM/job" "$ROOM"/up-*
        mkdir -p "$ROOM"/job/{run,logs}
        setsid bash "$home/share/slurm-pbs/node.sh" "$ROOM/settings" 0 <&"$stop" >"$ROOM/out" 2>&1 3>&- &
        node=$! status=0
        until [ -e "$ROOM/up-namenode" ] && [ -e "$ROOM/up-resourcemanager" ]; do kill -0 "$node"; sleep 0.05; done
        sleep "0.$round" # somewhere in its wait
        kill -TERM -- "-$node"
        until [ -e "$ROOM/job/run/stopped-0" ]; do kill -0 "$node"; sleep 0.05; done
        sleep 0.5
        touch "$ROOM/job/run/stopped-1" # the other node
        wait "$node" || status=$?
        cat "$ROOM/out"
        echo "round $round: $status"
        [ "$status" -eq 143 ]
        [ -z "$(ls -A "$ROOM/local")" ]
        [ -e "$ROOM/job/run/times-0" ]
    done
}

@test "a cluster is found ready over HTTP, without a JVM of a command for it" {
    # What daemons of two nodes say; HOWDAH_HOME has no command that could be run.
    local answers='http() { printf "%s\n" "$1 $2 $3" >>'"$ROOM"'/asked
        case $3 in
            *NameNodeInfo) printf "%s\n" "\"Safemode\" : \"\"," "\"LiveNodes\" : \"{\\\"n1:50010\\\":{\\\"infoAddr\\\":0},\\\"n2:50010\\\":{\\\"infoAddr\\\":0}}\"" ;;
            *RMNMInfo) printf "%s\n" "\"LiveNodeManagers\" : \"[{\\\"HostName\\\":\\\"n1\\\",\\\"State\\\":\\\"RUNNING\\\",\\\"HealthReport\\\":\\\"\\\"},{\\\"HostName\\\":\\\"n2\\\",\\\"State\\\":\\\"$STATE\\\",\\\"HealthReport\\\":\\\"\\\"}]\"" ;;
        esac; }
        HOWDAH_HOME=/nonexistent NAMENODE=m:50070 RESOURCEMANAGER=m:8088 HOSTS=(n1 n2)'
    STATE=RUNNING run -0 with_job "$answers WORKERS=2; hdfs_ready && tasks_ready && make_folders && echo ready"
    [ "$output" = ready ]
    grep -qx 'PUT m:50070 /webhdfs/v1/tmp?op=MKDIRS&permission=1777&user.name=.*' "$ROOM/asked"
    STATE=UNHEALTHY run -1 with_job "$answers WORKERS=2; tasks_ready"
    STATE=RUNNING run -1 with_job "$answers WORKERS=3; hdfs_ready"
}

@test "daemons that are missing are named, under whatever name they would be known, of twenty nodes at most" {
    local i answers
    mkdir -p "$ROOM"/{run,logs}
    for i in 0 1 2 3 4; do
        echo "name=n$i address=10.0.0.$i containers=$((i ? 1000 : 0)) runners=0" >"$ROOM/run/node-$i"
    done
    answers="JOB=$ROOM; live_datanodes() { printf 'n%s\n' 1 2.site.org 4; }
        node_managers() { printf '%s\n' '10.0.0.1 RUNNING ' 'n2.site.org RUNNING ' 'n3 RUNNING ' 'n4 UNHEALTHY 1/1 local-dirs are bad: /x'; }"
    run -0 with_job "$answers; HOSTS=(n0 n1 n2 n3 n4 n5); missing_daemons"
    echo "$output"
    [ "${lines[0]}" = "  datanode on n3: it has no log in $ROOM/logs" ]
    [[ ${lines[1]} == "  nodemanager on n4: 1/1 local-dirs are bad: /x -> the node's disk is full or broken"* ]]
    [ "${lines[2]}" = "  n5: the node has not started yet: see $ROOM/logs" ]
    [ "${#lines[@]}" -eq 3 ]
    # Of many nodes not all are asked for: it is read by people, and the job waits meanwhile.
    run -0 with_job "$answers; for ((i = 0; i < 1000; i++)); do HOSTS[i]=n\$i; done; missing_daemons"
    [ "${#lines[@]}" -eq 21 ]
    [ "${lines[20]}" = "  and perhaps others: logs are in $ROOM/logs" ]
    # Of several workers of Spark on a node each has to be there.
    sed -i s/runners=0/runners=2/ "$ROOM/run/node-1"
    run -0 with_job "MODE=spark-standalone $answers; spark_workers() { printf '10.0.0.1 %s\n' ALIVE DEAD; }; HOSTS=(n0 n1); missing_daemons"
    echo "$output"
    [[ $output == *'worker-0 on n1: '*'worker-1 on n1: '* ]]
    run -0 with_job "MODE=spark-standalone $answers; spark_workers() { printf '10.0.0.1 %s\n' ALIVE ALIVE; }; HOSTS=(n0 n1); missing_daemons"
    [ -z "$output" ]
}

@test "the NameNode is formatted while the other daemons start" {
    local home=$ROOM/tree node stop
    mkdir -p "$home/bin" "$home/share" "$ROOM"/{local,job/run,job/logs}
    ln -s "$TREE/share/slurm-pbs" "$home/share/slurm-pbs"
    # Formatting ends when all others are up, and the NameNode comes after it.
    printf '#!/bin/bash\ncase "$*" in
        *-format*) until [ -e %q/up-resourcemanager ] && [ -e %q/up-datanode ] && [ -e %q/up-nodemanager ]; do sleep 0.05; done; touch %q/formatted; exit ;;
        *namenode) [ -e %q/formatted ] || exit 1 ;;
    esac\ntouch %q/up-"$3"\nexec sleep 600\n' "$ROOM" "$ROOM" "$ROOM" "$ROOM" "$ROOM" "$ROOM" >"$home/bin/hdfs"
    cp "$home/bin/hdfs" "$home/bin/yarn"
    printf '#!/bin/bash\n' >"$home/bin/howdah"
    chmod +x "$home"/bin/*
    printf 'HOWDAH_HOME=%q JOB=%q RUN=7 LOCAL=%q NODES=1 ALL_WORK= MODE=plain MASTER=n1 RAM= SSD= HDD= SHARED_DATA= SHARED_LOCAL= TOPOLOGY=\nMEMORY=(4000) CORES=(1)\n' \
        "$home" "$ROOM/job" "$ROOM/local" >"$ROOM/settings"
    mkfifo "$ROOM/stop"
    exec {stop}<>"$ROOM/stop"
    bash "$home/share/slurm-pbs/node.sh" "$ROOM/settings" 0 <"$ROOM/stop" {stop}>&- >"$ROOM/out" 2>&1 3>&- &
    node=$!
    until [ -e "$ROOM/up-namenode" ]; do kill -0 "$node" || { cat "$ROOM/out"; return 1; }; sleep 0.05; done
    exec {stop}>&-
    wait "$node"
    [ -z "$(ls -A "$ROOM/local")" ]
}

@test "what cannot be copied in or out is named before anything starts" {
    export SLURM_SUBMIT_DIR=$ROOM
    touch "$ROOM/there"
    fails_with '--in there is not SOURCE=/PATH-IN-HDFS' with_job 'INPUTS=(there) OUTPUTS=(); check_staging'
    fails_with "--in: $ROOM/gone is not there" with_job 'INPUTS=(gone=/x) OUTPUTS=(); check_staging'
    fails_with '--out there=/x is not /PATH-IN-HDFS=TARGET' with_job 'INPUTS=() OUTPUTS=(there=/x); check_staging'
    fails_with "--out: $ROOM/there is there already" with_job 'INPUTS=() OUTPUTS=(/x=there); check_staging'
    fails_with '--out: /proc/none/x cannot be made' with_job 'INPUTS=() OUTPUTS=(/x=/proc/none/x); check_staging'
    run -0 with_job 'INPUTS=(there=/x/y) OUTPUTS=(/x=new); check_staging'
}

@test "the price of a job goes by nodes and seconds, its processor time is the sum of all" {
    mkdir -p "$ROOM/run"
    printf '0m9.000s 0m9.000s\n1m1.500s 0m2.000s\n' >"$ROOM/run/times-0"
    printf '0m9.000s 0m9.000s\n0m0.500s 0m1.000s\n' >"$ROOM/run/times-command"
    HOWDAH_JOB_PRICE=1.8 run -0 with_job "JOB=$ROOM HOSTS=(a b); SECONDS=1000; show_use"
    [ "$output" = 'howdah job: 2000 node-seconds (2 nodes, 1000 s), 65 processor-seconds, price 1.0000' ]
    [ "$(cat "$ROOM/use")" = 'nodes=2 seconds=1000 node_seconds=2000 processor_seconds=65' ]
}

@test "folders are probed: there, to be written, in RAM, on a disk that turns" {
    run -0 with_job "RAM=/dev/shm,$ROOM SSD=$ROOM/none HDD=/proc; probe_storage"
    [[ ${lines[0]} == "--ram $ROOM is on "*', not in RAM'* ]]
    [ "${lines[1]}" = "--ssd $ROOM/none is not a folder of this node" ]
    [ "${lines[2]}" = '--hdd /proc cannot be written on this node' ]
    [ "${#lines[@]}" -eq 3 ]
    [ -z "$(find /dev/shm "$ROOM" -maxdepth 1 -name '.howdah-*')" ]
    # A partition's file is its disk's.
    local device
    device=$(findmnt -n -o MAJ:MIN -T "$ROOM" | tr -d ' ')
    mkdir -p "$ROOM/disk/part" "$ROOM/disk/queue" "$ROOM/blocks"
    ln -s ../disk/part "$ROOM/blocks/$device"
    echo 1 >"$ROOM/disk/queue/rotational"
    run -0 with_job "rotates $ROOM $ROOM/blocks"
    echo 0 >"$ROOM/disk/queue/rotational"
    run -1 with_job "rotates $ROOM $ROOM/blocks"
}

@test "the shared folder is probed where the job has copies on it: written, and on a file system that nodes share" {
    local probe='MODE=hhh-l SHARED_DATA=/dev/shm/copies-$$; mkdir $SHARED_DATA; probe_shared; SHARED_LOCAL=true; probe_shared; rmdir $SHARED_DATA'
    run -0 with_job "$probe"
    [ "$output" = '--shared /dev/shm is on tmpfs, which only one node has: name a folder of Lustre or of another shared file system' ]
    run -0 with_job 'MODE=hhh-l SHARED_DATA=/nonexistent/copies; probe_shared'
    [ "$output" = '--shared /nonexistent cannot be written on this node' ]
    run -0 with_job 'MODE=hhh SHARED_DATA=""; probe_shared'
    [ -z "$output" ]
    # What stat calls other file systems than these is taken for shared.
    run -0 with_job 'for type in lustre nfs gpfs beegfs fuseblk ceph; do stat() { echo $type; }; ! on_one_node /x || echo $type; done
        for type in ext2/ext3 xfs overlayfs; do stat() { echo $type; }; on_one_node /x || echo $type; done'
    [ -z "$output" ]
}

@test "a node that does not see the job's folder names it" {
    run -1 bash "$TREE/share/slurm-pbs/node.sh" "$ROOM/gone/howdah-job-7/settings" 1
    [ "$output" = "$(uname -n): the folder $ROOM/gone, which the job's is in, is not there: name one that all nodes see (--shared), or submit from there" ]
    mkdir "$ROOM/gone"
    run -1 bash "$TREE/share/slurm-pbs/node.sh" "$ROOM/gone/howdah-job-7/settings" 1
    [[ $output == *"the folder $ROOM/gone is another one here than on the first node, whose howdah-job-7 it lacks: "* ]]
}

@test "Spark's workers of a node: one for each NUMA node, bound to it, with the memory that more JVMs leave" {
    local work='. "$HOWDAH_HOME/share/slurm-pbs/workers.sh"; MODE=spark-standalone workers=(hdfs:datanode spark:worker) warnings=() roles=(0 2 0 0) BINDINGS=()'
    # shellcheck disable=SC2153 # set by find_built_tree
    topology() { echo "$ROOT/java/cluster/src/test/resources/topologies/$1.xml"; }
    mkdir -p "$ROOM/bin"
    printf '#!/bin/bash\nshift 2; exec "$@"\n' >"$ROOM/bin/numactl"
    chmod +x "$ROOM/bin/numactl"
    local show='place_workers; printf "%s\n" "${PLAN[@]}" "${BINDINGS[@]}" "${workers[*]}" "$((BEFORE - CONTAINERS)) $((WORKER_HEAP + 160)) $executor_cores $executor_heap $executor_engine"'
    run -0 with_job "$work memory=60000 cores=99 TOPOLOGY=$(topology x86-2x12); plan_node 60000 0 2 0 0; BEFORE=\$CONTAINERS; $show"
    echo "$output"
    [[ ${lines[0]} == '0 0-11,24-35 3 8 '* ]]
    [[ ${lines[1]} == '1 12-23,36-47 3 8 '* ]]
    [ "${lines[2]}" = 'numactl --physcpubind=0-11,24-35 --membind=0' ]
    [ "${lines[3]}" = 'numactl --physcpubind=12-23,36-47 --membind=1' ]
    [ "${lines[4]}" = 'hdfs:datanode spark:worker-0 spark:worker-1' ]
    # The second worker's JVM takes what a JVM takes.
    read -r less jvm cores heap engine <<<"${lines[5]}"
    [ "$less" -eq "$jvm" ]
    [ "$cores" -eq 8 ]
    over=$((heap / 10 > 384 ? heap / 10 : 384))
    [ "$engine" -ge $((heap / 5)) ]
    [ $((6 * (heap + over + engine - over / 3))) -le 60000 ]
    # One NUMA node: one worker, not bound.
    run -0 with_job "$work memory=8000 cores=99 TOPOLOGY=$(topology hwloc1-1x4); plan_node 8000 0 2 0 0; place_workers; echo \"\${PLAN[0]}, \${BINDINGS[0]}, \${workers[*]}\""
    echo "$output"
    [[ $output == '- 0-3 '*', , hdfs:datanode spark:worker' ]]
    # Processors that are not there: a warning, and no binding.
    printf '#!/bin/bash\nexit 1\n' >"$ROOM/bin/numactl"
    cp "$ROOM/bin/numactl" "$ROOM/bin/taskset"
    run -0 with_job "$work memory=60000 cores=99 TOPOLOGY=$(topology x86-2x12); plan_node 60000 0 2 0 0; place_workers; printf '%s\n' \"\${BINDINGS[*]}.\" \"\${warnings[@]}\""
    [ "${lines[0]}" = ' .' ]
    [ "${lines[1]}" = 'warning: a worker of Spark cannot be bound to processors 0-11,24-35 of NUMA node 0: it runs on all' ]
    # Too little memory: what howdah spark plan says.
    run with_job "$work memory=1500 cores=99 TOPOLOGY=$(topology x86-2x12) CONTAINERS=900; place_workers"
    [ "$status" -ne 0 ]
    [[ $output == *'too few for an executor'* ]]
}

@test "processors that a job may use: the first of its own" {
    run -0 with_job '. "$HOWDAH_HOME/share/slurm-pbs/workers.sh"; first_processors 1; first_processors 100000'
    [ "${lines[0]}" = "$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status | sed 's/[,-].*//')" ]
    [ "$(tr , '\n' <<<"${lines[1]}" | wc -l)" -eq "$(env -u OMP_NUM_THREADS nproc)" ]
}

@test "folders of data: each kind tagged in the modes HHH and HHH-M, all alike without; the job's own where none is named" {
    local show='index=1 RUN=7 LOCAL=/l; data_folders'
    run -0 with_job "$show"
    [ "$output" = file:///l/howdah-7-1/data-hdd ]
    run -0 with_job "MODE=hhh RAM=/r SSD=/s HDD=/h,/i; $show"
    [ "$output" = '[RAM_DISK]file:///r/howdah-7-1/data-ram,[SSD]file:///s/howdah-7-1/data-ssd,[DISK]file:///h/howdah-7-1/data-hdd,[DISK]file:///i/howdah-7-1/data-hdd' ]
    run -0 with_job "MODE=hhh-l RAM=/r; $show"
    [ "$output" = '[RAM_DISK]file:///r/howdah-7-1/data-ram,[DISK]file:///l/howdah-7-1/data-hdd' ]
    run -0 with_job "MODE=hhh-m RAM=/r; $show"
    [ "$output" = '[RAM_DISK]file:///r/howdah-7-1/data-ram,[DISK]file:///l/howdah-7-1/data-hdd' ]
    run -0 with_job "SSD=/l HDD=/l; $show"
    [ "$output" = file:///l/howdah-7-1/data-ssd,file:///l/howdah-7-1/data-hdd ]
}

@test "memory: daemons, RAM disk and tasks never have more than the node" {
    run -0 with_job 'for memory in 1500 3000 8000 64000 512000; do for ram in 0 1000 900000; do
        plan_node $memory 2 2 1 $ram
        sum=$((2 * (MASTER_HEAP + 160) + 2 * (WORKER_HEAP + 160) + COMMAND_HEAP + 160 + DATA_MEMORY + CONTAINERS))
        [ $sum -le $memory ] && [ $DATA_MEMORY -le $ram ] || echo "$memory $ram: $sum"
        [ $memory -le 1500 ] || [ $CONTAINERS -gt 0 ] || echo "$memory $ram: nothing for tasks"
    done; done'
    [ -z "$output" ]
    run -0 with_job 'for tasks in 512 896; do plan_node "$(least_memory $tasks 2 2 1 0)" 2 2 1 0; echo $((CONTAINERS >= tasks)); done'
    [ "$output" = $'1\n1' ]
}

@test "executors fit their node" {
    run -0 with_job 'for memory in 512 1500 8000 64000 512000; do for cores in 1 2 5 6 16 80; do
        size_executors $memory $cores
        [ $((EXECUTORS * EXECUTOR_CORES)) -le $cores ] && [ $EXECUTOR_HEAP -ge 512 ] && [ $EXECUTOR_HEAP -le 31000 ] || echo "$memory $cores: $EXECUTORS $EXECUTOR_CORES $EXECUTOR_HEAP"
        over=$((EXECUTOR_HEAP / 10 > 384 ? EXECUTOR_HEAP / 10 : 384))
        [ $memory -lt 1024 ] || [ $((EXECUTORS * (EXECUTOR_HEAP + over + (EXECUTOR_ENGINE ? EXECUTOR_ENGINE - over / 3 : 0)))) -le $memory ] || echo "$memory $cores: too much"
    done; done; size_executors 64000 16; echo "$EXECUTORS $EXECUTOR_CORES"'
    [ "$output" = '4 4' ]
}

@test "executors are as the smallest node that works has them, whatever the order" {
    local order
    mkdir -p "$ROOM/run"
    echo 'memory=24000 cores=2 containers=0 runners=0 executor_cores=0 executor_heap=0 executor_engine=0' >"$ROOM/run/node-0"
    for order in '1 2' '2 1'; do
        echo 'memory=24000 cores=8 containers=20000 runners=2 executor_cores=4 executor_heap=9000 executor_engine=2700' >"$ROOM/run/node-${order% *}"
        echo 'memory=16000 cores=4 containers=11000 runners=1 executor_cores=3 executor_heap=10000 executor_engine=3000' >"$ROOM/run/node-${order#* }"
        rm -f "$ROOM/defaults"
        run -0 with_job "JOB=$ROOM MODE=spark-standalone HOSTS=(a b c) WORKERS=2 COMMAND_HEAP=700 SPARK_PROPERTIES=('spark.x y'); write_executors $ROOM/defaults"
        [ "$output" = 'howdah job: Spark: 3 workers, executors of 3 tasks at a time and 9000 MB' ]
        [ "$(grep -v ' -XX' "$ROOM/defaults" | xargs)" = 'spark.executor.cores 3 spark.executor.memory 9000m spark.shuffle.rdma.memory.limit 2700m spark.shuffle.rdma.memory.fraction 0.8 spark.driver.memory 700m spark.x y' ]
        grep -qx 'spark.executor.extraJavaOptions -XX:+UseParallelGC -XX:ParallelGCThreads=3' "$ROOM/defaults"
    done
    run -0 with_job "JOB=$ROOM HOSTS=(a b c) WORKERS=2 COMMAND_HEAP=256; write_executors $ROOM/yarn"
    grep -qx 'spark.executor.instances 2' "$ROOM/yarn"
    grep -qx 'spark.executor.memory 7349m' "$ROOM/yarn"
    grep -qx 'spark.shuffle.rdma.memory.limit 2264m' "$ROOM/yarn"
}

@test "the reason of a daemon is its last error with the cause below it, and a remedy where one is known" {
    mkdir "$ROOM/logs"
    : >"$ROOM/logs/hadoop-u-datanode-n1.out"
    printf '%s\n' '2026-01-01 00:00:00 WARN x: odd' '2026-01-01 00:00:01 ERROR x: it failed' 'java.io.IOException: outer' '	at a.b' \
        'Caused by: java.net.BindException: Address already in use: n1:50010' '2026-01-01 00:00:02 INFO x: bye' >"$ROOM/logs/hadoop-u-datanode-n1.log"
    run -0 with_job "reason $ROOM/logs datanode n1"
    [[ $output == '2026-01-01 00:00:01 ERROR x: it failed | Caused by: java.net.BindException'*'port 50010 is held by'* ]]
    printf '%s\n' 'odd start' 'Error: Could not find or load main class X' >"$ROOM/logs/hadoop-u-namenode-n1.out"
    run -0 with_job "reason $ROOM/logs namenode n1; echo; reason $ROOM/logs nodemanager n9"
    [[ ${lines[0]} == 'Error: Could not find or load main class X'* ]]
    [ "${lines[1]}" = "it has no log in $ROOM/logs" ]
}

@test "what a killed job left on this node is removed with its processes; what another holds stays" {
    local left pid
    mkdir "$ROOM/local"
    mkfifo "$ROOM/held"
    # A job that is alive, one whose process is gone, one of another node, and a folder that is not a job's.
    with_job "claim $ROOM/local/howdah-1-0; read -r _ <>$ROOM/held" 3>&- &
    until [ -e "$ROOM/local/howdah-1-0/owner" ]; do sleep 0.1; done
    with_job "claim $ROOM/local/howdah-2-0"
    with_job "claim $ROOM/local/howdah-3-0; sed -i 's/^[^ ]*/elsewhere/' $ROOM/local/howdah-3-0/owner"
    mkdir "$ROOM/local/other"
    bash -c 'read -r _ <>"$0"' "$ROOM/held" "-Dhowdah.local=$ROOM/local/howdah-2-0" 3>&- &
    left=$!
    bash -c 'read -r _ <>"$0"' "$ROOM/held" "$ROOM/local/howdah-2-0/data/x" 3>&- &
    left+=" $!"
    run -0 with_job "remove_leftovers $ROOM/local"
    echo "$output"
    [[ $output == *"removed $ROOM/local/howdah-2-0, which a job that was killed had left" ]]
    for pid in $left; do while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done; done
    [ "$(cd "$ROOM/local" && echo *)" = 'howdah-1-0 howdah-3-0 other' ]
    echo >"$ROOM/held" # the first one's end
}

@test "PBS: a shell's operators in HOWDAH_JOB are refused, words and quotes are taken" {
    : >"$ROOM/nodes"
    export HOWDAH_HOME=$TREE PBS_NODEFILE=$ROOM/nodes PBS_JOBID=1
    HOWDAH_JOB='bash -c touch x && touch outside' fails_with 'is not a list of words' env -C "$ROOM" bash "$TREE/share/slurm-pbs/howdah.pbs"
    [ ! -e "$ROOM/outside" ]
    HOWDAH_JOB='--mode "no such" x' fails_with 'the mode no such is not known' bash "$TREE/share/slurm-pbs/howdah.pbs"
}
