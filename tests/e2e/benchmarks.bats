#!/usr/bin/env bats
# The programs of Hadoop's own jar of tests and benchmarks on a cluster, each at the smallest size that it takes.
#
# Not run: DFSCIOTest (wants the C library's test program), minicluster (is a cluster of its own), timelineperformance (wants a
# timeline server).

load lib

setup_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0 # what runs by itself needs no cluster
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c
    cluster start --dir "$DIR" --datanodes 2 --nodemanagers 1 --no-history
}

setup() {
    set_up_tree
    JAR=$(echo "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar)
    cd "$BATS_TEST_TMPDIR" # for the results that some leave where they are
}

teardown_file() {
    [ -n "${E2E_SLOW:-}" ] || return 0
    set_up_tree
    cluster stop --dir "$DIR"
}

# program NAME ARGUMENT...
program() {
    echo "# $1" >&3
    with "$DIR" hadoop jar "$JAR" "$@" >"$BATS_TEST_TMPDIR/$1.log" 2>&1 || { tail -n 40 "$BATS_TEST_TMPDIR/$1.log"; return 1; }
}

@test "TestDFSIO measures a folder of this machine, without a cluster" {
    "$TREE/bin/hadoop" jar "$JAR" TestDFSIO -D mapreduce.framework.name=local -D fs.defaultFS=file:/// \
        -D test.build.data="$BATS_TEST_TMPDIR/data" -write -nrFiles 1 -size 1MB >log 2>&1 || { tail -n 40 log; return 1; }
    grep -qE 'Throughput mb/sec: *[0-9]' log
}

@test "TestDFSIO measures a cluster" {
    slow
    local step
    for step in write read; do
        program TestDFSIO "-$step" -nrFiles 2 -size 1MB
        grep -qE 'Throughput mb/sec: *[0-9]' "$BATS_TEST_TMPDIR/TestDFSIO.log"
    done
}

@test "nnbench and mrbench measure the cluster" {
    slow
    # Its maps begin together, two minutes after the start.
    program nnbench -operation create_write -maps 2 -reduces 1 -numberOfFiles 5 -blockSize 1048576 -bytesToWrite 10 -baseDir /nnbench
    grep -q 'TPS: Create/Write/Close: [1-9]' nnbench.log
    program mrbench -numRuns 1 -maps 1 -reduces 1 -inputLines 10
    grep -q 'AvgTime (milliseconds)' mrbench.log
}

@test "file systems: checks, stress, load on the NameNode" {
    slow
    program TestDFSIO -clean
    program DistributedFSCheck -root / -clean
    program SliveTest -maps 1 -reduces 1 -files 5 -ops 20 -duration 10 -blockSize 1048576,1048576 -writeSize 1,1024 -appendSize 1,1024
    mkdir structure
    program NNstructureGenerator -maxDepth 2 -minWidth 1 -maxWidth 2 -numOfFiles 5 -avgFileSize 0.001 -outDir structure
    program NNdataGenerator -inDir structure -root /loadtest
    program NNloadGenerator -root /loadtest -numOfThreads 2 -elapsedTime 5 -maxDelayBetweenOps 50
    program nnbenchWithoutMR -operation createWrite -baseDir /nnb -numFiles 5 -blocksPerFile 1 -bytesPerBlock 1048576
    program testfilesystem -files 3 -megaBytes 1 -noseek
}

@test "MapReduce: sorts, loads, formats, tasks that sleep and jobs that fail" {
    slow
    program sleep -m 1 -r 1 -mt 10 -rt 10
    run program fail -failMappers
    [ "$status" -ne 0 ]
    grep -q 'Intentional map failure' "$BATS_TEST_TMPDIR/fail.log"
    with "$DIR" hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar randomwriter \
        -Dmapreduce.randomwriter.mapsperhost=1 -Dmapreduce.randomwriter.bytespermap=100000 /random >log 2>&1
    with "$DIR" hadoop jar "$TREE"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar sort -r 1 /random /sorted >log 2>&1
    program testmapredsort -sortInput /random -sortOutput /sorted
    program loadgen -m 1 -r 1 -indir /random -outdir /loaded -inFormat org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat \
        -outKey org.apache.hadoop.io.BytesWritable -outValue org.apache.hadoop.io.BytesWritable \
        -outFormat org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat
    program mapredtest 10 100
    program testsequencefile -count 100 -megabytes 1 "$BATS_TEST_TMPDIR/sequence"
    program testsequencefileinputformat
    program testtextinputformat
}
