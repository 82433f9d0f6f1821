# The patch machinery: what it does with good series, and what it says about bad ones.

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    export ROOT
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p module jar/org/x
    seq -f 'line %g' 1 20 >jar/org/x/A.java
    seq -f 'other %g' 1 20 >jar/org/x/B.java
    mkdir official
    (cd jar && zip -q -r ../official/sources.jar .)
    export PATCHES_SUMS=$PWD/sums
    (cd official && sha256sum sources.jar) >sums
}

# series NAME OLD NEW [FILE]: a patch that turns line OLD of FILE into NEW.
series() {
    cat >"module/$1" <<EOF
Purpose, and why nothing else would do

diff --git a/proj/src/${4:-org/x/A.java} b/proj/src/${4:-org/x/A.java}
--- a/proj/src/${4:-org/x/A.java}
+++ b/proj/src/${4:-org/x/A.java}
@@ -7 +7 @@
-$2
+$3
EOF
}

patched() { "$ROOT/ci/lib/patched-sources" module official/sources.jar proj/src out "${1:-touched}"; }

@test "leaves the touched files only, patched" {
    series 0001-a.patch 'line 7' seven
    patched
    [ "$(find out -type f)" = out/org/x/A.java ]
    [ "$(sed -n 7p out/org/x/A.java)" = seven ]
}

@test "leaves all files when the whole module is asked for" {
    series 0001-a.patch 'line 7' seven
    patched all
    [ -e out/org/x/B.java ]
}

@test "applies the series in order" {
    series 0002-b.patch seven 'seven again'
    series 0001-a.patch 'line 7' seven
    patched
    [ "$(sed -n 7p out/org/x/A.java)" = 'seven again' ]
}

@test "an empty series leaves nothing to compile" {
    patched
    [ -z "$(find out -type f)" ]
}

@test "a patch that does not apply is named, with file and hunk" {
    series 0001-a.patch 'line 70' seven
    run ! patched
    [[ $output == *module/0001-a.patch* && $output == *org/x/A.java* && $output == *"Hunk #1 FAILED"* ]]
}

@test "a file that upstream does not have is named" {
    series 0001-a.patch 'line 7' seven org/x/Gone.java
    run ! patched
    [[ $output == *0001-a.patch* && $output == *org/x/Gone.java* ]]
}

@test "a patch that is already in is refused" {
    series 0001-a.patch 'line 7' seven
    cp module/0001-a.patch module/0002-a.patch
    run ! patched
    [[ $output == *0002-a.patch* ]]
}

@test "a corrupted download is named" {
    printf x >>official/sources.jar
    run ! patched
    [[ $output == *"sources.jar is corrupted"* && $output == *"remove it"* ]]
}

@test "a jar that nobody vouched for is refused" {
    : >sums
    run ! patched
    [[ $output == *"not in patches/SHA256SUMS"* ]]
}

@test "a patch without a header is refused" {
    series 0001-a.patch 'line 7' seven
    sed -i '1,2d' module/0001-a.patch
    run ! patched
    [[ $output == *"has no header"* ]]
}

@test "a patch of another module's file is refused" {
    series 0001-a.patch 'line 7' seven
    sed -i 's#proj/src#proj/other#' module/0001-a.patch
    run ! patched
    [[ $output == *"outside of module"* ]]
}

# changed PATCH...: how many lines they change.
changed() { cat "$@" | grep -cE '^[-+]([^-+]|$)'; }

# Backports of upstream's own fixes (NNNN-cve-...) are as long as the fix is: they are not counted.
# HDFS has three features of ours in one module: block data over the engine, packets in its memory, and storage modes.
@test "our hooks stay tiny: under 40 changed lines a module, 52 in hadoop-hdfs" {
    for module in "$ROOT"/patches/*/; do
        patches=()
        for patch in "$module"*.patch; do
            [[ ! -e $patch || ${patch##*/} == [0-9]*-@(cve|fix)-* ]] || patches+=("$patch")
        done
        [ ${#patches[@]} -gt 0 ] || continue
        limit=40
        [[ $module != */hadoop-hdfs/ ]] || limit=52
        [ "$(changed "${patches[@]}")" -lt "$limit" ] || { echo "$module changes $(changed "${patches[@]}") lines" && false; }
    done
}

@test "what mends a defect of upstream's (NNNN-fix-...) changes 12 lines at most" {
    for patch in "$ROOT"/patches/*/[0-9]*-fix-*.patch; do
        [ "$(changed "$patch")" -le 12 ] || { echo "$patch changes $(changed "$patch") lines" && false; }
    done
}

@test "an incompatible change of the API stops the build" {
    cp -r "$ROOT"/{ci,dist,java,patches,bigtop.bom,pom.xml} .
    mkdir build && cp -r "$ROOT"/build/{prepare.env,bom.env} build/ && touch build/bom.env
    module=hadoop-mapreduce-client-shuffle
    path=$(sed -n 's#.*<upstream.path>\(.*\)</upstream.path>#\1#p' "patches/$module/pom.xml")
    mkdir -p "a/$path" "b/$path"
    file=$path/org/apache/hadoop/mapred/ShuffleHandler.java
    mkdir -p "$(dirname "a/$file")" "$(dirname "b/$file")"
    unzip -p "$ROOT/build/patches/$module/official/"*-sources.jar org/apache/hadoop/mapred/ShuffleHandler.java >"a/$file"
    sed 's/public static ByteBuffer serializeMetaData/static ByteBuffer serializeMetaData/' "a/$file" >"b/$file"
    unset PATCHES_SUMS
    (echo "Less accessible"; echo; diff -U1 "a/$file" "b/$file") >"patches/$module/9999-incompatible.patch" ||
        [ $? -eq 1 ] # diff's word for "they differ"
    run ! ci/patches
    [[ $output == *incompatib* && $output == *serializeMetaData* ]]
}
