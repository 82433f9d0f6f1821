# Known holes of Hadoop 2.8.1 that our series closes. Each test fails on the stock tree.

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    # shellcheck source=/dev/null
    . "$ROOT/build/prepare.env"
    # shellcheck source=/dev/null
    . "$ROOT/build/bom.env"
    export JAVA_HOME
    CLASS_PATH=$("${TREE:-$ROOT/build/dist/howdah-$HOWDAH_VERSION}/bin/hadoop" classpath --glob)
    export CLASS_PATH
    "$JAVA_HOME/bin/javac" -nowarn -cp "$CLASS_PATH" -d "$BATS_FILE_TMPDIR" "$BATS_TEST_DIRNAME/Unpack.java"
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    echo content >file
}

unpack() { "$JAVA_HOME/bin/java" -cp "$BATS_FILE_TMPDIR:$CLASS_PATH" Unpack "$@"; }

# slip FILE: an archive with an entry that climbs out of its folder.
slip() {
    python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive: archive.writestr("../escaped", "evil")' "$1"
}

@test "CVE-2022-25168: an archive's name runs no command" {
    for name in 'x;touch pwned;.tar' "x'; touch pwned; echo '.tar.gz"; do
        tar caf "$name" file
        run unpack untar "$name" out
        [ ! -e pwned ]
        [ ! -e out/pwned ]
    done
}

@test "an ordinary archive is unpacked, plain and compressed, spaces in its name" {
    tar cf 'a b.tar' file
    tar czf 'a b.tar.gz' file
    unpack untar "$PWD/a b.tar" "$PWD/out one"
    unpack untar "$PWD/a b.tar.gz" "$PWD/out two"
    cmp file 'out one/file'
    cmp file 'out two/file'
}

@test "CVE-2018-8009: unZip does not climb out of its folder" {
    slip bad.zip
    run ! unpack unzip bad.zip out
    [[ $output == *"../escaped would be written outside of out"* ]]
    [ ! -e escaped ]
}

@test "CVE-2018-8009: unJar does not climb out of its folder" {
    slip bad.jar
    run ! unpack unjar bad.jar out
    [[ $output == *"../escaped would be written outside of out"* ]]
    [ ! -e escaped ]
}

@test "an ordinary zip and an ordinary jar are unpacked" {
    zip -q good.zip file
    cp good.zip good.jar
    unpack unzip good.zip one
    unpack unjar good.jar two
    cmp file one/file
    cmp file two/file
}
