# shellcheck shell=bash
# What the virtual machine of ci/rdma-vm is made of: packages, a kernel that carries Soft-RoCE, and virtme-ng. Made once,
# in a folder that all clones share; a second call finds it there and asks nobody. Sourced by ci/rdma-vm.

RDMA_VM_CACHE=$HOWDAH_CACHE/rdma-vm
RDMA_VM_TOOL=$RDMA_VM_CACHE/virtme-ng-$(sed -n 's/^virtme-ng==\([^ ]*\).*/\1/p' "$HOWDAH_ROOT/ci/lib/virtme-ng.lock")

# missing_commands: those that the machine and its own tests need, of the packages in ci/packages-rdma.deb.
missing_commands() {
    local name
    for name in qemu-system-x86_64 busybox modprobe rdma udevadm setpriv file ibv_devinfo ib_send_lat dapltest; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$name" >/dev/null || echo "$name"
    done | paste -sd ' '
}

provide_packages() {
    [ "$(uname -m)" = x86_64 ] || unavailable "the virtual machine is x86_64, this machine is $(uname -m)"
    [ -n "$(missing_commands)" ] || return 0
    "$HOWDAH_ROOT/ci/prepare" rdma >&2 || unavailable "missing commands: $(missing_commands) (ci/prepare rdma failed)"
    [ -z "$(missing_commands)" ] ||
        unavailable "missing commands: $(missing_commands) (ci/prepare rdma did not bring them)"
}

# kernel_package: the current full kernel package of Debian, which the metapackage depends on.
kernel_package() {
    apt-cache depends linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*-amd64\)$/\1/p' | head -n 1
}

# logged COMMAND...: runs it with its words in the log of the preparation.
logged() { "$@" </dev/null >>"$RDMA_VM_CACHE/prepare.log" 2>&1; }

provide_kernel() {
    local package work release
    [ ! -e "$RDMA_VM_CACHE/kernel/ready" ] || return 0
    command -v apt-cache >/dev/null || unavailable "no Debian kernel package: this system has no apt"
    package=$(kernel_package)
    # Lists that were never fetched, or that name a package the archive has replaced.
    if [ "$(id -u)" -eq 0 ]; then
        logged apt-get -qq update || warn "apt-get update failed, see $RDMA_VM_CACHE/prepare.log"
        package=$(kernel_package)
    fi
    [ -n "$package" ] || unavailable "no kernel package: apt knows no linux-image-amd64 (not Debian, or: apt-get update)"
    say "unpacking the kernel of $package into $RDMA_VM_CACHE/kernel" >&2
    work=$RDMA_VM_CACHE/kernel.new
    rm -rf "$work" "$RDMA_VM_CACHE/kernel"
    mkdir -p "$work"
    (cd "$work" && logged apt-get -qq download "$package") ||
        unavailable "apt could not download $package, see $RDMA_VM_CACHE/prepare.log"
    dpkg-deb -x "$work"/*.deb "$work"
    rm "$work"/*.deb
    release=${package#linux-image-}
    # What no test needs is most of its size.
    rm -rf "${work:?}/usr" "$work/lib/modules/$release/kernel"/{sound,drivers/{gpu,media,net/wireless,staging}}
    PATH=$PATH:/usr/sbin:/sbin logged depmod -b "$work" "$release"
    echo "$release" >"$work/ready"
    mv "$work" "$RDMA_VM_CACHE/kernel"
}

provide_virtme() {
    local work=$RDMA_VM_TOOL.new
    [ ! -e "$RDMA_VM_TOOL/ready" ] || return 0
    python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
        unavailable "virtme-ng needs Python 3.10 with venv, here is $(python3 --version 2>&1)"
    # A venv knows its own place, so it is made there; "ready" says that it is whole.
    rm -rf "$work" "$RDMA_VM_TOOL"
    logged python3 -m venv "$RDMA_VM_TOOL" || unavailable "python3 -m venv failed, see $RDMA_VM_CACHE/prepare.log"
    logged "$RDMA_VM_TOOL/bin/pip" install --no-deps --require-hashes -r "$HOWDAH_ROOT/ci/lib/virtme-ng.lock" ||
        unavailable "pip could not install virtme-ng, see $RDMA_VM_CACHE/prepare.log"
    touch "$RDMA_VM_TOOL/ready"
}

# provide_rdma_vm: everything is there when it returns; otherwise it has left with UNAVAILABLE and said why.
provide_rdma_vm() {
    local lock
    provide_packages
    if [ ! -e "$RDMA_VM_CACHE/kernel/ready" ] || [ ! -e "$RDMA_VM_TOOL/ready" ]; then
        mkdir -p "$RDMA_VM_CACHE"
        # Two clones may prepare at once; the second waits and finds it done.
        exec {lock}>"$RDMA_VM_CACHE/lock"
        flock "$lock"
        provide_kernel
        provide_virtme
        exec {lock}>&-
    fi
}
