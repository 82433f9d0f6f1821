# shellcheck shell=bash
# The machine room of batch-system for tests. Loaded by batch.bats.

# why_no_room: prints why there can be none here; nothing where it can.
why_no_room() {
    local tool
    [ "$(id -u)" -eq 0 ] || { echo "only root can make a network of its own"; return; }
    for tool in slurmctld slurmd sbatch munged nsenter ip; do command -v "$tool" >/dev/null || { echo "$tool is missing"; return; }; done
    unshare --mount --pid --net --uts --fork true 2>/dev/null || echo "this machine allows no namespaces"
}

# open_room FOLDER [SSHD]: ROOM is ready when it returns.
open_room() {
    local holder
    mkdir -p "$1"
    setsid unshare --mount --pid --net --uts --mount-proc --fork --kill-child --propagation private \
        "$HOWDAH_ROOT/tests/packages/batch-system" "$@" </dev/null >"$1/log.room" 2>&1 3>&- &
    holder=$!
    echo "$holder" >"$1/holder"
    while kill -0 "$holder" 2>/dev/null && [ ! -e "$1/ready" ]; do sleep 0.1; done
    [ -e "$1/ready" ] || { cat "$1/log.room" >&2; return 1; }
    pgrep -P "$holder" >"$1/pid"
    until [ "$(in_room sinfo -h -o %T | sort -u)" = idle ]; do sleep 0.2; done
}

# in_room COMMAND...: on the head.
in_room() {
    nsenter --target "$(cat "$ROOM/pid")" --mount --net --uts --pid env -C "${IN:-$ROOM}" -i PATH="$PATH" HOME="$ROOM" USER=root \
        SLURM_CONF="$ROOM/slurm.conf" JAVA_HOME="$JAVA_HOME" HOWDAH_HOME="$TREE" HOWDAH_JOB_LOCAL="$ROOM/local" "$@"
}

# on_node N COMMAND...: on one of the nodes, by its number.
on_node() {
    local node=$1
    shift
    nsenter --target "$(cat "$ROOM/pid")" --mount --pid nsenter --target "$(cat "$ROOM/n$node.pid")" --mount --net --uts "$@"
}

# clear_room: ends all jobs and all daemons of jobs in the room, and removes their data, so that the next test finds it as the first did.
clear_room() {
    local i deadline=$((SECONDS + 120))
    in_room squeue || true
    in_room scancel --user=root || true
    while [ -n "$(in_room squeue -h)" ] && [ "$SECONDS" -lt "$deadline" ]; do sleep 1; done
    for i in java srun salloc; do in_room pkill -9 -x "$i" || true; done
    while in_room pgrep -x java >/dev/null && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.2; done
    rm -rf "$ROOM"/local/howdah-* "$ROOM"/lustre/* "$ROOM"/{ssd,disk}/howdah-* "$ROOM"/jobs/{counts,nodes}
    for i in 1 2 3; do on_node "$i" sh -c 'rm -rf /dev/shm/howdah-*'; done
    until [ "$(in_room sinfo -h -o %T | sort -u)" = idle ] || [ "$SECONDS" -ge "$deadline" ]; do
        in_room scontrol update nodename='n[1-3]' state=resume 2>/dev/null || true
        sleep 1
    done
}

close_room() {
    local holder=none # where it was never opened
    [ ! -e "$ROOM/holder" ] || holder=$(cat "$ROOM/holder")
    [ ! -e "$ROOM/pid" ] || kill -9 "$(cat "$ROOM/pid")" 2>/dev/null || true
    while [ -e "/proc/$holder" ]; do sleep 0.1; done
}
