# ci/native: two at a time, as suites side by side start it, build one after the other. cmake and ninja are stand-ins.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    CLONE=$BATS_TEST_TMPDIR/clone
    mkdir -p "$CLONE/ci" "$CLONE/build" "$BATS_TEST_TMPDIR/bin"
    cp -r "$ROOT/ci/lib" "$ROOT/ci/native" "$CLONE/ci/"
    # What is installed: libraries, a header and a program.
    cat >"$BATS_TEST_TMPDIR/bin/cmake" <<'SH'
#!/usr/bin/env bash
[ "$1" = --install ] || exit 0
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/lib" "$2/bin" "$2/include"
touch "$2/lib/libhowdah.so" "$2/lib/libhadoop.so.1.0.0" "$2/lib/libhdfs.so" "$2/include/hdfs.h" "$2/bin/program"
SH
    cat >"$BATS_TEST_TMPDIR/bin/ninja" <<'SH'
#!/usr/bin/env bash
mkdir "$MEETING" || { echo "another ninja is at work here"; exit 1; }
sleep 1
rmdir "$MEETING"
SH
    chmod +x "$BATS_TEST_TMPDIR"/bin/*
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH MEETING=$BATS_TEST_TMPDIR/meeting
}

@test "two builds in one clone take turns" {
    "$CLONE/ci/native" --build 3>&- &
    local first=$!
    "$CLONE/ci/native" --build
    wait "$first"
    [ -e "$CLONE/build/native/dist/libhowdah.so" ]
    [ -e "$CLONE/build/native/dist/bin/program" ]
}
