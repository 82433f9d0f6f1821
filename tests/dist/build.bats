# What ci/dist makes: a tree whose jars go together, the same bytes each time, and whole after an interruption.

load tree

setup_file() { find_built_tree; }

@test "the jars go together" {
    "$ROOT/ci/lib/check_jars.py" "$TREE" "$ROOT/dist/duplicate-classes.txt"
}

@test "what the classes call is there" {
    "$ROOT/ci/lib/check_links.py" "$TREE" "$ROOT/dist/broken-links.txt"
}

@test "no link leads nowhere or out of the tree" {
    [ -z "$(find "$TREE" -xtype l)" ]
    [ -z "$(find "$TREE" -lname '/*')" ]
}

@test "all of Spark's jars that the release had are there, or left out on purpose" {
    # Left out: Mesos (not published), what was replaced, and what the JDK has.
    local left_out='apache-log4j-extras|commons-beanutils-core|hadoop-client|htrace-core|jcl-over-slf4j|log4j|mesos|spark-mesos_2.11|stax-api|xercesImpl'
    names() { sed -E 's/-[0-9][^-]*(-[^-]+)*\.jar$//' | sort -u; }
    run comm -23 <(tar -tzf "${XDG_CACHE_HOME:-$HOME/.cache}/howdah/python/pyspark-$SPARK_VERSION.tar.gz" --wildcards '*/deps/jars/*.jar' | sed 's,.*/,,' | names) \
        <(find "$TREE/jars" -name '*.jar' -printf '%f\n' | names)
    run ! grep -vxE "$left_out" <<<"$output"
}

@test "the tarball holds the tree" {
    mkdir "$BATS_TEST_TMPDIR/out"
    tar -xzf "$TREE.tar.gz" -C "$BATS_TEST_TMPDIR/out"
    diff -r --no-dereference "$TREE" "$BATS_TEST_TMPDIR/out/$(basename "$TREE")"
}

@test "a stale module is rebuilt alone" {
    cd "$ROOT"
    ci/patches >/dev/null
    module=hadoop-mapreduce-client-shuffle
    echo changed >"build/patches/$module/stamp"
    run -0 ci/patches
    [[ $output == *"rebuilding: $module"* && $output == *"1 of "* ]]
    run -0 ci/patches
    [[ $output == *"up to date"* ]]
}

@test "an interrupted build leaves the old tree, and the next one recovers" {
    local before work=$ROOT/build/dist/.work
    before=$(sha256sum "$TREE.tar.gz")
    mkdir -p "$work/howdah-half/jars"
    rm -f "$ROOT/build/dist/.stamp"
    "$ROOT/ci/dist"
    [ ! -e "$work" ]
    # Built anew from the same sources: the same bytes.
    [ "$(sha256sum "$TREE.tar.gz")" = "$before" ]
}

@test "without our own jars, or those of a patched module, there is no tree" {
    local jar before
    before=$(cat "$ROOT/build/dist/.stamp")
    for jar in build/java/howdah-engine/howdah-engine-*.jar "$(cd "$ROOT" && ci/patches --list | head -n 1)"; do
        jar=$(cd "$ROOT" && realpath -- "$jar")
        mv "$jar" "$BATS_TEST_TMPDIR/away"
        run -1 "$ROOT/ci/dist"
        mv "$BATS_TEST_TMPDIR/away" "$jar"
        [[ $output == *"not built: there is no "* ]]
    done
    [ "$(cat "$ROOT/build/dist/.stamp")" = "$before" ]
    [ -e "$TREE/RELEASE" ]
}

@test "a second build finds nothing to do" {
    run -0 "$ROOT/ci/dist"
    [[ $output == *"is up to date"* ]]
}

@test "the stock tree has upstream's jars only" {
    [ -e "$ROOT/build/stock/RELEASE" ] || skip "no stock tree: run make stock"
    [ -e "$ROOT/build/stock/share/hadoop/common/lib/log4j-1.2.17.jar" ]
    [ -z "$(find "$ROOT/build/stock" -name '*-howdah[0-9]*.jar' -o -name 'reload4j*')" ]
    run -0 "$ROOT/build/stock/bin/hadoop" version
    [ "${lines[0]}" = "Hadoop $HADOOP_VERSION" ]
}
