#!/usr/bin/env bats
# WebHDFS reaches the file that is named, whatever the name, and no other.

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c LC_ALL=C.UTF-8
    cluster start --dir "$DIR" --datanodes 1 --no-yarn --no-history
    "$JAVA_HOME/bin/javac" -encoding UTF-8 -proc:none -d "$BATS_FILE_TMPDIR" -cp "$("$TREE/bin/hadoop" classpath)" \
        "$BATS_TEST_DIRNAME/WebHdfsNames.java"
}

setup() {
    set_up_tree
    PORT=$(sed -n 's/^port\.namenode\.http=//p' "$DIR/cluster.properties")
    # a and "a b" are what a;b and a%20b were taken for; the last two: an umlaut of two characters, one above U+FFFF.
    NAMES=('a b' a 'a;b' 'a%20b' 'a%' 'a%%b' 'a+b' 'a&b' 'a=b' 'a?b' 'a#b' 'a%2Fb' 'Übung' '日本' $'U\u0308bung')
    SUPPLEMENTARY=$'\U0001d11e'
}

teardown_file() {
    set_up_tree
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
}

# names TREE NAME...
names() (
    eval "$(cluster env --dir "$DIR")"
    unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME
    HADOOP_CLASSPATH=$BATS_FILE_TMPDIR "$1/bin/hadoop" names.WebHdfsNames "webhdfs://localhost:$PORT" /names "${@:2}"
)

@test "our client reaches the file that is named" {
    names "$TREE" "${NAMES[@]}" "$SUPPLEMENTARY"
}

# It sends characters above U+FFFF wrong.
@test "a stock client reaches the file that is named" {
    [ -x "$ROOT/build/stock/bin/hadoop" ] || { echo "there is no build/stock: make stock" && return 1; }
    names "$ROOT/build/stock" "${NAMES[@]}"
}

@test "plain HTTP reaches the file that is named, in each spelling of its path" {
    python3 "$BATS_TEST_DIRNAME/webhdfs_names.py" "$PORT" "${NAMES[@]}" "$SUPPLEMENTARY"
}

@test "distcp over WebHDFS copies files of any name" {
    slow
    mkdir "$BATS_TEST_TMPDIR/in"
    for name in "${NAMES[@]}"; do echo "$name" >"$BATS_TEST_TMPDIR/in/$name"; done
    printf '%s\n' "${NAMES[@]}" | sort >"$BATS_TEST_TMPDIR/names"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/in" /from
    with "$DIR" hadoop distcp -D mapreduce.framework.name=local "webhdfs://localhost:$PORT/from" "webhdfs://localhost:$PORT/to"
    [ "$(with "$DIR" hdfs dfs -ls -C /to | sed 's,^/to/,,' | sort)" = "$(cat "$BATS_TEST_TMPDIR/names")" ]
    [ "$(with "$DIR" hdfs dfs -cat '/to/*' | sort)" = "$(cat "$BATS_TEST_TMPDIR/names")" ]
}
