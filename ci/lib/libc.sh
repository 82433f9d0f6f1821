# shellcheck shell=bash
# The C library that native code is linked to: glibc 2.28, that of RHEL 8, so that what is built on a newer system loads on
# an older one. The compiler is the system's; Zig's wheel (ci/lib/ziglang.lock) has the headers and makes stubs of the
# libraries, which hold symbols and no code. Made once, in a folder that all clones share. Sourced after common.sh.

LIBC_VERSION=2.28
LIBC_ZIG=$(sed -n 's/^ziglang==\([^ ]*\).*/\1/p' "$HOWDAH_ROOT/ci/lib/ziglang.lock")
LIBC_CACHE=$HOWDAH_CACHE/libc-$LIBC_VERSION-zig-$LIBC_ZIG

# Headers of what is loaded at run time, and of the tests' library: the system's own. What they depend on is the same on every
# little-endian architecture of 64 bits.
LIBC_GUESTS=(cmocka.h dat2 hwloc hwloc.h infiniband rdma)

# libc_log COMMAND...: runs it with its output in the log.
libc_log() { "$@" </dev/null >>"$LIBC_CACHE/prepare.log" 2>&1; }

fetch_zig() {
    local work=$LIBC_CACHE/zig.new
    [ ! -x "$LIBC_CACHE/zig/ziglang/zig" ] || return 0
    rm -rf "$work"
    libc_log python3 -m venv "$work/venv" || die "python3 -m venv failed" "see $LIBC_CACHE/prepare.log"
    libc_log "$work/venv/bin/pip" install --no-deps --require-hashes --only-binary :all: --target "$work" \
        -r "$HOWDAH_ROOT/ci/lib/ziglang.lock" || die "pip could not install ziglang" "see $LIBC_CACHE/prepare.log"
    rm -rf "$work/venv" "$LIBC_CACHE/zig"
    mv "$work" "$LIBC_CACHE/zig"
}

# make_stubs ARCHITECTURE FOLDER: usr/lib. Zig names what it made for a program in the linker's command line.
make_stubs() {
    local cpu=$1 lib=$2/usr/lib zig=$LIBC_CACHE/zig/ziglang/zig work=$2.work file
    [ "$cpu" != ppc64le ] || cpu=powerpc64le
    rm -rf "$work"
    mkdir -p "$lib" "$work"
    echo 'int main(void) { return 0; }' >"$work/main.c"
    ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache libc_log "$zig" cc -target "$cpu-linux-gnu.$LIBC_VERSION" \
        -O2 -s "$work/main.c" -o "$work/main" || die "Zig could not make the C library for $1" "see $LIBC_CACHE/prepare.log"
    find "$work/cache" -type f \( -name 'lib*.so.[0-9]' -o -name crt1.o -o -name libc_nonshared.a \) -exec cp {} "$lib/" \;
    # Programs are position independent; the C library's own start and end of each section are empty nowadays.
    for file in Scrt1.o crt1.o; do [ -e "$lib/$file" ] || cp "$lib/crt1.o" "$lib/$file"; done
    echo '.section .note.GNU-stack,"",@progbits' >"$work/empty.s"
    for file in crti crtn; do
        libc_log "$(libc_compiler "$1")" -c "$work/empty.s" -o "$lib/$file.o" || die "$file.o could not be made" "see $LIBC_CACHE/prepare.log"
    done
    (cd "$lib" && for file in m dl pthread rt util resolv; do ln -s "lib$file".so.[0-9] "lib$file.so"; done)
    echo "GROUP ( /usr/lib/libc.so.6 /usr/lib/libc_nonshared.a AS_NEEDED ( /usr/lib/libld.so.2 ) )" >"$lib/libc.so"
    rm -rf "$work"
}

# copy_headers ARCHITECTURE FOLDER: usr/include; what is special to the architecture replaces what is general.
copy_headers() {
    local from=$LIBC_CACHE/zig/ziglang/lib/libc/include to=$2/usr/include arch=x86 name
    [ "$1" != ppc64le ] || arch=powerpc
    mkdir -p "$to"
    for name in any-linux-any "$arch-linux-any" generic-glibc "$arch-linux-gnu"; do cp -R "$from/$name/." "$to/"; done
    # Zig gives the version with each call of its compiler.
    sed -i "1i #ifndef __GLIBC_MINOR__\n# define __GLIBC_MINOR__ ${LIBC_VERSION#2.}\n#endif" "$to/features.h"
    for name in "${LIBC_GUESTS[@]}"; do
        [ -e "/usr/include/$name" ] || die "the header $name is missing" "run: make prepare"
        cp -RL "/usr/include/$name" "$to/"
        # Debian keeps what configure scripts find out in a folder of the architecture.
        [ ! -d "/usr/include/$(uname -m)-linux-gnu/$name" ] || cp -RL "/usr/include/$(uname -m)-linux-gnu/$name" "$to/"
    done
}

# libc_compiler ARCHITECTURE
libc_compiler() { if [ "$1" = "$(uname -m)" ]; then echo gcc; else echo powerpc64le-linux-gnu-gcc; fi; }

# provide_libc x86_64|ppc64le: HOWDAH_LIBC is the folder to give to a compiler as --sysroot.
# On a machine that the wheel is not for it is empty: the system's own.
provide_libc() {
    local target=$LIBC_CACHE/$1 lock
    export HOWDAH_LIBC=''
    if [ "$(uname -m)" != x86_64 ]; then
        warn "no glibc $LIBC_VERSION to link to on $(uname -m): what is built here needs this system's C library or a later one"
        return 0
    fi
    HOWDAH_LIBC=$target
    [ ! -d "$target" ] || return 0
    mkdir -p "$LIBC_CACHE"
    # Two clones may prepare at once; the second waits and finds it done.
    exec {lock}>"$LIBC_CACHE/lock"
    flock "$lock"
    if [ ! -d "$target" ]; then
        say "making a C library $LIBC_VERSION to link to, for $1, in $LIBC_CACHE" >&2
        fetch_zig
        rm -rf "$target.new"
        make_stubs "$1" "$target.new"
        copy_headers "$1" "$target.new"
        ln -s usr/lib "$target.new/lib"
        ln -s usr/lib "$target.new/lib64"
        ln -s lib "$target.new/usr/lib64"
        mv "$target.new" "$target"
    fi
    exec {lock}>&-
}
