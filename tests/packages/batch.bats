#!/usr/bin/env bats
# A cluster inside a job: a real Slurm on three nodes with names and addresses of their own; for PBS a stand-in for qsub
# and real ssh to the same nodes.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/batch.bash"
    export ROOM=$BATS_FILE_TMPDIR/room TREE=$HOWDAH_BUILD/dist/howdah-$HOWDAH_VERSION REASON
    REASON=$(why_no_room)
    [ -z "$REASON" ] || return 0
    . "$HOWDAH_ROOT/ci/lib/sshd.sh"
    export WITHOUT_SSH='' SSHD
    SSHD=$(provide_sshd) || { WITHOUT_SSH=$SSHD SSHD=''; }
    open_room "$ROOM" "$SSHD"
    mkdir -p "$ROOM/jobs" "$ROOM/local"
    for _ in 1 2 3; do echo "camel howdah camel"; done >"$ROOM/jobs/words"
    # PBS starts a job in the home folder.
    printf 'cd %q && WORDCOUNT_OPTIONS=-Dmapreduce.job.ubertask.enable=true && . ./job.sh\n' "$ROOM/jobs" >"$ROOM/jobs/pbs.sh"
    cat >"$ROOM/jobs/job.sh" <<'SH'
set -e
hdfs dfs -put words words
hadoop jar "$HOWDAH_HOME"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar wordcount ${WORDCOUNT_OPTIONS:-} words counts
hdfs dfs -cat 'counts/part-*' >counts
hdfs dfsadmin -report -live | grep ^Hostname: | sort >nodes
SH
}

teardown_file() { [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/batch.bash"; close_room; }; }

setup() {
    . "$HOWDAH_ROOT/tests/packages/batch.bash"
    [ -z "$REASON" ] || skip "$REASON"
    export IN=$ROOM/jobs
}

# nothing_left: no daemon, no folder of data on any node.
nothing_left() {
    run in_room pgrep -x java
    [ "$status" -eq 1 ]
    [ -z "$(ls -A "$ROOM/local")" ]
}

@test "Slurm: WordCount on three nodes, RPC over the engine or sockets as it can" {
    run in_room sbatch --wait -N 3 -o out.%j "$TREE/share/slurm-pbs/howdah.sbatch" -D dfs.replication=2 bash job.sh
    cat "$ROOM"/jobs/out.*
    [ "$status" -eq 0 ]
    [ "$(xargs <"$ROOM/jobs/counts")" = 'camel 6 howdah 3' ]
    # The first node has the masters, the others the data; each is known by its own name.
    [ "$(xargs <"$ROOM/jobs/nodes")" = 'Hostname: n2 Hostname: n3' ]
    nothing_left
}

@test "Slurm: one node does it all, and the job fails as its command does" {
    run in_room sbatch --wait -N 1 -o one.%j "$TREE/share/slurm-pbs/howdah.sbatch" bash -c 'hdfs dfs -ls /user && exit 7'
    [ "$status" -eq 7 ]
    grep -q /user/root "$ROOM"/jobs/one.*
    nothing_left
}

@test "Slurm: a cancelled job stops its daemons and takes its data away" {
    local job
    job=$(in_room sbatch --parsable -N 2 -o cancelled.%j "$TREE/share/slurm-pbs/howdah.sbatch" sleep 600)
    until grep -q 'nodes in' "$ROOM/jobs/cancelled.$job" 2>/dev/null; do
        [ "$(in_room squeue -h -j "$job" -o %T)" != '' ]
        sleep 1
    done
    in_room scancel "$job"
    while [ -n "$(in_room squeue -h -j "$job")" ]; do sleep 0.5; done
    nothing_left
}

@test "Slurm: a node whose folder cannot be made is named, and nothing is left on the others" {
    local job
    job=$(in_room sbatch --hold --parsable -N 2 -o disk.%j "$TREE/share/slurm-pbs/howdah.sbatch" true)
    touch "$ROOM/local/howdah-$job-1"
    in_room scontrol release "$job"
    while [ -n "$(in_room squeue -h -j "$job")" ]; do sleep 0.5; done
    cat "$ROOM/jobs/disk.$job"
    grep -q "n2: the folder $ROOM/local/howdah-$job-1 cannot be made" "$ROOM/jobs/disk.$job"
    grep -q "howdah job: error: a node could not start its daemons" "$ROOM/jobs/disk.$job"
    rm "$ROOM/local/howdah-$job-1"
    nothing_left
}

@test "mistakes are named before anything starts" {
    run in_room bash "$TREE/share/slurm-pbs/howdah.sbatch" true
    [ "$status" -eq 1 ]
    [[ $output == *'this is no job of Slurm'* ]]
    run in_room env HOWDAH_HOME=/nonexistent bash "$TREE/share/slurm-pbs/howdah.sbatch" true
    [ "$status" -eq 1 ]
    [[ $output == *HOWDAH_HOME* ]]
    run in_room bash "$TREE/share/slurm-pbs/howdah.pbs" --nonsense
    [ "$status" -eq 1 ]
    [[ $output == *--nonsense* ]]
    run in_room sbatch --wait -N 1 -o mistake.%j "$TREE/share/slurm-pbs/howdah.sbatch" --template none true
    [ "$status" -eq 1 ]
    grep -q "no template 'none'" "$ROOM"/jobs/mistake.*
    nothing_left
}

@test "PBS: WordCount on two nodes over ssh" {
    [ -z "$WITHOUT_SSH" ] || skip "$WITHOUT_SSH"
    local ssh="ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i $ROOM/user_key"
    rm -rf "$ROOM"/jobs/{counts,nodes}
    run in_room env ROOM="$ROOM" "$HOWDAH_ROOT/tests/packages/qsub" -l select=2:ncpus=2 \
        -v "HOWDAH_HOME=$TREE,HOWDAH_JOB_RSH=$ssh,HOWDAH_JOB=--all-work bash $ROOM/jobs/pbs.sh" "$TREE/share/slurm-pbs/howdah.pbs"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(xargs <"$ROOM/jobs/counts")" = 'camel 6 howdah 3' ]
    [ "$(xargs <"$ROOM/jobs/nodes")" = 'Hostname: n1 Hostname: n2' ]
    nothing_left
}
