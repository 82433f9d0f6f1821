#!/usr/bin/env bats
# shellcheck disable=SC2317 # the stand-ins are called by what is tested
# A private JDK 8, made of what a distribution's archive has. Downloading and unpacking are stood in for.

setup() {
    . "$HOWDAH_ROOT/ci/lib/common.sh"
    . "$HOWDAH_ROOT/ci/lib/jdk8.sh"
    debian_mirror() { echo https://example.org/debian; }
    relink_jdk8() { :; }
}

@test "what a private JDK is made of stays until it is made, and is gone then" {
    download_jdk8() { touch "$1/archive" && echo "$1" >"$BATS_TEST_TMPDIR/work"; }
    unpack_jdk8() { mkdir "$2" && cp "$1/archive" "$2"; }
    make_private_jdk8 "$BATS_TEST_TMPDIR/jdk" another
    [ -e "$BATS_TEST_TMPDIR/jdk/archive" ]
    [ ! -e "$(cat "$BATS_TEST_TMPDIR/work")" ]
}

@test "an archive that cannot be reached is named" {
    download_jdk8() { return 100; }
    run make_private_jdk8 "$BATS_TEST_TMPDIR/jdk" another
    [ "$status" -ne 0 ]
    [[ $output == *"OpenJDK 8 for another could not be had from https://example.org/debian"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/jdk" ]
}
