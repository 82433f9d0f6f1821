# shellcheck shell=bash
# PySpark in the tree: fetched once, patched, packed for YARN. Sourced by ci/dist.

# fetch_python: PySpark's sdist and the wheels of dist/python into the cache, checksummed by pip.
fetch_python() {
    local cache=$HOWDAH_CACHE/python lists=("$HOWDAH_ROOT"/dist/python/*.txt) sum
    sum=$(cat "${lists[@]}" | sha256sum)
    if [ "$(cat "$cache/stamp" 2>/dev/null)" = "$sum" ] && (cd "$cache" && sha256sum --quiet -c sums) >/dev/null 2>&1; then
        return
    fi
    say "fetching PySpark (181 MB) into $cache"
    rm -rf "$cache.new"
    # PySpark's setup.py is from before what today's setuptools has become.
    python3 -m venv "$cache.new/venv" || die "Python's venv module does not work" "install the package python3-venv"
    if ! { "$cache.new/venv/bin/pip" -q install 'setuptools<60' wheel &&
        fetch_with "$cache.new" -r "$HOWDAH_ROOT/dist/python/requirements.txt" &&
        fetch_with "$cache.new" --no-build-isolation --no-binary :all: -r "$HOWDAH_ROOT/dist/python/pyspark.txt"; }; then
        rm -rf "$cache.new"
        die "PySpark could not be fetched" "look at pip's message above; a checksum that differs is a damaged or changed file"
    fi
    rm -rf "$cache.new/venv"
    (cd "$cache.new" && sha256sum -- *.tar.gz *.whl >sums && printf '%s\n' "$sum" >stamp)
    rm -rf "$cache"
    mv "$cache.new" "$cache"
}

# fetch_with FOLDER OPTION...: pip's download into FOLDER, of nothing whose checksum is not in our lists.
fetch_with() { "$1/venv/bin/pip" -q download --no-deps --require-hashes -d "$1" "${@:2}"; }

# unpack_pyspark: PYSPARK, the folder of the sdist's contents.
unpack_pyspark() {
    PYSPARK=$HOWDAH_BUILD/pyspark/pyspark-$SPARK_VERSION
    [ ! -e "$PYSPARK/.whole" ] || return 0
    fetch_python
    rm -rf "$HOWDAH_BUILD/pyspark"
    mkdir -p "$HOWDAH_BUILD/pyspark"
    tar -C "$HOWDAH_BUILD/pyspark" --no-same-owner -xzf "$HOWDAH_CACHE/python/pyspark-$SPARK_VERSION.tar.gz"
    touch "$PYSPARK/.whole"
}

# patch_pyspark FOLDER: our series on the copy of Spark's python/ in FOLDER.
patch_pyspark() {
    local patch
    for patch in "$HOWDAH_ROOT"/patches/pyspark/*.patch; do
        [ -e "$patch" ] || continue
        patch -s -p2 -d "$1" --fuzz=0 --no-backup-if-mismatch <"$patch" ||
            die "$(basename "$patch") does not apply to PySpark $SPARK_VERSION" "the message above names file and hunk"
    done
}

# zip_of FOLDER NAME ZIP: NAME in FOLDER as a zip whose bytes depend on the files alone.
zip_of() {
    python3 - "$1" "$2" "$3" <<'PY'
import os, sys, zipfile
folder, name, target = sys.argv[1:]
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
    for path, folders, files in os.walk(os.path.join(folder, name)):
        folders.sort()
        for file in sorted(files):
            full = os.path.join(path, file)
            entry = zipfile.ZipInfo(os.path.relpath(full, folder), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            with open(full, "rb") as f:
                out.writestr(entry, f.read())
PY
}

# add_python TREE
add_python() {
    local python=$1/python wheel wheels=$HOWDAH_BUILD/pyspark/wheels
    unpack_pyspark
    mkdir -p "$python/lib" "$1/examples/src/main" "$wheels"
    cp -R "$PYSPARK/pyspark" "$python/"
    rm -rf "$python/pyspark/python" # a copy of shell.py for pip's layout
    find "$python" -name tests.py -delete # PySpark's own tests; mllib has a module test.py
    cp -R "$PYSPARK/deps/examples" "$1/examples/src/main/python"
    cp -R "$PYSPARK/deps/data" "$1/data"
    for wheel in "$HOWDAH_CACHE"/python/*.whl; do unzip -q -o "$wheel" -d "$wheels"; done
    cp -R "$wheels/py4j" "$python/"
    rm -rf "$python/py4j/tests"
    if [ -z "$STOCK" ]; then
        cp "$wheels/cloudpickle/cloudpickle.py" "$python/pyspark/cloudpickle_now.py"
        patch_pyspark "$python"
    fi
    # The names that Spark's YARN client sends to the workers.
    zip_of "$python" py4j "$python/lib/py4j-0.10.7-src.zip"
    rm -rf "$python/py4j"
    zip_of "$python" pyspark "$python/lib/pyspark.zip"
}
