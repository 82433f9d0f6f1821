# What the commands do about the system they run on: its locale, users without a name, /tmp that does not execute, a tree that
# may not be written to.

load tree

setup_file() {
    find_built_tree
    CLASS_PATH=$("$TREE/bin/hadoop" classpath --glob)
    "$JAVA_HOME/bin/javac" -nowarn -cp "$CLASS_PATH" -d "$BATS_FILE_TMPDIR" "$BATS_TEST_DIRNAME/UseLibraries.java"
}

# names FOLDER: what is in it, without checksums.
names() { find "$1" -mindepth 1 -not -name ".*" -printf "%f\n" | LC_ALL=C sort | paste -sd' '; }

@test "no file name is lost where the locale is ASCII, or one that the system does not have" {
    local locale in=$BATS_TEST_TMPDIR/in out=$BATS_TEST_TMPDIR/out
    mkdir "$in"
    touch "$in/Übung.txt" "$in/日本.txt"
    for locale in LC_ALL=C LC_ALL=POSIX LANG=C LANG=xx_YY.UTF-8 'LC_CTYPE=C LANG=C.UTF-8'; do
        rm -rf "$out"
        # shellcheck disable=SC2086 # one or two settings
        env -u LC_ALL -u LC_CTYPE -u LANG $locale "$TREE/bin/hdfs" dfs -put "$in" "file://$out"
        [ "$(names "$out")" = 'Übung.txt 日本.txt' ]
        # Arguments, too: one file is not taken for another.
        run ! env -u LC_CTYPE LC_ALL=C "$TREE/bin/hadoop" fs -rm "file://$out/Öbung.txt"
        [ "$(names "$out")" = 'Übung.txt 日本.txt' ]
    done
    env -u LC_CTYPE LC_ALL=C "$TREE/bin/hadoop" fs -rm "file://$out/Übung.txt"
    [ "$(names "$out")" = 日本.txt ]
}

@test "Spark and its Python see file names so, too" {
    touch "$BATS_TEST_TMPDIR/Übung.txt"
    cat >"$BATS_TEST_TMPDIR/job.py" <<'PY'
import os, sys
from pyspark import SparkContext
sc = SparkContext()
folder = sys.argv[1]
print(ascii(sorted(os.path.basename(name) for name in sc.wholeTextFiles(folder + "/*.txt").keys().collect())))
print(ascii(sc.parallelize([folder]).map(lambda f: [n for n in os.listdir(f) if n.endswith(".txt")]).collect()))
PY
    env -u LC_CTYPE LC_ALL=C "$TREE/bin/spark-submit" --master 'local[1]' --conf spark.ui.enabled=false "$BATS_TEST_TMPDIR/job.py" \
        "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/out"
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = "['\\xdcbung.txt']
[['\\xdcbung.txt']]" ]
}

# nameless COMMAND...: as a user whose number the system has no name for; files are reached as before.
nameless() { unshare --user --map-user=4200000001 env -u USER -u LOGNAME -u HADOOP_USER_NAME "$@"; }

@test "a user without a name goes by the number, or by HADOOP_USER_NAME" {
    unshare --user true || skip "no right to make a user namespace"
    run -0 --separate-stderr nameless "$TREE/bin/hadoop" org.apache.hadoop.security.UserGroupInformation
    [[ $output == *'User: 4200000001'* ]]
    # shellcheck disable=SC2154
    [[ $stderr != *'cannot find name'* ]]
    run -0 nameless env HADOOP_USER_NAME=alice "$TREE/bin/hadoop" org.apache.hadoop.security.UserGroupInformation
    [[ $output == *'User: alice'* ]]
    run -0 nameless "$TREE/bin/hdfs" dfs -touchz "file://$BATS_TEST_TMPDIR/file"
    [ -e "$BATS_TEST_TMPDIR/file" ]
    echo 'print("sum=%d" % sc.parallelize(range(101), 2).sum())' >"$BATS_TEST_TMPDIR/in"
    cd "$BATS_TEST_TMPDIR"
    run -0 nameless "$TREE/bin/pyspark" --master 'local[1]' --conf spark.ui.enabled=false <"$BATS_TEST_TMPDIR/in"
    [[ $output == *sum=5050* ]]
}

# without_tmp SCRIPT: a shell's words where /tmp is mounted noexec; the test's folder is /mnt, and $HOME is in it.
without_tmp() {
    local own=()
    [ "$(id -u)" -eq 0 ] || own=(--user --map-root-user)
    # shellcheck disable=SC2016
    unshare --mount ${own[@]+"${own[@]}"} bash -c 'set -e
        mount --bind "$1" /mnt
        mount -t tmpfs -o noexec none /tmp
        mkdir -p /mnt/home
        export HOME=/mnt/home CLASSES=/mnt/classes
        unset XDG_CACHE_HOME
        eval "$2"' bash "$BATS_TEST_TMPDIR" "$1"
}

may_mount() {
    without_tmp true || skip "no right to mount"
    mkdir "$BATS_TEST_TMPDIR/classes"
    cp "$BATS_FILE_TMPDIR"/*.class "$BATS_TEST_TMPDIR/classes/"
}

@test "where /tmp is mounted noexec, libraries are loaded from a folder of the user's own" {
    may_mount
    export HADOOP_CLASSPATH=/mnt/classes
    # Java by itself can't.
    # shellcheck disable=SC2016
    CP=$("$TREE/bin/hadoop" classpath) run ! without_tmp '"$JAVA_HOME/bin/java" -cp "$CP" UseLibraries /mnt/db'
    # shellcheck disable=SC2016
    run -0 without_tmp 'cd /mnt/classes; "$JAVA_HOME/bin/jar" cf ../use.jar *; "$TREE/bin/hadoop" jar ../use.jar UseLibraries /mnt/db'
    [[ $output == *'snappy text'* && $output == *'leveldb text'* ]]
    [ -d "$BATS_TEST_TMPDIR/home/.cache/howdah/lib" ]
    # Where home does not execute either, one of the next; where a site names one, that.
    # shellcheck disable=SC2016
    run -0 without_tmp 'mount -t tmpfs -o noexec none /mnt/home; "$TREE/bin/hadoop" jar /mnt/use.jar UseLibraries /mnt/db'
    [[ $output == *'leveldb text'* ]]
    # shellcheck disable=SC2016
    HOWDAH_LIBRARY_DIR=/mnt/named run -0 without_tmp '"$TREE/bin/hadoop" jar /mnt/use.jar UseLibraries /mnt/db'
    [[ $output == *'leveldb text'* ]]
    [ -d "$BATS_TEST_TMPDIR/named" ]
    # shellcheck disable=SC2016
    HOWDAH_LIBRARY_DIR=/tmp/other run without_tmp '"$TREE/bin/hadoop" version'
    [[ $output == *'no folder was found that libraries may be loaded from'*'set HOWDAH_LIBRARY_DIR'* ]]
}

@test "howdah doctor says whether libraries can be loaded" {
    may_mount
    run "$TREE/bin/howdah" doctor
    [[ $output == *'libraries in jars'*'/tmp may execute'* ]]
    # shellcheck disable=SC2016
    run without_tmp '"$TREE/bin/howdah" doctor'
    [[ $output == *'libraries in jars'*'/tmp is mounted noexec'*'/mnt/home/.cache/howdah/lib'* ]]
    # shellcheck disable=SC2016
    HOWDAH_LIBRARY_DIR=/tmp/other run without_tmp '"$TREE/bin/howdah" doctor'
    [[ $output == *'libraries in jars'*'set HOWDAH_LIBRARY_DIR'* ]]
}

@test "local-cluster runs from a tree that may not be written to, and its executors load Snappy beside a /tmp that does not execute" {
    may_mount
    # shellcheck disable=SC2016
    run -0 without_tmp 'mount --bind "$TREE" "$TREE"; mount -o remount,bind,ro "$TREE"; cd /mnt
        "$TREE/bin/run-example" --master "local-cluster[1,1,512]" --conf spark.executor.memory=512m --conf spark.ui.enabled=false \
            --conf spark.io.compression.codec=snappy GroupByTest 2 100 100 2
        ls /tmp/howdah-$UID/work'
    [[ $output == *'GroupByTest: '* && $output == *app-* ]]
    [ ! -e "$TREE/work" ]
}
