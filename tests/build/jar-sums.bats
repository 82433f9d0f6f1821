# Vouching for the jars of the tree.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    mkdir -p "$BATS_TEST_TMPDIR/jars/one"
    cd "$BATS_TEST_TMPDIR"
    echo a >jars/a.jar
    echo b >jars/one/b.jar
    . "$ROOT/ci/lib/common.sh"
    . "$ROOT/ci/lib/jar-sums.sh"
    JAR_SUMS=$PWD/sums
    vouch jars
}

@test "what was vouched for passes" {
    run -0 check_sums jars
    [ -z "$output" ]
}

@test "a corrupted jar is named, with what to do" {
    echo rot >>jars/one/b.jar
    run ! check_sums jars
    [[ $output == *"b.jar is corrupted"* && $output == *"remove it"* ]]
}

@test "a jar that nobody vouched for is named" {
    echo c >jars/c.jar
    run ! check_sums jars
    [[ $output == *"c.jar is not in dist/SHA256SUMS"* ]]
}

@test "the committed list names each jar once" {
    [ -z "$(awk '!/^#/ { print $2 }' "$ROOT/dist/SHA256SUMS" | sort | uniq -d)" ]
}
