#!/usr/bin/env bats
# Hadoop's native library in the tree, with real daemons.

bats_require_minimum_version 1.5.0

load lib

setup() {
    set_up_tree
    DIR=$BATS_TEST_TMPDIR/c
}

teardown() {
    [ ! -d "$DIR" ] || cluster stop --dir "$DIR"
    [ -z "${SOCKETS:-}" ] || rm -rf "$SOCKETS"
}

@test "checknative finds the library and all codecs, in our tree and in the reference tree" {
    local where library
    for where in "${TREE:?}" "$ROOT/build/stock"; do
        run -0 --separate-stderr "$where/bin/hadoop" checknative -a
        [[ $output == *"$(cd -P "$where" && pwd)/lib/native/libhadoop.so"* ]]
        for library in hadoop zlib snappy lz4 bzip2 openssl; do
            grep -qE "^$library: +true /" <<<"$output"
        done
    done
}

@test "a block is read from its file over a domain socket, and a path that others may write to is refused" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a folder below /run"
    SOCKETS=$(mktemp -d /run/howdah-test.XXXXXX)
    cluster start --dir "$DIR" --datanodes 1 --no-yarn -D dfs.replication=1 -D dfs.client.read.shortcircuit=true \
        -D dfs.domain.socket.path="$SOCKETS/dn"
    head -c 3M /dev/urandom >"$BATS_TEST_TMPDIR/data"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/data" /data
    with "$DIR" hdfs dfs -cat /data | cmp - "$BATS_TEST_TMPDIR/data"
    # The DataNode's own log of clients says that descriptors were passed.
    wait_until 20 grep -qE 'op: REQUEST_SHORT_CIRCUIT_FDS.*success: true' "$DIR/logs/datanode-1.log"
    cluster stop --dir "$DIR"
    chmod o+w "$SOCKETS"
    run cluster start --dir "$DIR"
    echo "$output"
    [ "$status" -ne 0 ]
    grep -q "a socket below '$SOCKETS' is not safe: everybody may write there" "$DIR/logs/datanode-1.log"
}

@test "files with CRC32 checksums go over the engine" {
    cluster start --dir "$DIR" --datanodes 1 --no-yarn --no-history -D dfs.replication=1
    head -c 3M /dev/urandom >"$BATS_TEST_TMPDIR/data"
    with "$DIR" hdfs dfs -D dfs.checksum.type=CRC32 -put "$BATS_TEST_TMPDIR/data" /data
    with "$DIR" hdfs dfs -checksum /data | grep 512CRC32
    with "$DIR" hdfs dfs -cat /data | cmp - "$BATS_TEST_TMPDIR/data"
}
