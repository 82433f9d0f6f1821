#!/usr/bin/env bats
# shellcheck disable=SC2016 # expanded in there
# Native code of the packages with an older C library than this machine's: that of Debian 11, 2.31. Files of that system only,
# nothing is installed in it; bullseye.bats has the daemons.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root REASON ROOT_SUITE=bullseye ROOT_FILES=base-files,bash,coreutils,libc-bin,sed,grep,libtinfo6
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    make_root "$ROOT"
    mkdir "$ROOT.repo"
    dpkg-deb -x "$(echo "$HOWDAH_BUILD/packages/deb/$(dpkg --print-architecture)"/howdah-engine_*.deb)" "$ROOT"
    touch "$ROOT.repo/ready"
    boot_root "$ROOT"
}

teardown_file() { [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }; }

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    [ -z "$REASON" ] || skip "$REASON"
    [[ $(in_root ldd --version) == *' 2.31'* ]]
}

@test "every program and library finds all it needs in Debian 11's C library" {
    local file count=0
    while read -r file; do
        [ "$(head -c 4 "$ROOT$file" | tail -c 3)" = ELF ] || continue
        run in_root ldd -r "$file"
        echo "$file: $output"
        [ "$status" -eq 0 ]
        [[ $output != *'not found'* && $output != *'undefined symbol'* ]]
        count=$((count + 1))
    done < <(cd "$ROOT" && find usr/lib/howdah usr/lib/*-linux-gnu/libhowdah* -type f -printf '/%p\n')
    [ "$count" -ge 9 ]
}

@test "an engine starts and moves data, and howdah doctor says how the node is" {
    run in_root /usr/lib/howdah/libexec/native/hd-perf --engine-only --latency 64 --bandwidth 64k --rounds 1 --iterations 1000
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *latency*bandwidth* ]]
    run in_root /usr/lib/howdah/libexec/native/hd-doctor
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *memory* ]]
}
