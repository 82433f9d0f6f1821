# shellcheck shell=bash
# What cross-building for ppc64le takes besides the cross compiler: a private sysroot of Debian's packages for that
# architecture (native/packages.ppc64el and what they depend on). Made once, in a folder that all clones share; a second
# call finds it there and asks nobody. The machine's own package system learns nothing of the other architecture.
# Sourced by ci/native, after common.sh.
. "$HOWDAH_ROOT/ci/lib/jdk8.sh" # debian_mirror

PPC64LE_CACHE=$HOWDAH_CACHE/ppc64le

# ppc64le_apt ARGUMENT...: apt with all its state in a folder of ours. Signatures and checksums are verified as ever; a
# mirror may lag behind, so the date is not.
ppc64le_apt() {
    local state=$PPC64LE_CACHE/apt
    apt-get -qq -y -o APT::Architecture=ppc64el -o APT::Architectures=ppc64el -o APT::Install-Recommends=false \
        -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false -o Debug::NoLocking=1 \
        -o Dir::Etc="$state/etc" -o Dir::Etc::Trusted=/etc/apt/trusted.gpg -o Dir::Etc::TrustedParts=/etc/apt/trusted.gpg.d \
        -o Dir::State="$state/state" -o Dir::State::Status="$state/status" -o Dir::Cache="$state/cache" \
        "$@" </dev/null >>"$PPC64LE_CACHE/prepare.log" 2>&1
}

# download_ppc64le PACKAGE...: they and what they depend on, into apt/cache/archives. Interrupted, it goes on where it was.
download_ppc64le() {
    local state=$PPC64LE_CACHE/apt keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror suite signed=''
    mirror=$(debian_mirror 2>/dev/null) || true # none: the next line says so, and what needs it is skipped by name
    [ -n "$mirror" ] || unavailable "no Debian archive in this machine's apt sources"
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$suite" ] || unavailable "/etc/os-release does not name Debian's suite"
    mkdir -p "$state"/{etc/preferences.d,state/lists/partial,cache/archives/partial}
    : >"$state/status"
    [ ! -e "$keyring" ] || signed="[signed-by=$keyring] "
    echo "deb $signed$mirror $suite main" >"$state/etc/sources.list"
    ppc64le_apt update || unavailable "apt found no ppc64el packages, see $PPC64LE_CACHE/prepare.log"
    ppc64le_apt --download-only install "$@" ||
        unavailable "apt could not download for ppc64el, see $PPC64LE_CACHE/prepare.log"
}

# relative_links TREE: links that begin at the root would leave the tree.
relative_links() {
    local link
    find "$1" -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="${link%/*}" "$1$(readlink "$link")")" "$link"
    done
}

make_ppc64le_sysroot() {
    local deb work=$PPC64LE_CACHE/sysroot.new
    rm -rf "$work"
    mkdir -p "$work"
    for deb in "$PPC64LE_CACHE"/apt/cache/archives/*.deb; do dpkg-deb -x "$deb" "$work"; done
    rm -rf "$work"/usr/share/{doc,man,locale,info}
    relative_links "$work"
    rm -rf "$PPC64LE_SYSROOT"
    mv "$work" "$PPC64LE_SYSROOT"
    rm -rf "$PPC64LE_CACHE/apt" # fetched again where another list of packages is wanted
}

# provide_ppc64le: the compiler, the emulator and HOWDAH_PPC64LE_SYSROOT are there when it returns; otherwise it has left
# with UNAVAILABLE and said why.
provide_ppc64le() {
    local command lock packages
    for command in powerpc64le-linux-gnu-gcc qemu-ppc64le; do
        command -v "$command" >/dev/null || unavailable "$command is missing (ci/prepare installs it on Debian)"
    done
    PPC64LE_SYSROOT=$PPC64LE_CACHE/sysroot-$(sha256sum <"$HOWDAH_ROOT/native/packages.ppc64el" | cut -c1-12)
    if [ ! -d "$PPC64LE_SYSROOT" ]; then
        command -v apt-get >/dev/null || unavailable "no packages for ppc64le: this system has no apt"
        mkdir -p "$PPC64LE_CACHE"
        # Two clones may prepare at once; the second waits and finds it done.
        exec {lock}>"$PPC64LE_CACHE/lock"
        flock "$lock"
        if [ ! -d "$PPC64LE_SYSROOT" ]; then
            say "unpacking a sysroot for ppc64le into $PPC64LE_SYSROOT" >&2
            mapfile -t packages <"$HOWDAH_ROOT/native/packages.ppc64el"
            download_ppc64le "${packages[@]}"
            make_ppc64le_sysroot
        fi
        exec {lock}>&-
    fi
    export HOWDAH_PPC64LE_SYSROOT=$PPC64LE_SYSROOT
}
