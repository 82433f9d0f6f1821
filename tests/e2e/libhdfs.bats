#!/usr/bin/env bats
# libhdfs: a C program and pyarrow on a cluster whose data goes over the engine, and what they are told where something is missing.

bats_require_minimum_version 1.5.0

load lib

setup_file() {
    set_up_tree
    . "$ROOT/ci/lib/common.sh"
    . "$ROOT/ci/lib/pyarrow.sh"
    export DIR=$BATS_FILE_TMPDIR/c PROGRAM=$BATS_FILE_TMPDIR/libhdfs PYARROW_WHY=''
    PYARROW_WHY=$(why_no_pyarrow)
    [ -n "$PYARROW_WHY" ] || provide_pyarrow
    # Required: what would go over a socket fails.
    cluster start --dir "$DIR" --datanodes 1 --no-yarn -D dfs.replication=1 -D hadoop.rdma.enabled=required
    cc -std=gnu11 -O1 -g -Wall -Wextra -Werror -pthread -I "${TREE:?}/include" -o "$PROGRAM" "$BATS_TEST_DIRNAME/libhdfs.c" \
        -L "$TREE/lib/native" -lhdfs -Wl,-rpath,"$TREE/lib/native"
    # used PID: the engine of the process has opened streams. The program runs this.
    cat >"$BATS_FILE_TMPDIR/used" <<'SH'
#!/bin/sh
"$HOWDAH" stat "$1" | awk '$1 == "streams.opened" && $2 > 0 { used = 1 } END { exit !used }'
SH
    chmod +x "$BATS_FILE_TMPDIR/used"
}

setup() {
    set_up_tree
    export HADOOP_CONF_DIR=$DIR/conf PRIVATE=$JAVA_HOME/sysroot
    unset CLASSPATH LIBHDFS_OPTS
}

teardown_file() {
    set_up_tree
    cluster stop --dir "$DIR"
}

# with_jvm COMMAND...: a program that loads a JVM. The private JDK of ci/prepare has a C library of its own, newer than the system's; the
# program runs with that one then. Under the command UNDER, where that is set.
with_jvm() {
    local loader=("$PRIVATE"/ld*.so.[0-9]*)
    [ ! -e "${loader[0]}" ] || set -- "${loader[0]}" --library-path "$PRIVATE" "$@"
    ${UNDER[@]+"${UNDER[@]}"} "$@"
}

@test "a C program calls every function, and its data goes over the engine" {
    run --separate-stderr with_jvm "$PROGRAM" all "$BATS_FILE_TMPDIR/used"
    # shellcheck disable=SC2154 # bats's
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ "$output" = 'all is well' ]
    # Said are only the failures that errno does not tell: a seek beyond the end, a number that is none, a fork.
    [ "$(grep -c '^libhdfs: ' <<<"$stderr")" -eq 4 ]
    [[ $stderr == *'hdfsSeek(): java.io.EOFException'*NumberFormatException*'was forked'* ]]
}

@test "a NameNode that is not there, and names that are none, are an errno and a line" {
    run --separate-stderr with_jvm "$PROGRAM" errors
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^libhdfs: ' <<<"$stderr")" -eq 3 ] # and Hadoop's log, as the cluster has it
    [[ $stderr == *'libhdfs: hdfsExists(/): java.net.ConnectException: '* ]]
}

# fails_to_connect LINE: the program ends by itself, with the line before its own.
fails_to_connect() {
    run --separate-stderr with_jvm "$PROGRAM" connect
    echo "$output $stderr"
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2154
    [[ ${stderr_lines[-2]} == "libhdfs: "$1 ]]
    [[ ${stderr_lines[-1]} == *'hdfsConnect("default", 0)'* ]]
}

@test "without a JVM, with options or a class path that are wrong, one line says what to set" {
    JAVA_HOME=/nonexistent fails_to_connect 'JAVA_HOME=/nonexistent has no */libjvm.so: set it to the folder of a JDK 8'
    CLASSPATH=$HADOOP_CONF_DIR fails_to_connect "the JVM's class path has no Hadoop*set CLASSPATH to what 'hadoop classpath --glob' prints"
    LIBHDFS_OPTS='-Xmx64m --no-such-option' fails_to_connect "the JVM did not start*check LIBHDFS_OPTS='-Xmx64m --no-such-option'"
    mkdir "$BATS_TEST_TMPDIR/alone"
    cp "$TREE"/lib/native/libhdfs.so* "$BATS_TEST_TMPDIR/alone/"
    LD_PRELOAD=$BATS_TEST_TMPDIR/alone/libhdfs.so.0.0.0 fails_to_connect 'CLASSPATH is not set, and this library is not in a Hadoop tree: *'
    CLASSPATH=$(with "$DIR" hadoop classpath) LD_PRELOAD=$BATS_TEST_TMPDIR/alone/libhdfs.so.0.0.0 run -0 with_jvm "$PROGRAM" connect
    LIBHDFS_OPTS=-Xmx64m run -0 with_jvm "$PROGRAM" connect
}

@test "no memory of the library is lost (valgrind)" {
    slow
    local log=$BATS_TEST_TMPDIR/valgrind.log
    command -v valgrind >/dev/null || skip "valgrind is missing"
    if [ -d "$PRIVATE" ]; then
        . "$ROOT/ci/lib/common.sh"
        . "$ROOT/ci/lib/jdk8.sh"
        set +u +o pipefail # as bats has it
        sysroot_with_symbols "$JAVA_HOME" "$BATS_TEST_TMPDIR/sysroot" || skip "no debugging symbols of the private JDK 8's C library are to be had"
        PRIVATE=$BATS_TEST_TMPDIR/sysroot
    fi
    # Of what a JVM does memcheck understands little: only what was lost, and by us, counts. Reads and writes out of bounds are looked
    # for without one (test_hdfs of ci/native --valgrind).
    UNDER=(valgrind --smc-check=all-non-file --undef-value-errors=no --leak-check=full --show-leak-kinds=definite --num-callers=30
        --child-silent-after-fork=yes --log-file="$log")
    run with_jvm "$PROGRAM" all true
    echo "$output"
    [ "$status" -eq 0 ]
    grep 'definitely lost:' "$log"
    # Whose call of the C library each lost block is from.
    # shellcheck disable=SC2016 # awk's
    run -0 awk '/definitely lost in/ { lost = $0; looking = 1; next }
        looking && /(at|by) 0x/ && !/alloc|strdup|asprintf|memstream|vgpreload|libc[.-]|ld-linux/ {
            if (/libhdfs\.so/) { print lost; print }
            looking = 0
        }' "$log"
    [ -z "$output" ]
}

@test "pyarrow's HadoopFileSystem writes, reads, lists and deletes over the engine" {
    [ -z "$PYARROW_WHY" ] || skip "$PYARROW_WHY"
    HADOOP_HOME=$TREE PYTHONPATH=$PYARROW run --separate-stderr with_jvm "$(python3 -c "import sys; print(sys.executable)")" "$BATS_TEST_DIRNAME/libhdfs_pyarrow.py"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ "$output" = 'all is well' ]
}
