# shellcheck shell=bash
# The jars of the tree: which, and where they stand. Sourced by ci/dist.

# patched_jars: the rebuilt modules that exist; none in a stock tree.
patched_jars() {
    local jar
    [ -z "$STOCK" ] || return 0
    "$HOWDAH_ROOT/ci/patches" --list | while read -r jar; do [ ! -e "$jar" ] || echo "$jar"; done
}

# our_jars: the jars that java/ made, and the libraries that only they need. The stock tree has them too: the same
# cluster and the same benchmarks run on both sides of a comparison.
our_jars() {
    if [ -d "$HOWDAH_BUILD/java" ]; then
        find "$HOWDAH_BUILD/java" -mindepth 2 -maxdepth 2 -name 'howdah-*.jar' -not -name '*-tests.jar' \
            -not -name '*-sources.jar' | sort
    fi
    if [ -d "$HOWDAH_BUILD/jars/howdah" ]; then find "$HOWDAH_BUILD/jars/howdah" -name '*.jar' | sort; fi
}

# our_modules: Maven's names of the modules under java/, with commas.
our_modules() { (cd "$HOWDAH_ROOT" && printf '%s\n' java/*/pom.xml | sed -n 's,/pom.xml$,,p' | { grep -v '\*' || true; } | paste -sd, -); }

# resolve_jars: JARS, the folder of the jar sets, filled by Maven unless it is complete for these poms.
resolve_jars() {
    local sum ours
    JARS=$HOWDAH_BUILD/jars${STOCK:+/stock}
    sum=$(cd "$HOWDAH_ROOT" && git ls-files -z --cached --others --exclude-standard -- bigtop.bom '*pom.xml' |
        sort -zu | xargs -0 sha256sum | sha256sum)
    [ "$(cat "$JARS/stamp" 2>/dev/null)" != "$sum" ] || return 0
    say "resolving the jar sets"
    rm -rf "$JARS"/{stamp,hadoop,spark,tests,howdah}
    if [ -n "$STOCK" ]; then
        copy_jars "$JARS" dist/hadoop,dist/tests -Dstock
    else
        copy_jars "$JARS" dist/hadoop,dist/spark,dist/tests
        ours=$(our_modules)
        # compile: so that Maven finds a module that another one depends on.
        [ -z "$ours" ] || copy_jars "$JARS" "$ours" compile -DincludeScope=runtime -DexcludeGroupIds=io.howdah \
            -DoutputDirectory="$JARS/howdah"
    fi
    check_sums "$JARS"/*/
    echo "$sum" >"$JARS/stamp"
}

# copy_jars FOLDER MODULES OPTION...
copy_jars() {
    "$HOWDAH_ROOT/ci/mvn" -q -Djars="$1" -pl "$2" "${@:3}" dependency:copy-dependencies ||
        die "the jar sets could not be fetched" "look at Maven's message above"
}

# place_of JAR: the folder of the tree for one of Hadoop's jars.
place_of() {
    case $1 in
        *-tests.jar) ;;
        hadoop-annotations-* | hadoop-auth-*) echo share/hadoop/common/lib ;;
        hadoop-common-*) echo share/hadoop/common ;;
        hadoop-hdfs-*) echo share/hadoop/hdfs ;;
        hadoop-yarn-*) echo share/hadoop/yarn ;;
        hadoop-mapreduce-*) echo share/hadoop/mapreduce ;;
        hadoop-* | aws-java-sdk-*) echo share/hadoop/tools/lib ;;
        *) echo share/hadoop/common/lib ;;
    esac
}

# put JAR FOLDER: JAR into FOLDER, or the rebuilt module that takes its place.
put() {
    local name
    name=$(basename -- "$1")
    mkdir -p "$2"
    cp -- "${PATCHED[$name]:-$1}" "$2/"
}

# share JAR TREE: a link in jars/ to the jar that Hadoop has already; false if it has none of that name.
share() {
    local name found
    name=$(basename -- "$1")
    name=$(basename -- "${PATCHED[$name]:-$name}")
    found=$(cd "$2" && find share -name "$name" -not -path 'share/hadoop/tests/*')
    [ -n "$found" ] || return 1
    ln -s "../$found" "$2/jars/$name"
}

# spark_set: the jars of Spark. The stock tree has those of Spark's own release, moved from Hadoop 2.7 to ours.
spark_set() {
    if [ -z "$STOCK" ]; then
        find "$JARS/spark" -name '*.jar' -not -name 'spark-network-yarn_*' | sort
        return
    fi
    unpack_pyspark
    find "$PYSPARK/deps/jars" -name '*.jar' -not -name 'hadoop-*' -not -name 'htrace-core-3*' | sort
    local name
    for name in hadoop-{annotations,auth,common,hdfs,hdfs-client} \
        hadoop-mapreduce-client-{app,common,core,jobclient,shuffle} \
        hadoop-yarn-{api,client,common,server-common,server-web-proxy} \
        htrace-core4 okhttp okio json-smart nimbus-jose-jwt jcip-annotations; do
        find "$JARS/hadoop" -name "$name-[0-9]*.jar" -not -name '*-tests.jar'
    done
}

# add_shuffle_service TREE: Spark's shuffle service for NodeManagers, with what Hadoop does not have of its needs. A folder of
# its own, so that a node can have it without Spark; jars/ has links to it. Its own class is of no use to Spark.
add_shuffle_service() {
    local jar name
    for name in spark-network-{yarn,common,shuffle} metrics-core commons-lang3; do
        for jar in "$JARS/spark/$name"[-_][0-9]*.jar; do put "$jar" "$1/share/spark/yarn"; done
    done
}

# add_jars TREE
add_jars() {
    local jar place
    declare -gA PATCHED=()
    while read -r jar; do
        place=$(basename -- "$jar")
        PATCHED[${place%-howdah*}.jar]=$jar
    done < <(patched_jars)
    for jar in "$JARS"/hadoop/*.jar; do
        place=$(place_of "$(basename -- "$jar")")
        [ -z "$place" ] || put "$jar" "$1/$place"
    done
    for jar in "$JARS"/tests/*.jar; do
        case $jar in
            # Its programs (TestDFSIO, nnbench ...) are called by this path, and their tasks find it on the class path.
            */hadoop-mapreduce-client-jobclient-*) put "$jar" "$1/share/hadoop/mapreduce" ;;
            *) put "$jar" "$1/share/hadoop/tests" ;;
        esac
    done
    [ -n "$STOCK" ] || add_shuffle_service "$1"
    mkdir -p "$1/jars" "$1/share/howdah/lib"
    spark_set | while read -r jar; do
        share "$jar" "$1" || put "$jar" "$1/jars"
    done
    add_our_jars "$1"
}

# add_our_jars TREE: io.howdah's own in share/howdah (Spark sees them too), what only they need in share/howdah/lib.
add_our_jars() {
    local jar name
    our_jars | while read -r jar; do
        name=$(basename -- "$jar")
        case $name in
            howdah-*)
                put "$jar" "$1/share/howdah"
                ln -s "../share/howdah/$name" "$1/jars/$name"
                # The rebuilt modules of Hadoop do not work without these, so they are found wherever hadoop-common is.
                case $name in howdah-engine-* | howdah-upgrade-* | howdah-rpc-* | howdah-hdfs-* | howdah-storage-* | howdah-mapreduce-*) ln -s "../../../howdah/$name" "$1/share/hadoop/common/lib/" ;; esac
                ;;
            *) put "$jar" "$1/share/howdah/lib" ;;
        esac
    done
}
