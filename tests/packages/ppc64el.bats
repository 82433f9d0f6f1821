#!/usr/bin/env bats
# shellcheck disable=SC2143 # "! grep -q" would not fail a test
# The engine's package for ppc64el: what is in it is for that machine and runs there, under emulation.

setup() {
    . "$HOWDAH_ROOT/ci/lib/common.sh"
    . "$HOWDAH_ROOT/ci/lib/ppc64le.sh"
    set +u +o pipefail # as bats has it; errors still end a test
    run provide_ppc64le
    [ "$status" -eq 0 ] || skip "$output"
    provide_ppc64le
    # The sysroot's own C library, and the package on top of it.
    ROOT=$BATS_TEST_TMPDIR/root
    dpkg-deb -x "$(echo "$HOWDAH_BUILD"/packages/deb/ppc64el/howdah-engine_*.deb)" "$ROOT"
    EMULATE=(env "LD_LIBRARY_PATH=$ROOT/usr/lib/powerpc64le-linux-gnu" qemu-ppc64le -cpu power8 -L "$HOWDAH_PPC64LE_SYSROOT")
}

@test "every binary is for POWER, little endian, and asks for what the package names" {
    local file count=0
    while read -r file; do
        [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
        [[ $(readelf -h "$file") == *PowerPC64* && $(readelf -h "$file") == *'little endian'* ]]
        # debian/libc.shlibs says which C library it needs at least.
        [ "$(readelf -V "$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -n 1 | cut -d. -f2)" -le 28 ]
        count=$((count + 1))
    done < <(find "$ROOT" -type f)
    [ "$count" -eq 9 ]
    dpkg-deb -f "$HOWDAH_BUILD"/packages/deb/ppc64el/howdah-engine_*.deb Depends | grep -q 'libc6 (>= 2.28)'
}

@test "Hadoop's native library and libhdfs are in the packages of both architectures, for apt and for yum" {
    local arch listing
    for arch in amd64:x86_64 ppc64el:ppc64le; do
        listing=$(dpkg-deb -c "$HOWDAH_BUILD/packages/deb/${arch%:*}"/howdah-engine_*.deb)
        listing+=$(rpm -qlp "$HOWDAH_BUILD/packages/rpm/${arch#*:}"/howdah-engine-0*.rpm)
        [ "$(grep -c '/usr/lib/howdah/lib/native/libhadoop\.so$' <<<"$listing")" -eq 2 ]
        [ "$(grep -c '/usr/lib/howdah/lib/native/libhdfs\.so\.0\.0\.0$' <<<"$listing")" -ge 2 ]
        listing=$(dpkg-deb -c "$HOWDAH_BUILD/packages/deb/${arch%:*}"/howdah-engine-dev_*.deb)
        listing+=$(rpm -qlp "$HOWDAH_BUILD/packages/rpm/${arch#*:}"/howdah-engine-devel-0*.rpm)
        [ "$(grep -c '/usr/include/hdfs\.h$' <<<"$listing")" -eq 2 ]
    done
}

@test "howdah doctor runs" {
    run "${EMULATE[@]}" "$ROOT/usr/lib/howdah/libexec/native/hd-doctor"
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *ppc64* || $output == *POWER* || $output == *memory* ]]
}

@test "howdah conf runs" {
    "${EMULATE[@]}" "$ROOT/usr/lib/howdah/libexec/native/howdah-conf" | grep -q hadoop.rdma.transport
}

@test "the engine of yum's package is the same program" {
    mkdir "$BATS_TEST_TMPDIR/rpm"
    (cd "$BATS_TEST_TMPDIR/rpm" && rpm2cpio "$HOWDAH_BUILD"/packages/rpm/ppc64le/howdah-engine-0*.rpm | cpio -id --quiet)
    "${EMULATE[@]/#LD_LIBRARY_PATH=*/LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/rpm/usr/lib64}" \
        "$BATS_TEST_TMPDIR/rpm/usr/lib/howdah/libexec/native/howdah-conf" | grep -q hadoop.rdma.transport
}
