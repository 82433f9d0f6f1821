#!/usr/bin/env bats
# A cluster inside a job: a real Slurm on three nodes with names and addresses of their own; for PBS stand-ins for qsub and
# pbs_tmrsh and real ssh to the same nodes.

bats_require_minimum_version 1.5.0

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
    # Words and no input, as pbs_tmrsh has it.
    mkdir "$ROOM/bin" "$ROOM/ram" "$ROOM/lustre"
    # shellcheck disable=SC2016 # of the stand-in
    printf '#!/bin/bash\nn=$1; shift; exec nsenter --target "$(cat %q/"$n".pid)" --net --uts --mount env -i PATH=/usr/bin:/bin HOME=%q USER=root "$@" </dev/null\n' \
        "$ROOM" "$ROOM" >"$ROOM/bin/pbs_tmrsh"
    chmod +x "$ROOM/bin/pbs_tmrsh"
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

# What tests change on the nodes, and all that a test that failed has left.
teardown() {
    local i
    [ -z "$REASON" ] || return 0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || clear_room
    on_node 2 umount -q "$ROOM/local" || true
    on_node 2 umount -q "$ROOM/lustre" || true
    on_node 2 ip route replace 10.77.0.0/24 dev eth0 src 10.77.0.2
    on_node 2 ip addr del 10.77.0.102/24 dev eth0 2>/dev/null || true
    for i in 1 2 3; do
        cat "$ROOM/hosts" >"$ROOM/hosts-n$i"
        on_node "$i" umount -q "$ROOM/ram" || true
        on_node "$i" hostname "n$i"
    done
}

# nothing_left: no daemon, no folder of data on any node.
nothing_left() {
    run in_room pgrep -x java
    [ "$status" -eq 1 ]
    run ls -A "$ROOM/local"
    echo "left: $output"
    [ -z "$output" ]
}

# words_counted: what job.sh leaves.
words_counted() {
    [ "$(xargs <"$ROOM/jobs/counts")" = 'camel 6 howdah 3' ]
    [ "$(xargs <"$ROOM/jobs/nodes")" = "$1" ]
    rm "$ROOM"/jobs/{counts,nodes}
}

# wait_for_line FILE TEXT JOB: until the output of a job of Slurm has it; fails if the job ends without.
wait_for_line() {
    until grep -q "$2" "$1" 2>/dev/null; do
        if [ -z "$(in_room squeue -h -j "$3" -o %T)" ] && ! grep -q "$2" "$1"; then cat "$1"; return 1; fi
        sleep 1
    done
}

# job_gone JOB
job_gone() { while [ -n "$(in_room squeue -h -j "$1")" ]; do sleep 0.5; done; }

@test "Slurm: WordCount on three nodes, submitted from a job; each node has 127.0.1.1 for its own name" {
    local i
    for i in 1 2 3; do sed "s/^10.*\\bn$i\$/127.0.1.1 n$i/" "$ROOM/hosts" >"$ROOM/hosts-n$i"; done
    # With so little memory a node has room for one container: the ApplicationMaster's tasks are on the other node.
    # What an outer job leaves in the environment; srun takes each for an option.
    run in_room env SLURM_MEM_PER_CPU=1 SLURM_MEM_PER_NODE=1 SLURM_GPUS=4 SLURM_GRES=gpu:1 SLURM_CPU_BIND=cores SLURM_THREADS_PER_CORE=9 \
        SLURM_EXCLUSIVE=1 SLURM_CONSTRAINT=none SLURM_NTASKS=9 SLURM_NTASKS_PER_NODE=9 SLURM_EXPORT_ENV=NONE SLURM_DISTRIBUTION=plane=9 \
        SRUN_CPUS_PER_TASK=9 SLURM_CPUS_PER_TASK=9 SLURM_PARTITION=none SLURM_RESERVATION=none \
        HOWDAH_JOB_PRICE=3600 HOWDAH_JOB_MEMORY=1600 sbatch --wait -N 3 -o out.%j "$TREE/share/slurm-pbs/howdah.sbatch" --in words=/in/given --out /user/root/counts=taken \
        bash -c '. ./job.sh && hdfs dfs -cat /in/given >given && pgrep -x java | sed "s,.*,/proc/&/status," | xargs grep -hs ^Cpus_allowed_list | sort -u >cpus'
    cat "$ROOM"/jobs/out.*
    [ "$status" -eq 0 ]
    # The first node has the masters, the others the data; each is known by its own name.
    words_counted 'Hostname: n2 Hostname: n3'
    cmp "$ROOM/jobs/given" "$ROOM/jobs/words"
    # The site binds each task to a core (autobind=cores): no daemon is.
    diff "$ROOM/jobs/cpus" <(grep ^Cpus_allowed_list /proc/self/status)
    [ "$(cat "$ROOM"/jobs/taken/part-* | xargs)" = 'camel 6 howdah 3' ]
    # What it has used, by transport and in all.
    grep -qE '^howdah job: HDFS writes +[a-z]+ +[1-9]' "$ROOM"/jobs/out.*
    grep -qE '^howdah job: [0-9]+ node-seconds \(3 nodes, [0-9]+ s\), [1-9][0-9]* processor-seconds, price [1-9]' "$ROOM"/jobs/out.*
    nothing_left
}

@test "Slurm: one node does it all with what the job has of it, without an environment, and the job fails as its command does" {
    # shellcheck disable=SC2016 # of the job
    run in_room env HOWDAH_JOB_CORES=1 sbatch --wait --export=HOWDAH_HOME,JAVA_HOME,HOWDAH_JOB_LOCAL,HOWDAH_JOB_CORES,SLURM_CONF --mem=3000 -N 1 -o one.%j \
        "$TREE/share/slurm-pbs/howdah.sbatch" bash -c 'hdfs dfs -ls /user; hdfs dfs -touchz x; hdfs dfs -appendToFile job.sh x && hdfs dfs -stat %r/%b x
            exec 3<>/dev/tcp/n1/8088; printf "GET /ws/v1/cluster/metrics HTTP/1.0\r\n\r\n" >&3; cat <&3; exit 7'
    cat "$ROOM"/jobs/one.*
    [ "$status" -eq 7 ]
    grep -q /user/root "$ROOM"/jobs/one.*
    # As many replicas as DataNodes, so that an append works.
    grep -qx "1/$(wc -c <"$ROOM/jobs/job.sh")" "$ROOM"/jobs/one.*
    grep -qE '^howdah job: n1 +3000 +1 ' "$ROOM"/jobs/one.*
    grep -q '"totalVirtualCores":1,' "$ROOM"/jobs/one.*
    [ "$(grep -o '"totalMB":[0-9]*' "$ROOM"/jobs/one.* | cut -d: -f2)" -lt 2000 ]
    nothing_left
}

@test "Slurm: a node whose name is not its host name, and that only knows itself by that" {
    on_node 2 hostname elsewhere
    sed 's/^127.0.0.1.*/&\n127.0.1.1 elsewhere/' "$ROOM/hosts" >"$ROOM/hosts-n2"
    run in_room sbatch --wait -N 2 -o name.%j "$TREE/share/slurm-pbs/howdah.sbatch" --all-work \
        bash -c 'hdfs dfs -put words names && hdfs dfs -cat names && hdfs dfs -stat %r names'
    cat "$ROOM"/jobs/name.*
    [ "$status" -eq 0 ]
    [ "$(grep -c '^camel howdah camel$' "$ROOM"/jobs/name.*)" -eq 3 ]
    grep -qx 2 "$ROOM"/jobs/name.*
    grep -q '^howdah job: elsewhere ' "$ROOM"/jobs/name.*
    nothing_left
}

@test "Slurm: a node whose connections come from an address without a name, and whose disk is nearly full" {
    local free
    [ -e /dev/loop-control ] || skip "this machine has no loop devices"
    on_node 2 sh -c 'ip addr add 10.77.0.102/24 dev eth0 && ip route change 10.77.0.0/24 dev eth0 src 10.77.0.102'
    [[ $(on_node 2 ip route get 10.77.0.1) == *'src 10.77.0.102 '* ]]
    truncate -s 8G "$ROOM/disk.img"
    mkfs.ext4 -q -m 0 "$ROOM/disk.img"
    on_node 2 mount -o loop "$ROOM/disk.img" "$ROOM/local"
    free=$(on_node 2 df -Pm "$ROOM/local" | awk 'NR == 2 { print $4 }')
    on_node 2 fallocate -l $((free - 400))M "$ROOM/local/full"
    run in_room sbatch --wait -N 2 -o other.%j "$TREE/share/slurm-pbs/howdah.sbatch" --all-work bash -c '. ./job.sh'
    cat "$ROOM"/jobs/other.*
    [ "$status" -eq 0 ]
    words_counted 'Hostname: n1 Hostname: n2'
    [ "$(on_node 2 ls -A "$ROOM/local" | xargs)" = 'full lost+found' ]
    nothing_left
}

@test "Slurm: a cancelled job stops its daemons and takes its data away" {
    local job
    job=$(in_room sbatch --parsable -N 2 -o cancelled.%j "$TREE/share/slurm-pbs/howdah.sbatch" sleep 600)
    wait_for_line "$ROOM/jobs/cancelled.$job" 'nodes in' "$job"
    in_room scancel "$job"
    job_gone "$job"
    nothing_left
}

@test "Slurm: a job that is out of time leaves nothing, however far it has come" {
    local job
    job=$(in_room sbatch --parsable -t 1 -N 2 -o time.%j "$TREE/share/slurm-pbs/howdah.sbatch" sleep 600)
    job_gone "$job"
    in_room scontrol show job "$job" | grep -q JobState=TIMEOUT
    nothing_left
}

# requeued VARIABLE=VALUE... [-- OPTION...]: submits a job on two nodes, options of ours behind the script's name, kills what would clean
# up on its second node, and requeues it. It has run to its end when this returns.
requeued() {
    local job pid place=() killed=()
    while [[ ${1:---} != -- ]]; do place+=("$1"); shift; done
    # shellcheck disable=SC2016 # of the job
    job=$(in_room env "${place[@]}" sbatch --parsable --requeue --open-mode=append -N 2 -o again.%j "$TREE/share/slurm-pbs/howdah.sbatch" "${@:2}" \
        bash -c 'hdfs dfs -put words words && hdfs dfs -cat words && echo "run ${SLURM_RESTART_COUNT:-0}"; [ -n "${SLURM_RESTART_COUNT:-}" ] || sleep 600')
    wait_for_line "$ROOM/jobs/again.$job" 'run 0' "$job"
    # Everything that would clean up on n2 is killed; the daemons stay.
    for pid in $(on_node 2 pgrep -f 'slurmstepd|node\.sh'); do
        if on_node 2 test "/proc/$pid/ns/uts" -ef /proc/self/ns/uts; then killed+=("$pid"); fi
    done
    on_node 2 kill -9 "${killed[@]}" # at once: one that sees another's end stops the daemons
    in_room pgrep -f "howdah.local=$ROOM/local/howdah-$job-1" >/dev/null
    in_room scontrol requeue "$job"
    # Slurm lets two minutes pass before it starts a job again. The step of the second run has the number of the first run's, which that
    # one's srun kills when its patience with the lost node is over.
    while in_room pgrep -x srun >/dev/null; do sleep 0.5; done
    until grep -q 'run 1' "$ROOM/jobs/again.$job"; do
        [ -n "$(in_room squeue -h -j "$job")" ] || grep 'run 1' "$ROOM/jobs/again.$job"
        in_room scontrol update jobid="$job" StartTime=now 2>/dev/null || true # while it completes, and once it runs
        sleep 1
    done
    cat "$ROOM/jobs/again.$job"
    job_gone "$job"
    REMOVED=$(cat "$ROOM"/{jobs,lustre}/howdah-job-"$job".1/logs/nodes.log 2>/dev/null | grep 'which a job that was killed had left')
    [ "$(grep -c '^camel howdah camel$' "$ROOM/jobs/again.$job")" -eq 6 ]
    [[ $REMOVED == *"n2: removed $ROOM/local/howdah-$job-1, "* ]]
}

@test "Slurm: a job that is requeued after a node was lost finds its leftovers, removes them and runs" {
    requeued HOWDAH_JOB_LOCAL="$ROOM/local"
    nothing_left
}

@test "Slurm: so in the modes HHH and HHH-L, with what is in RAM and on the shared path" {
    mkdir -p "$ROOM/ssd" "$ROOM/disk"
    for i in 1 2; do on_node "$i" mount -t tmpfs -o size=2g tmpfs "$ROOM/ram"; done
    requeued RAMDISK_PATH="$ROOM/ram" SSD_PATH="$ROOM/ssd" HDD_PATH="$ROOM/disk" -- --mode hhh --all-work
    [[ $REMOVED == *"n2: removed $ROOM/ram/howdah-"* ]]
    nothing_in_ram
    requeued LUSTRE_PATH="$ROOM/lustre" -- --mode hhh-l --all-work -D dfs.rdma.lustre.path.local=true
    nothing_left
    [ -z "$(find "$ROOM/lustre" -maxdepth 1 -name '*-shared')" ]
    rm -r "$ROOM"/lustre/howdah-job-* # logs, those of the run that was lost too
}

@test "Slurm: a node whose disk is too small is named with the cause and the remedy while the job waits" {
    local job
    on_node 2 mount -t tmpfs -o size=200m tmpfs "$ROOM/local"
    job=$(in_room sbatch --parsable -N 2 -o full.%j "$TREE/share/slurm-pbs/howdah.sbatch" true)
    wait_for_line "$ROOM/jobs/full.$job" "  nodemanager on n2: .*local-dirs.* -> the node's disk is full or broken: set HOWDAH_JOB_LOCAL" "$job"
    in_room scancel "$job"
    job_gone "$job"
    nothing_left
}

@test "Slurm: in the mode HHH-M all replicas are in RAM" {
    local i
    for i in 1 2; do on_node "$i" mount -t tmpfs -o size=2g tmpfs "$ROOM/ram"; done
    # shellcheck disable=SC2016 # of the job
    run in_room sbatch --wait -N 2 -o memory.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode hhh-m --ram "$ROOM/ram" --all-work \
        -D dfs.blocksize=1048576 bash -c 'head -c 3000000 /dev/urandom >random && hdfs dfs -put random random && howdah blocks --json random && hdfs dfs -cat random | cmp - random'
    cat "$ROOM"/jobs/memory.*
    [ "$status" -eq 0 ]
    [ "$(grep -o '"type": *"RAM_DISK"' "$ROOM"/jobs/memory.* | wc -l)" -eq 6 ]
    nothing_left
    for i in 1 2; do [ -z "$(on_node "$i" find "$ROOM/ram" -name 'howdah*')" ]; done
}

# with_ram MODE OPTION...: submits a job in a mode with replicas in RAM; as in_room does.
with_ram() {
    local i
    mkdir -p "$ROOM/ssd" "$ROOM/disk"
    for i in 1 2 3; do on_node "$i" mountpoint -q "$ROOM/ram" || on_node "$i" mount -t tmpfs -o size=2g tmpfs "$ROOM/ram"; done
    in_room env RAMDISK_PATH="$ROOM/ram" SSD_PATH="$ROOM/ssd" HDD_PATH="$ROOM/disk" sbatch -N 3 "${@:2}" "$TREE/share/slurm-pbs/howdah.sbatch" --mode "$1" \
        bash -c ". ./job.sh && howdah blocks --json words >blocks && echo counted && ${THEN:-true}"
}

# nothing_in_ram: nothing_left, and no replica in a folder of its own.
nothing_in_ram() {
    local i
    nothing_left
    for i in 1 2 3; do [ -z "$(on_node "$i" find "$ROOM/ram" "$ROOM/ssd" "$ROOM/disk" -name 'howdah*')" ]; done
}

@test "Slurm: in the modes with replicas in RAM words are counted on three nodes, and a cancelled job takes its replicas away" {
    local mode job
    for mode in hhh hhh-m; do
        run with_ram "$mode" --wait -o "$mode.%j"
        cat "$ROOM/jobs/$mode".*
        [ "$status" -eq 0 ]
        words_counted 'Hostname: n2 Hostname: n3'
        [ "$(grep -o '"type": *"RAM_DISK"' "$ROOM/jobs/blocks" | wc -l)" -eq "$(case $mode in hhh) echo 1 ;; *) echo 2 ;; esac)" ]
        nothing_in_ram
        job=$(THEN='sleep 600' with_ram "$mode" --parsable -o "$mode-cancelled.%j")
        wait_for_line "$ROOM/jobs/$mode-cancelled.$job" '^counted' "$job"
        in_room scancel "$job"
        job_gone "$job"
        nothing_in_ram
        rm "$ROOM"/jobs/{counts,nodes}
    done
}

@test "Slurm: a job in the mode HHH that is out of time leaves nothing in RAM" {
    local job
    job=$(THEN='sleep 600' with_ram hhh --parsable -t 1 -o hhh-time.%j)
    job_gone "$job"
    in_room scontrol show job "$job" | grep -q JobState=TIMEOUT
    nothing_in_ram
}

@test "Slurm: Spark's own daemons on three nodes, and nothing of them once the job is cancelled" {
    local job
    run in_room sbatch --wait -N 3 -o spark.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode spark-standalone run-example SparkPi 4
    cat "$ROOM"/jobs/spark.[0-9]*
    [ "$status" -eq 0 ]
    grep -q 'Pi is roughly 3.1' "$ROOM"/jobs/spark.[0-9]*
    nothing_left
    job=$(in_room sbatch --parsable -N 3 -o spark-cancelled.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode spark-standalone sleep 600)
    wait_for_line "$ROOM/jobs/spark-cancelled.$job" 'nodes in' "$job"
    in_room scancel "$job"
    job_gone "$job"
    nothing_left
}

@test "Slurm: in the mode HHH-L each block has a copy on the shared path, which goes with the job, also when it is cancelled" {
    local job
    # shellcheck disable=SC2016 # of the job
    run in_room env LUSTRE_PATH="$ROOM/lustre" sbatch --wait -N 3 -o lustre.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode hhh-l --all-work \
        -D dfs.rdma.lustre.path.local=true -D dfs.blocksize=1048576 bash -c 'head -c 3000000 /dev/urandom >random && hdfs dfs -put random random &&
            howdah blocks --json random && hdfs dfs -cat random | cmp - random && hdfs dfs -stat "replicas %r" random &&
            echo "copies $(find "$LUSTRE_PATH"/howdah-*-shared -name "blk_*" ! -name "*.meta" | wc -l)"'
    cat "$ROOM"/jobs/lustre.* "$ROOM"/lustre/howdah-job-*/logs/nodes.log
    [ "$status" -eq 0 ]
    grep -q '"shared": *true' "$ROOM"/jobs/lustre.*
    grep -qx 'copies 3' "$ROOM"/jobs/lustre.*
    grep -qx 'replicas 1' "$ROOM"/jobs/lustre.*
    grep -qE '^howdah job: n2 .* RAM [0-9]+,disk [0-9]+,shared [0-9]+ ' "$ROOM"/jobs/lustre.*
    nothing_left
    [ -z "$(find "$ROOM/lustre" -maxdepth 1 -name '*-shared')" ]
    job=$(in_room env LUSTRE_PATH="$ROOM/lustre" sbatch --parsable -N 2 -o cancelled.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode hhh-l \
        -D dfs.rdma.lustre.path.local=true bash -c 'hdfs dfs -put words words && sleep 600')
    wait_for_line "$ROOM/jobs/cancelled.$job" 'nodes in' "$job"
    [ -d "$ROOM/lustre/howdah-$job-shared" ]
    in_room scancel "$job"
    job_gone "$job"
    nothing_left
    [ -z "$(find "$ROOM/lustre" -maxdepth 1 -name '*-shared')" ]
}

# count_shared OUT OPTION...: a job of Slurm without HDFS that counts words of the shared folder and runs what stands in THEN; leaves
# its output in jobs/OUT.ID.
count_shared() {
    local out=$1
    shift
    rm -rf "$ROOM"/lustre/howdah-job-* # logs of jobs with HDFS
    mkdir -p "$ROOM/lustre/text"
    for i in 1 2 3; do cp "$ROOM/jobs/words" "$ROOM/lustre/text/$i"; done
    # shellcheck disable=SC2016 # of the job
    run in_room env LUSTRE_PATH="$ROOM/lustre" sbatch --wait -o "$out.%j" "$@" -D dfs.rdma.lustre.path.local=true bash -ec '
        hadoop jar "$HOWDAH_HOME"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar wordcount -D mapred.rdma.shuffle.lustre.adaptive=false \
            "$LUSTRE_PATH/text" "$LUSTRE_PATH/counts"
        ls -d "$LUSTRE_PATH"/howdah-*-*'"
        ${THEN:-}"
    cat "$ROOM/jobs/$out".*
    [ "$status" -eq 0 ]
    [ "$(cat "$ROOM"/lustre/counts/part-* | xargs)" = 'camel 18 howdah 9' ]
    rm -r "$ROOM/lustre/counts"
    nothing_left
    # Only the text, and jobs' folders with configuration and logs.
    [ -z "$(find "$ROOM/lustre" -mindepth 1 -maxdepth 1 ! -name text ! -name 'howdah-job-*')" ]
    [ -z "$(find "$ROOM/lustre" -name '*-namenode-*')" ]
}

@test "Slurm: in the mode lustre-only reducers read map output from the shared path; Spark runs; a cancelled job leaves nothing" {
    local job
    THEN='run-example SparkPi 4' count_shared only -N 3 "$TREE/share/slurm-pbs/howdah.sbatch" --mode lustre-only
    grep -qE 'BYTES_SHARED_PATH=[1-9]' "$ROOM"/jobs/only.*
    grep -q 'Pi is roughly 3.1' "$ROOM"/jobs/only.*
    grep -qE '^howdah job: n2 .* shared [0-9]+ ' "$ROOM"/jobs/only.*
    # Each node that works has a part of it.
    [ "$(grep -cE "^$ROOM/lustre/howdah-[0-9]+-[12]$" "$ROOM"/jobs/only.*)" -eq 2 ]
    job=$(in_room env LUSTRE_PATH="$ROOM/lustre" sbatch --parsable -N 2 -o only-cancelled.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode lustre-only \
        -D dfs.rdma.lustre.path.local=true sleep 600)
    wait_for_line "$ROOM/jobs/only-cancelled.$job" 'nodes in' "$job"
    [ -d "$ROOM/lustre/howdah-$job-shared" ] && [ -d "$ROOM/lustre/howdah-$job-1" ]
    in_room scancel "$job"
    job_gone "$job"
    nothing_left
    [ -z "$(find "$ROOM/lustre" -mindepth 1 -maxdepth 1 ! -name text ! -name 'howdah-job-*')" ]
}

@test "Slurm: in the mode lustre-local intermediate data is on the nodes' disks, and reducers fetch it" {
    count_shared intermediate -N 3 "$TREE/share/slurm-pbs/howdah.sbatch" --mode mrlustre-local --all-work
    run ! grep -E 'BYTES_SHARED_PATH=[1-9]' "$ROOM"/jobs/intermediate.*
    run ! grep -E "^$ROOM/lustre/howdah-[0-9]+-[01]$" "$ROOM"/jobs/intermediate.*
    grep -qE '^howdah job: n2 .* disk [0-9]+,shared [0-9]+ ' "$ROOM"/jobs/intermediate.*
}

@test "Slurm: a shared path that only one node has, or that is another one on a node, is refused by the node's name" {
    run in_room sbatch --wait -N 2 -o local.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode hhh-l --shared "$ROOM/lustre" true
    cat "$ROOM"/jobs/local.*
    [ "$status" -eq 1 ]
    grep -qE "n[12]: --shared $ROOM/lustre is on [a-z0-9/]+, which only one node has: name a folder of Lustre" "$ROOM"/jobs/local.*
    nothing_left
    on_node 2 mount -t tmpfs tmpfs "$ROOM/lustre"
    run in_room sbatch --wait -N 2 -o another.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode hhh-l --shared "$ROOM/lustre" \
        -D dfs.rdma.lustre.path.local=true true
    cat "$ROOM"/jobs/another.*
    [ "$status" -eq 1 ]
    grep -qE "n2: the folder $ROOM/lustre is another one here than on the first node, whose howdah-job-[0-9]+ it lacks" "$ROOM"/jobs/another.*
    nothing_left
    [ -z "$(find "$ROOM/lustre" -maxdepth 1 -name '*-shared')" ]
}

@test "Slurm: Spark's own workers are one for each NUMA node and bound to it, with their executors" {
    local first second
    # shellcheck source=slurm-pbs/workers.sh
    IFS=, read -r first second < <(. "$TREE/share/slurm-pbs/workers.sh"; first_processors 2)
    [ -n "$second" ]
    write_topology "$first" "$second" >"$ROOM/jobs/topology.xml"
    cat >"$ROOM/jobs/bound.sh" <<'SH'
set -e
spark-submit bound.py >counted
SH
    cat >"$ROOM/jobs/bound.py" <<'PY'
from pyspark import SparkContext
import re, time
sc = SparkContext(appName="bound")
def bound(_):
    time.sleep(1)  # so that no executor has all tasks
    return [re.search(r"Cpus_allowed_list:\s*(\S+)", open("/proc/self/status").read()).group(1)]
deadline = time.time() + 300
while True:
    found = sorted(set(sc.parallelize(range(8), 8).mapPartitions(bound).collect()))
    if len(found) > 1 or time.time() > deadline:
        break
print("bound to %s" % found)
PY
    run in_room env HOWDAH_JOB_TOPOLOGY=topology.xml sbatch --wait -N 1 -o bound.%j "$TREE/share/slurm-pbs/howdah.sbatch" --mode spark-standalone bash bound.sh
    cat "$ROOM"/jobs/bound.[0-9]*
    [ "$status" -eq 0 ]
    grep -q 'howdah job: Spark: 2 workers, executors of 1 tasks at a time' "$ROOM"/jobs/bound.[0-9]*
    [ "$(cat "$ROOM/jobs/counted")" = "bound to ['$first', '$second']" ]
    nothing_left
}

# write_topology CPU CPU: a machine of two NUMA nodes with a processor and 6 GB each, in hwloc's XML.
write_topology() {
    local cpu all=0 node=0
    for cpu in "$@"; do all=$((all | 1 << cpu)); done
    printf '<?xml version="1.0"?>\n<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x%08x" allowed_cpuset="0x%08x">\n' "$all" "$all"
    for cpu in "$@"; do
        printf '<object type="Package" os_index="%d" cpuset="0x%08x"><object type="NUMANode" os_index="%d" cpuset="0x%08x" local_memory="6442450944"/>' \
            "$node" $((1 << cpu)) "$node" $((1 << cpu))
        printf '<object type="Core" os_index="%d" cpuset="0x%08x"><object type="PU" os_index="%d" cpuset="0x%08x"/></object></object>\n' \
            "$node" $((1 << cpu)) "$cpu" $((1 << cpu))
        node=$((node + 1))
    done
    echo '</object></topology>'
}

@test "Slurm: a node whose folder cannot be made is named, and nothing is left on the others" {
    local job
    job=$(in_room sbatch --hold --parsable -N 2 -o disk.%j "$TREE/share/slurm-pbs/howdah.sbatch" true)
    touch "$ROOM/local/howdah-$job-1"
    in_room scontrol release "$job"
    job_gone "$job"
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
    run in_room "$TREE/bin/howdah" job start
    [ "$status" -eq 1 ]
    [[ $output == *'this is no job of Slurm or PBS'* ]]
    nothing_left
}

@test "PBS: WordCount on two nodes over ssh, in a job of an array" {
    [ -z "$WITHOUT_SSH" ] || skip "$WITHOUT_SSH"
    local ssh="ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i $ROOM/user_key"
    run in_room env ROOM="$ROOM" "$HOWDAH_ROOT/tests/packages/qsub" -l select=2:ncpus=2 -J 3-4 \
        -v "HOWDAH_HOME=$TREE,HOWDAH_JOB_RSH=$ssh,HOWDAH_JOB=--all-work bash $ROOM/jobs/pbs.sh" "$TREE/share/slurm-pbs/howdah.pbs"
    echo "$output"
    [ "$status" -eq 0 ]
    [ -d "$ROOM/jobs/howdah-job-42_3_.head" ]
    words_counted 'Hostname: n1 Hostname: n2'
    nothing_left
}

@test "PBS: SparkPi on Spark's own daemons of two nodes, started by pbs_tmrsh" {
    run in_room env ROOM="$ROOM" "$HOWDAH_ROOT/tests/packages/qsub" -l select=2:ncpus=2 \
        -v "HOWDAH_HOME=$TREE,HOWDAH_JOB_RSH=$ROOM/bin/pbs_tmrsh" -- "$TREE/share/slurm-pbs/howdah.pbs" --mode spark-standalone --all-work \
        -D spark.app.name=pie run-example SparkPi 10
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'Pi is roughly 3.1'* ]]
    # Each node's worker had an executor.
    [ "$(grep -l 'Asked to launch executor' "$ROOM"/jobs/howdah-job-42.head/logs/spark-*-worker-*.log | wc -l)" -eq 2 ]
    nothing_left
}

@test "PBS: an interactive job starts a cluster, uses it and stops it" {
    cat >"$ROOM/jobs/terminal.sh" <<'SH'
#PBS -N terminal
set -e
PATH=$HOWDAH_HOME/bin:$PATH
howdah job start --all-work
eval "$(howdah job env)"
hdfs dfs -put "$PBS_O_WORKDIR/words" words
hdfs dfs -cat words
howdah job stop
if howdah job env; then exit 8; fi
SH
    run in_room env ROOM="$ROOM" "$HOWDAH_ROOT/tests/packages/qsub" -l select=2:ncpus=2 \
        -v "HOWDAH_HOME=$TREE,HOWDAH_JOB_RSH=$ROOM/bin/pbs_tmrsh" "$ROOM/jobs/terminal.sh"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -cx 'camel howdah camel' <<<"$output")" -eq 3 ]
    [[ $output == *'howdah job: next: '*'node-seconds'*'this job has no cluster'* ]]
    nothing_left
}

@test "an interactive job in the mode HHH: replicas in RAM, on SSD and on disk, with HiBD's variables and its file of settings" {
    local i
    mkdir -p "$ROOM/ssd" "$ROOM/disk"
    for i in 1 2; do on_node "$i" mount -t tmpfs -o size=2g tmpfs "$ROOM/ram"; done
    sed 's/^10.*\bn2$/127.0.1.1 n2/' "$ROOM/hosts" >"$ROOM/hosts-n2"
    printf 'H\tdfs.blocksize\t1048576\nC\tfs.trash.interval\t7\n' >"$ROOM/jobs/settings"
    cat >"$ROOM/jobs/interactive.sh" <<'SH'
set -e
PATH=$HOWDAH_HOME/bin:$PATH
howdah job start --mode hhh --all-work --settings settings
eval "$(howdah job env)"
head -c 3000000 /dev/urandom >random
hdfs dfs -put random random
howdah blocks --json random
hdfs getconf -confKey fs.trash.interval
echo "folder $HADOOP_CONF_DIR"
if howdah job start; then exit 9; fi
howdah job stop
if howdah job env; then exit 8; fi
howdah job stop
SH
    run in_room env RAMDISK_PATH="$ROOM/ram" SSD_PATH="$ROOM/ssd" HDD_PATH="$ROOM/disk" LUSTRE_PATH="$ROOM" salloc -N 2 bash interactive.sh
    echo "$output"
    [ "$status" -eq 0 ]
    # Three blocks of two replicas, one of each in RAM, the other not.
    [ "$(grep -o '"type": *"RAM_DISK"' <<<"$output" | wc -l)" -eq 3 ]
    [ "$(grep -oE '"type": *"(SSD|DISK)"' <<<"$output" | wc -l)" -eq 3 ]
    grep -qE '^howdah job: n2 .* RAM [0-9]+,SSD [0-9]+,disk [0-9]+ ' <<<"$output"
    grep -qx 7 <<<"$output"
    grep -q "^folder $ROOM/howdah-job-" <<<"$output"
    [[ $output == *'this job has a cluster'*'node-seconds'*'this job has no cluster'*'there is no cluster to stop'* ]]
    nothing_left
    for i in 1 2; do [ -z "$(on_node "$i" find "$ROOM/ram" "$ROOM/ssd" "$ROOM/disk" -name 'howdah*')" ]; done
}
