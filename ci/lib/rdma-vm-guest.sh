#!/usr/bin/env bash
# Runs as root inside the virtual machine of ci/rdma-vm: brings up the RDMA device, runs the command of the caller, and
# leaves behind in the folder of the run:
#   booted       this script has started
#   setup        what bringing up the device said
#   ready        the device is there
#   out, err     what the command writes
#   status       its exit status
# Usage: rdma-vm-guest.sh RUN-FOLDER KERNEL-FOLDER
set -u
run=$1 kernel=$2
device=rxe0 interface=d0 address=10.99.0.1

# Modules are in a private folder; the kernel itself asks for some by name and must find them there too.
use_modules() {
    printf '#!/bin/sh\nexec /sbin/modprobe -d %q "$@"\n' "$kernel" >/run/modprobe
    chmod +x /run/modprobe
    echo /run/modprobe >/proc/sys/kernel/modprobe
}

# Not to be called as a condition: that would turn "set -e" off.
bring_up() {
    set -e
    use_modules
    /run/modprobe -a dummy rdma_rxe ib_uverbs rdma_ucm
    ip link set lo up
    ip link add "$interface" type dummy
    ip addr add "$address/24" dev "$interface"
    ip link set "$interface" up
    rdma link add "$device" type rxe netdev "$interface"
    rdma link show "$device/1" | grep -q 'state ACTIVE'
    [ -e /dev/infiniband/uverbs0 ] && [ -e /dev/infiniband/rdma_cm ]
    echo "ofa-v2-rxe u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"$interface 0\" \"\"" >/run/dat.conf
}

# enter COMMAND...: becomes COMMAND, in the caller's environment and folder, with what a test in here may rely on.
enter() {
    # -g: "declare" in a function would make the variables its own.
    # shellcheck source=/dev/null
    . <(sed 's/^declare -/declare -g/' "$run/environment")
    export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
    export DAT_OVERRIDE=/run/dat.conf
    export HOWDAH_VM_DEVICE=$device HOWDAH_VM_INTERFACE=$interface HOWDAH_VM_ADDRESS=$address HOWDAH_VM_PROVIDER=ofa-v2-rxe
    ulimit -l unlimited
    ulimit -n 65536
    cd -- "$(cat "$run/folder")" || exit 126
    exec "$@"
}

# run_command: pipes, because a program may open /dev/stderr anew, which empties a file. Something that the command left
# running may hold a pipe open for ever: nobody waits for it.
run_command() {
    local command out err out_cat err_cat status=0
    mapfile -d '' -t command <"$run/command"
    exec {out}> >(exec cat >"$run/out")
    out_cat=$!
    exec {err}> >(exec cat >"$run/err")
    err_cat=$!
    # shellcheck disable=SC2261 # the first goes to the descriptor in $out, not to both
    (enter "${command[@]}" {out}>&- {err}>&-) </dev/null 1>&"$out" 2>&"$err" || status=$?
    exec {out}>&- {err}>&-
    for _ in {1..50}; do
        kill -0 "$out_cat" 2>/dev/null || kill -0 "$err_cat" 2>/dev/null || break
        sleep 0.1
    done
    echo "$status" >"$run/status.new"
    mv "$run/status.new" "$run/status"
}

ln -sfn /proc/self/fd/1 /dev/stdout
ln -sfn /proc/self/fd/2 /dev/stderr
touch "$run/booted"
(bring_up) </dev/null >"$run/setup" 2>&1
# shellcheck disable=SC2181 # see bring_up
if [ $? -eq 0 ]; then
    touch "$run/ready"
    run_command
fi
touch "$run/done"
