# What ci/native makes for the distribution: the engine and its tools, the same bytes wherever they are built.

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    export ROOT
    [ -d "$ROOT/build/native/dist" ] || { echo "the engine was not built: run make engine" >&2; return 1; }
}

sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum && find . -type l -printf '%p %l\n' | sort); }

@test "the engine has the same bytes when it is built somewhere else" {
    local other=$BATS_TEST_TMPDIR/a/rather/longer/path/than/the/first
    mkdir -p "$other"
    cp -a "$ROOT/ci" "$ROOT/native" "$other/"
    mkdir "$other/build" # the same JDK's jni.h
    cp "$ROOT/build/prepare.env" "$other/build/"
    "$other/ci/native" --dist
    diff <(sums "$ROOT/build/native/dist") <(sums "$other/build/native/dist")
}

@test "nothing of it names the folder that it was built in" {
    run -1 grep -rqF "$ROOT" "$ROOT/build/native/dist"
}

@test "every tool finds the library when the two are put where the tree has them" {
    mkdir -p "$BATS_TEST_TMPDIR/tree/lib/native" "$BATS_TEST_TMPDIR/tree/libexec"
    cp -P "$ROOT"/build/native/dist/lib*.so* "$BATS_TEST_TMPDIR/tree/lib/native/"
    cp -r "$ROOT/build/native/dist/bin" "$BATS_TEST_TMPDIR/tree/libexec/native"
    for tool in "$BATS_TEST_TMPDIR"/tree/libexec/native/*; do
        run ! grep -q 'not found' <(ldd "$tool")
    done
    run -0 "$BATS_TEST_TMPDIR/tree/libexec/native/hd-doctor" --help
    [[ $output == usage:* ]]
}
