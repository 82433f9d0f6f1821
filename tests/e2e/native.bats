#!/usr/bin/env bats
# Hadoop's native library in the tree, with real daemons.

bats_require_minimum_version 1.5.0

load lib

# One cluster for most tests: its blocks go over the engine, it locks memory, drops what was written and read from the page cache, and has
# a key. A NameNode reads a key store when it starts.
setup_file() {
    set_up_tree
    export ALL=$BATS_FILE_TMPDIR/c CALLS=$BATS_FILE_TMPDIR/calls
    local keys=jceks://file$BATS_FILE_TMPDIR/keys yarn=()
    [ -n "${E2E_SLOW:-}" ] || yarn=(--no-yarn --no-history)
    lines >"$BATS_FILE_TMPDIR/lines"
    "$TREE/bin/hadoop" key create key -provider "$keys"
    note_calls "$BATS_FILE_TMPDIR/note.so"
    LD_PRELOAD=$BATS_FILE_TMPDIR/note.so cluster start --dir "$ALL" --datanodes 1 ${yarn[@]+"${yarn[@]}"} -D dfs.replication=1 \
        -D dfs.rdma.required=true -D "hadoop.security.key.provider.path=$keys" \
        -D hadoop.security.group.mapping=org.apache.hadoop.security.JniBasedUnixGroupsMapping \
        -D dfs.datanode.max.locked.memory=65536 -D dfs.namenode.path.based.cache.refresh.interval.ms=1000 \
        -D dfs.cachereport.intervalMsec=1000 -D dfs.datanode.drop.cache.behind.reads=true \
        -D dfs.datanode.drop.cache.behind.writes=true -D dfs.datanode.sync.behind.writes=true
}

teardown_file() {
    set_up_tree
    [ ! -d "$ALL" ] || cluster stop --dir "$ALL"
}

setup() {
    set_up_tree
    DIR=$BATS_TEST_TMPDIR/c
}

teardown() {
    [ ! -d "$DIR" ] || cluster stop --dir "$DIR"
    [ -z "${SOCKETS:-}" ] || rm -rf "$SOCKETS"
}

# note_calls LIBRARY: builds a library that, preloaded, adds to $CALLS a line for each call that advises the page cache.
note_calls() {
    gcc -shared -fPIC -O1 -o "$1" -xc - -ldl <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void note(const char *call, int how)
{
    char line[64];
    const char *file = getenv("CALLS");
    int fd = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && write(fd, line, (size_t)snprintf(line, sizeof(line), "%s %d\n", call, how)) >= 0)
        close(fd);
}
int posix_fadvise64(int fd, off64_t at, off64_t length, int advice)
{
    note("advice", advice);
    return syscall(SYS_fadvise64, fd, at, length, advice) == 0 ? 0 : 22;
}
int posix_fadvise(int fd, off_t at, off_t length, int advice) { return posix_fadvise64(fd, at, length, advice); }
int sync_file_range(int fd, off64_t at, off64_t length, unsigned flags)
{
    note("sync", (int)flags);
    return (int)syscall(SYS_sync_file_range, fd, at, length, flags);
}
C
}

# lines: keys and values, sorted, with a tab in between.
lines() { python3 -c 'for i in range(3000): print("key%06d\tvalue %d %s" % (i, i * 7919, "abc" * (i % 99)))'; }

all() { with "$ALL" "$@"; }

codec_files() { python3 "$BATS_TEST_DIRNAME/codec_files.py" "$@"; }

examples() { echo "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar; }

# class CODEC: its class, by the ending of its files.
class() {
    local -A names=([snappy]=Snappy [lz4]=Lz4 [deflate]=Default [gz]=Gzip [bz2]=BZip2)
    echo "org.apache.hadoop.io.compress.${names[$1]}Codec"
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

# datanode_again: the DataNode of DIR ends; the cluster is started again, which starts what does not run.
datanode_again() {
    kill "$(pid_of "$DIR" datanode-1)"
    wait_until 60 datanode_is_dead
    cluster start --dir "$DIR"
}

datanode_is_dead() { [ "$(state "$DIR" datanode-1)" = dead ]; }

@test "without libhadoop a block is read over the network, with it from its file, over a domain socket that is safe" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a folder below /run"
    SOCKETS=$(mktemp -d /run/howdah-test.XXXXXX)
    mkdir "$BATS_TEST_TMPDIR/bad"
    echo 'no library' >"$BATS_TEST_TMPDIR/bad/libhadoop.so"
    JAVA_LIBRARY_PATH=$BATS_TEST_TMPDIR/bad cluster start --dir "$DIR" --datanodes 1 --no-yarn --no-history -D dfs.replication=1 \
        -D dfs.client.read.shortcircuit=true -D dfs.domain.socket.path="$SOCKETS/dn"
    head -c 3M /dev/urandom >"$BATS_TEST_TMPDIR/data"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/data" /data
    holds "$DIR" /data "$BATS_TEST_TMPDIR/data"
    grep -F libhadoop "$DIR/logs/datanode-1.log"
    [ "$(grep -cF "using builtin-java classes where applicable: $BATS_TEST_TMPDIR/bad/libhadoop.so: " "$DIR/logs/datanode-1.log")" -eq 1 ]
    [ "$(grep -c 'we cannot start a localDataXceiverServer because libhadoop' "$DIR/logs/datanode-1.log")" -eq 1 ]

    datanode_again
    holds "$DIR" /data "$BATS_TEST_TMPDIR/data"
    # The DataNode's own log of clients says that descriptors were passed.
    wait_until 60 grep -qE 'op: REQUEST_SHORT_CIRCUIT_FDS.*success: true' "$DIR/logs/datanode-1.log"

    # A folder where somebody else could put another socket, and one that is not there: named, and read over the network.
    chmod o+w "$SOCKETS"
    datanode_again
    grep -q "we cannot start a localDataXceiverServer because a socket below '$SOCKETS' is not safe: everybody may write there" "$DIR/logs/datanode-1.log"
    holds "$DIR" /data "$BATS_TEST_TMPDIR/data"
    rm -r "$SOCKETS"
    datanode_again
    grep -q "we cannot start a localDataXceiverServer because cannot look at '$SOCKETS'" "$DIR/logs/datanode-1.log"
    holds "$DIR" /data "$BATS_TEST_TMPDIR/data"
}

@test "a job whose codec has no library is refused when it is submitted, and nothing of it is left" {
    slow
    local what property codec
    mkdir "$BATS_TEST_TMPDIR/libraries"
    echo 'no library' | tee "$BATS_TEST_TMPDIR/libraries/libsnappy.so.1" >"$BATS_TEST_TMPDIR/libraries/liblz4.so.1"
    for what in 'Map output:mapreduce.map.output.compress:snappy' 'Job output:mapreduce.output.fileoutputformat.compress:lz4'; do
        IFS=: read -r what property codec <<<"$what"
        LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/libraries run all hadoop jar "$(examples)" wordcount -D "$property=true" \
            -D "$property.codec=$(class "$codec")" /nothing /refused
        echo "$output"
        [ "$status" -ne 0 ]
        grep -qE "IOException: $what cannot be compressed by $(class "$codec") \\($property.codec\\): lib$codec.so.1 cannot be loaded \\(package .* Install what is missing" <<<"$output"
    done
    run all yarn application -list -appStates ALL
    grep -q '^Total number of applications.*:0$' <<<"$output"
}

@test "hdfs dfs -text reads files and sequence files of each codec that another program has written" {
    local file
    mkdir "$BATS_TEST_TMPDIR/written"
    codec_files write "$BATS_TEST_TMPDIR/written" "$BATS_FILE_TMPDIR/lines"
    all hdfs dfs -put "$BATS_TEST_TMPDIR/written" /written
    all hdfs dfs -text '/written/*' >"$BATS_TEST_TMPDIR/text"
    for file in "$BATS_TEST_TMPDIR"/written/*; do cat "$BATS_FILE_TMPDIR/lines"; done | cmp - "$BATS_TEST_TMPDIR/text"
}

# sort_by MAP-CODEC CODEC TYPE [OPTION...]: a job sorts the lines into a sequence file, which another program reads.
sort_by() {
    local number
    all hadoop jar "$(examples)" sort -D mapreduce.map.output.compress=true \
        -D mapreduce.map.output.compress.codec="$(class "$1")" -D mapreduce.output.fileoutputformat.compress=true \
        -D mapreduce.output.fileoutputformat.compress.codec="$(class "$2")" \
        -D mapreduce.output.fileoutputformat.compress.type="$3" "${@:4}" -r 1 \
        -inFormat org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat \
        -outFormat org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat \
        -outKey org.apache.hadoop.io.Text -outValue org.apache.hadoop.io.Text /lines "/sorted-$2-$3" >"$BATS_TEST_TMPDIR/job" 2>&1 ||
        { cat "$BATS_TEST_TMPDIR/job" && return 1; }
    for number in 'Map output bytes' 'Map output materialized bytes'; do
        sed -n "s/^\t*$number=//p" "$BATS_TEST_TMPDIR/job"
    done | { read -r plain && read -r packed && echo "$1: $plain bytes are $packed" && [ "$packed" -lt "$((plain / 2))" ]; }
    all hdfs dfs -get "/sorted-$2-$3/part-r-00000" "$BATS_TEST_TMPDIR/$2-$3.seq"
    grep -qaF "$(class "$2")" "$BATS_TEST_TMPDIR/$2-$3.seq"
    codec_files text "$BATS_TEST_TMPDIR/$2-$3.seq" | cmp - "$BATS_FILE_TMPDIR/lines"
}

@test "a job on YARN packs its map output with Snappy and its sequence file with LZ4, which another program reads" {
    slow
    all hdfs dfs -put "$BATS_FILE_TMPDIR/lines" /lines
    sort_by snappy lz4 BLOCK
}

@test "jobs pack their map output, sequence files and lines with each codec, and other programs read them" {
    slow
    local codec maps=lz4
    all hdfs dfs -test -e /lines || all hdfs dfs -put "$BATS_FILE_TMPDIR/lines" /lines
    for codec in snappy lz4 deflate gz bz2; do
        sort_by "$maps" "$codec" RECORD
        all hadoop jar "$(examples)" wordcount -D mapreduce.output.fileoutputformat.compress=true \
            -D mapreduce.output.fileoutputformat.compress.codec="$(class "$codec")" /lines "/counted-$codec"
        all hdfs dfs -get "/counted-$codec/part-r-00000.$codec" "$BATS_TEST_TMPDIR/"
        codec_files text "$BATS_TEST_TMPDIR/part-r-00000.$codec" |
            cmp - <(tr -s '\t ' '\n' <"$BATS_FILE_TMPDIR/lines" | LC_ALL=C sort | uniq -c | awk '{ print $2 "\t" $1 }')
        maps=$codec
    done
}

@test "files with other checksums than the default go over the engine" {
    all hdfs dfs -D dfs.checksum.type=CRC32 -put "$BATS_FILE_TMPDIR/lines" /crc32
    all hdfs dfs -checksum /crc32 | grep 512CRC32
    all hdfs dfs -put "$BATS_FILE_TMPDIR/lines" /crc32c
    # Translated by the DataNode: what is appended has the file's type.
    all hdfs dfs -D dfs.checksum.type=CRC32 -appendToFile "$BATS_FILE_TMPDIR/lines" /crc32c
    all hdfs dfs -cat /crc32 /crc32c | cmp - <(cat "$BATS_FILE_TMPDIR"/{lines,lines,lines})
}

# locked: bytes of memory that the DataNode has locked, by its own metrics.
locked() { metric "$ALL" datanode-1 'FSDatasetState*' CacheUsed; }

is_locked() { [ "$(locked)" -ge "$1" ]; }

# locked_pages: kilobytes that the DataNode has locked, by the kernel.
locked_pages() { awk '/^VmLck:/ { print $2 }' "/proc/$(pid_of "$ALL" datanode-1)/status"; }

# is_counted BYTES: the NameNode counts one file of so many bytes as cached.
is_counted() { all hdfs cacheadmin -listDirectives -stats -path /cached | grep -qE " $1 +$1 +1 +1 *\$"; }

is_free() { [ "$(locked)" -eq 0 ]; }

@test "a file that cacheadmin names is locked in memory, and no longer when it is taken back" {
    slow
    local before
    before=$(locked_pages)
    head -c 20000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
    all hdfs dfs -put "$BATS_TEST_TMPDIR/data" /cached
    all hdfs cacheadmin -addPool pool
    all hdfs cacheadmin -addDirective -path /cached -pool pool
    wait_until 120 is_locked 20000
    [ "$(locked_pages)" -ge "$((before + 20))" ]
    wait_until 120 is_counted 20000
    holds "$ALL" /cached "$BATS_TEST_TMPDIR/data"
    all hdfs cacheadmin -removeDirectives -path /cached
    wait_until 120 is_free
}

advised() { grep -qx "$1" "$CALLS"; }

@test "a DataNode advises the page cache of what it writes and reads" {
    slow
    local call
    head -c 40M /dev/zero >"$BATS_TEST_TMPDIR/data"
    : >"$CALLS"
    all hdfs dfs -put "$BATS_TEST_TMPDIR/data" /advised
    # Written back early (SYNC_FILE_RANGE_WRITE), then dropped (POSIX_FADV_DONTNEED).
    for call in 'sync 2' 'advice 4'; do wait_until 60 advised "$call"; done
    : >"$CALLS"
    all hdfs dfs -cat /advised | cmp - "$BATS_TEST_TMPDIR/data"
    # Sequential, read ahead, dropped.
    for call in 'advice 2' 'advice 3' 'advice 4'; do wait_until 60 advised "$call"; done
    run ! grep -hE 'Error managing cache|Failed readahead' "$ALL/logs/datanode-1.log"
}

@test "the NameNode knows groups by the C library; OpenSSL writes a zone that Java's cipher reads" {
    run -0 --separate-stderr all hdfs groups root daemon
    [ "$output" = "$(for user in root daemon; do echo "$user : $(id -Gn "$user")"; done)" ]
    local codecs=hadoop.security.crypto.codec.classes.aes.ctr.nopadding
    all hdfs dfs -mkdir /zone
    all hdfs crypto -createZone -keyName key -path /zone
    all hdfs dfs -D $codecs=org.apache.hadoop.crypto.OpensslAesCtrCryptoCodec -put "$BATS_FILE_TMPDIR/lines" /zone/lines
    all hdfs dfs -D $codecs=org.apache.hadoop.crypto.JceAesCtrCryptoCodec -cat /zone/lines | cmp - "$BATS_FILE_TMPDIR/lines"
    all hdfs dfs -cat /.reserved/raw/zone/lines >"$BATS_TEST_TMPDIR/raw"
    [ "$(stat -c %s "$BATS_TEST_TMPDIR/raw")" -eq "$(stat -c %s "$BATS_FILE_TMPDIR/lines")" ]
    run ! grep -qa key000 "$BATS_TEST_TMPDIR/raw"
}

@test "Spark writes and reads Parquet, ORC and Hadoop's files with Snappy, on YARN" {
    slow
    cd "$BATS_TEST_TMPDIR" # Hive keeps its metastore where it is run
    all spark-submit --master yarn --num-executors 1 --conf spark.sql.warehouse.dir="$BATS_TEST_TMPDIR/warehouse" \
        "$BATS_TEST_DIRNAME/spark_snappy.py" "$(class snappy)" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" ||
        { tail -50 "$BATS_TEST_TMPDIR/err" && false; }
    grep -qx 'all files hold 1000 rows' "$BATS_TEST_TMPDIR/out"
    run -0 --separate-stderr all hdfs dfs -ls -R /spark
    for file in snappy.parquet snappy.orc snappy; do grep -qE "/part-[^ ]*\.$file\$" <<<"$output"; done
}
