#!/usr/bin/env bats
# shellcheck disable=SC2143,SC2016 # "! grep -q" would not fail a test; formats are for dpkg and rpm
# What is in the packages, before any is installed.

setup_file() {
    export DEBS=$HOWDAH_BUILD/packages/deb TREE=$HOWDAH_BUILD/dist/howdah-$HOWDAH_VERSION ARCH
    ARCH=$(dpkg --print-architecture)
    # package TAB path, files and links only, without papers that each package has.
    for deb in "$DEBS"/all/*.deb "$DEBS/$ARCH"/*.deb; do
        case $deb in *-dbgsym_*) continue ;; esac
        name=${deb##*/}
        dpkg-deb --fsys-tarfile "$deb" | tar -tf - | grep -v '/$' | sed "s|^\.|${name%%_*}\t|"
    done >"$BATS_FILE_TMPDIR/files"
}

setup() { FILES=$BATS_FILE_TMPDIR/files; }

@test "no file is in two packages" {
    [ -s "$FILES" ]
    [ -z "$(cut -f2 "$FILES" | sort | uniq -d)" ]
}

@test "the library has its tracepoints, for which each format names the build dependency" {
    dpkg-deb -x "$(echo "$DEBS/$ARCH"/howdah-engine_*.deb)" "$BATS_TEST_TMPDIR/engine"
    readelf --notes --wide "$BATS_TEST_TMPDIR"/engine/usr/lib/*/libhowdah.so.*.* | grep -q 'Provider: howdah'
    grep -q '^Build-Depends:.*\bsystemtap-sdt-dev\b' "$HOWDAH_ROOT/packages/deb/howdah/control"
    grep -q '^BuildRequires:.*\bsystemtap-sdt-devel\b' "$HOWDAH_ROOT/packages/rpm/howdah/SPECS/howdah.spec"
}

@test "howdah-doc has a page of each document, which leads to pages only, and each command has a manual page" {
    local page name
    dpkg-deb -x "$(echo "$DEBS"/all/howdah-doc_*.deb)" "$BATS_TEST_TMPDIR/doc"
    cd "$BATS_TEST_TMPDIR/doc/usr/share/doc/howdah/html"
    for page in "$HOWDAH_ROOT"/docs/*/*.md "$HOWDAH_ROOT"/docs/*.md; do
        page=${page#"$HOWDAH_ROOT/docs/"}
        [ "$page" != guide/README.md ] || page=guide/index.md
        [ -s "${page%.md}.html" ] || { echo "there is no page of $page"; return 1; }
    done
    # Nothing of the machine that built it, nothing from other servers.
    [ -z "$(grep -rl "$HOWDAH_ROOT" .)" ]
    [ -z "$(grep -rlE '<(script|link|img)[^>]*(src|href)="(https?:)?//' .)" ]
    grep -oE 'href="[a-z/-]+\.html"' guide/index.html | sort -u | while IFS='"' read -r _ page _; do
        [ -s "guide/$page" ] || { echo "there is no $page"; return 1; }
    done
    grep -q 'url=guide/index.html' index.html
    for name in "$TREE"/bin/*; do grep -qE "/man1/${name##*/}\.1(\.gz)?$" "$FILES" || { echo "there is no manual page of ${name##*/}"; return 1; }; done
}

@test "no jar is on one machine twice" {
    [ -z "$(cut -f2 "$FILES" | grep '\.jar$' | sed 's,.*/,,' | sort | uniq -d | while read -r jar; do
        # A link from Spark's folder to Hadoop's jar is not a second one.
        [ "$(find "$TREE" -name "$jar" -type f | wc -l)" -eq 1 ] || echo "$jar"
    done)" ]
    # Nor by another name: every file of the tree is in one package.
    [ -z "$(find "$TREE" -name '*.jar' -type f -exec sha256sum {} + | sort | uniq -w 64 -d)" ]
}

@test "every file of the tree is in a package, and nothing else but what packages add" {
    (cd "$TREE" && find . ! -type d | sed 's,^\.,/usr/lib/howdah,') |
        grep -v -e /usr/lib/howdah/etc/ -e /share/modulefiles/ -e '/lib/native/libhowdah\.so' -e '/howdah/include/' -e '/howdah/LICENSE$' | sort >"$BATS_TEST_TMPDIR/tree"
    cut -f2 "$FILES" | grep '^/usr/lib/howdah/' | grep -v -e '/howdah/etc/[a-z]*$' -e '/libexec/howdah-pseudo$' -e '/libexec/account$' -e '/howdah/share/man/' | sort >"$BATS_TEST_TMPDIR/packed"
    diff "$BATS_TEST_TMPDIR/tree" "$BATS_TEST_TMPDIR/packed"
}

@test "jars are the very ones of the tree" {
    dpkg-deb -x "$(echo "$DEBS"/all/howdah-hadoop-common_*.deb)" "$BATS_TEST_TMPDIR/x"
    (cd "$BATS_TEST_TMPDIR/x/usr/lib/howdah" && find share -name '*.jar' -type f) | while read -r jar; do
        cmp "$BATS_TEST_TMPDIR/x/usr/lib/howdah/$jar" "$TREE/$jar"
    done
}

@test "links lead to something that a package has" {
    cd "$TREE"
    find jars -type l | while read -r link; do
        target=$(realpath -m --relative-to=. "jars/$(readlink "$link")")
        grep -qE "^howdah-(hadoop-common|spark-yarn-shuffle)	/usr/lib/howdah/$target$" "$FILES"
    done
}

@test "systemd takes the units" {
    command -v systemd-analyze >/dev/null || skip "systemd-analyze is missing"
    local deb unit count=0
    for deb in "$DEBS"/all/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -xf - -C "$BATS_TEST_TMPDIR" --wildcards '*.service' 2>/dev/null || true; done
    # The programs are not on this machine: only what systemd itself has to say counts.
    for unit in "$BATS_TEST_TMPDIR"/lib/systemd/system/*.service; do
        run systemd-analyze verify --man=no "$unit"
        [ -z "$(grep "${unit##*/}" <<<"$output" | grep -v 'is not executable')" ]
        grep -q '^LimitMEMLOCK=infinity$' "$unit"
        count=$((count + 1))
    done
    [ "$count" -eq 10 ]
}

@test "a jar with native code has it for ppc64le, or the guide says what stands in" {
    python3 - "$TREE" <<'PY' >"$BATS_TEST_TMPDIR/jars"
import os, re, sys, zipfile
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".jar") and not os.path.islink(path):
            native = [n for n in zipfile.ZipFile(path).namelist() if re.search(r"\.so(\.\d+)*$", n)]
            if native and not any("ppc64le" in n or "ppcle_64" in n for n in native):
                print(re.sub(r"[-_][0-9].*", "", name))
PY
    [ -s "$BATS_TEST_TMPDIR/jars" ]
    while read -r jar; do
        grep -q "^| .*$jar.* |" "$HOWDAH_ROOT/docs/guide/packages.md" || { echo "$jar"; return 1; }
    done <"$BATS_TEST_TMPDIR/jars"
}

@test "the table of the guide is that of the packages" {
    "$HOWDAH_ROOT/ci/lib/package_table.py" --check "$DEBS" "$HOWDAH_BUILD/packages/rpm" "$HOWDAH_ROOT/docs/guide/package-files.md"
}
