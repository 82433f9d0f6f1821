# ci/rdma-vm itself: what a command in the virtual machine may rely on, how it ends, and what is said when it cannot run.

bats_require_minimum_version 1.5.0

# Two machines at once, to save time and to show that they do not disturb each other.
setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    mkdir -p "$ROOT/build"
    SHARED=$(mktemp -d "$ROOT/build/rdma-vm-bats.XXXXXX")
    export ROOT SHARED
    [ -z "${RDMA_VM_MISSING:-}" ] || return 0
    cat >"$SHARED/command" <<'SCRIPT'
echo "arguments: $#: $1|$2"
echo "to stderr" >/dev/stderr
echo "folder: $PWD"
echo "variable: $FROM_OUTSIDE"
echo "user: $(id -u)"
echo written >written-inside
echo gone >/etc/howdah-rdma-vm-test
read -r line || echo "stdin: empty"
sleep 1000 &
exit 7
SCRIPT
    (
        cd "$SHARED"
        status=0
        FROM_OUTSIDE="a \"b\" \$c" "$ROOT/ci/rdma-vm" run -- bash command 'x  y' '' >out 2>err || status=$?
        echo "$status" >status
    ) 3>&- &
    mkdir "$SHARED/hang"
    (
        cd "$SHARED"
        status=0
        "$ROOT/ci/rdma-vm" run --time 3 --writable "$SHARED/hang" -- sleep 1000 >hang-out 2>hang-err || status=$?
        echo "$status" >hang-status
    ) 3>&- &
    wait
}

teardown_file() { rm -rf "$SHARED"; }

setup() { cd "$SHARED"; }

# A machine that failed leaves its folder; here that was meant.
forget_machine() { rm -rf "$(sed -n 's/.*all of it: //p' <<<"$output")"; }

needs_machine() { [ -z "${RDMA_VM_MISSING:-}" ] || skip "$RDMA_VM_MISSING"; }

# without COMMAND...: a folder for PATH in which these commands are missing.
without() {
    local path=$BATS_TEST_TMPDIR/bin name
    mkdir "$path"
    for name in /bin/* /usr/bin/* /sbin/* /usr/sbin/*; do ln -sf "$name" "$path/"; done
    for name in "$@"; do rm -f "$path/$name"; done
    echo "$path"
}

@test "a failing command's exit status is that of the run" {
    needs_machine
    [ "$(cat status)" = 7 ] || { cat out err; false; }
}

@test "arguments, environment, folder and user arrive; standard input is empty" {
    needs_machine
    [ "$(cat out)" = "arguments: 2: x  y|
folder: $SHARED
variable: a \"b\" \$c
user: 0
stdin: empty" ] || { cat out; false; }
}

@test "standard error is kept apart" {
    needs_machine
    [ "$(cat err)" = "to stderr" ] || { cat err; false; }
}

@test "the clone can be written, the rest of this machine cannot" {
    needs_machine
    [ "$(cat written-inside)" = written ]
    [ ! -e /etc/howdah-rdma-vm-test ]
}

@test "a command that hangs is killed, and so is its machine" {
    needs_machine
    [ "$(cat hang-status)" = 124 ] || { cat hang-out hang-err; false; }
    # QEMU has the folder on its command line.
    run ! pgrep -f "path=$SHARED/hang,"
    [[ $(cat hang-err) == *"did not end in 3 s"*"sleep 1000"* ]]
}

@test "a machine that does not get its device says so" {
    needs_machine
    local kernel=${XDG_CACHE_HOME:-$HOME/.cache}/howdah/rdma-vm/kernel release folder own=$SHARED/cache/howdah/rdma-vm
    release=$(cat "$kernel/ready")
    mkdir -p "$own"
    ln -s "${kernel%/kernel}"/virtme-ng-* "$own/"
    # The same kernel without the modules of RDMA.
    mkdir -p "$own/kernel/lib/modules/$release/kernel/drivers"
    ln -s "$kernel"/{boot,ready} "$own/kernel/"
    ln -s "$kernel/lib/modules/$release"/modules.* "$own/kernel/lib/modules/$release/"
    for folder in "$kernel/lib/modules/$release"/kernel/*; do
        [ "${folder##*/}" = drivers ] || ln -s "$folder" "$own/kernel/lib/modules/$release/kernel/"
    done
    ln -s "$kernel/lib/modules/$release"/kernel/drivers/* "$own/kernel/lib/modules/$release/kernel/drivers/"
    rm "$own/kernel/lib/modules/$release/kernel/drivers/infiniband"
    XDG_CACHE_HOME=$SHARED/cache run -125 "$ROOT/ci/rdma-vm" run -- true
    [[ $output == *"RDMA device did not come up"* ]]
    [[ $output == *rdma_rxe* ]]
    forget_machine
}

@test "a machine that does not boot says so" {
    needs_machine
    local own=$SHARED/cache-no-boot/howdah/rdma-vm
    mkdir -p "$own/kernel/boot"
    ln -s "${XDG_CACHE_HOME:-$HOME/.cache}"/howdah/rdma-vm/virtme-ng-* "$own/"
    echo 0.0 >"$own/kernel/ready"
    echo "no kernel" >"$own/kernel/boot/vmlinuz-0.0"
    XDG_CACHE_HOME=$SHARED/cache-no-boot run -125 "$ROOT/ci/rdma-vm" run -- true
    # Tried again, each time said.
    [[ $output == *"did not boot (it ended); boot 2 of at most 3"*"boot 3 of at most 3"*"did not boot in 3 attempts"* ]]
    forget_machine
}

@test "no QEMU: skipped by its own status, and the reason is one line" {
    local path
    path=$(without qemu-system-x86_64)
    cp -r "$ROOT/ci" "$BATS_TEST_TMPDIR/clone-ci"
    mkdir "$BATS_TEST_TMPDIR/clone"
    mv "$BATS_TEST_TMPDIR/clone-ci" "$BATS_TEST_TMPDIR/clone/ci"
    printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/clone/ci/prepare"
    PATH=$path run -77 "$BATS_TEST_TMPDIR/clone/ci/rdma-vm" prepare
    [[ $output == "not available: missing commands: qemu-system-x86_64 "* ]]
}

@test "no kernel package: skipped by its own status, and the reason is one line" {
    needs_machine
    local path
    path=$(without apt-cache apt-get)
    printf '#!/bin/sh\nexit 0\n' >"$path/apt-cache"
    cp "$path/apt-cache" "$path/apt-get"
    chmod +x "$path"/apt-*
    XDG_CACHE_HOME=$BATS_TEST_TMPDIR PATH=$path run -77 "$ROOT/ci/rdma-vm" prepare
    [[ $output == "not available: no kernel package: "* ]]
}

@test "a command line that makes no sense is refused" {
    run -1 "$ROOT/ci/rdma-vm" run --time soon -- true
    [[ $output == *"whole number above zero"* ]]
    run -1 "$ROOT/ci/rdma-vm" run --colour blue -- true
    [[ $output == *"unknown: --colour"* ]]
    run -1 "$ROOT/ci/rdma-vm" run true
    [[ $output == *usage* ]]
    run -1 "$ROOT/ci/rdma-vm" dance
    [[ $output == *usage* ]]
}
