# shellcheck shell=bash
# What the tests of the distribution tree share. Loaded by the *.bats here.

bats_require_minimum_version 1.5.0

# find_built_tree: ROOT, the clone; TREE, what ci/dist built; an environment without a site's settings.
find_built_tree() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    # shellcheck source=/dev/null
    set -a && . "$ROOT/build/bom.env" && set +a
    TREE=$ROOT/build/dist/howdah-$HOWDAH_VERSION
    [ -e "$TREE/RELEASE" ] || { echo "there is no tree: run make dist" >&2; return 1; }
    # shellcheck source=/dev/null
    . "$ROOT/build/prepare.env"
    export ROOT TREE JAVA_HOME SPARK_LOCAL_IP=127.0.0.1
    unset HADOOP_HOME HADOOP_CONF_DIR HADOOP_CLASSPATH HADOOP_OPTS HADOOP_CLIENT_OPTS SPARK_HOME SPARK_CONF_DIR
}

# copy_of_tree FOLDER: the tree at another place, its jars as hard links where the file system can.
copy_of_tree() {
    mkdir -p "$(dirname "$1")"
    cp -al "$TREE" "$1" 2>/dev/null || { rm -rf "$1"; cp -a "$TREE" "$1"; }
}

# fails_with TEXT COMMAND...: the command fails, its message holds TEXT, and no stack trace is shown.
fails_with() {
    local text=$1
    shift
    run "$@"
    # shellcheck disable=SC2154 # run sets both
    echo "$output"
    # shellcheck disable=SC2154
    [ "$status" -ne 0 ]
    [[ $output == *"$text"* ]]
    [[ $output != *$'\tat '* ]]
}
