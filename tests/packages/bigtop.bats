#!/usr/bin/env bats
# The packages as a checkout of Bigtop builds them by its own tasks: the very ones of make deb rpm. BIGTOP_HOME names the
# checkout, or several, as PATH does.

setup_file() {
    export REASON='' OUT=$HOWDAH_BUILD/bigtop/output DEBS=$HOWDAH_BUILD/packages/deb RPMS=$HOWDAH_BUILD/packages/rpm ARCH
    ARCH=$(dpkg --print-architecture)
    local tool
    [ -n "${BIGTOP_HOME:-}" ] || REASON='BIGTOP_HOME names no checkout of Bigtop'
    for tool in gradle debuild reprepro createrepo_c; do command -v "$tool" >/dev/null || REASON=${REASON:-$tool is missing}; done
    IFS=: read -ra HOMES <<<"${BIGTOP_HOME:-}"
    export FIRST=${HOMES[0]:-} REST="${HOMES[*]:1}"
}

# The first test needs no checkout.
setup() { [ -z "$REASON" ] || [ "$BATS_TEST_NUMBER" -eq 1 ] || skip "$REASON"; }

# tasks KIND: of all components.
tasks() { printf "%s-$1 " howdah hadoop spark conf-templates slurm-pbs; }

# build HOME TASK...: by that checkout.
build() {
    # shellcheck disable=SC2068 # a word a task
    BIGTOP_HOME=$1 "$HOWDAH_ROOT/ci/bigtop" ${@:2} >"$BATS_TEST_TMPDIR/log" 2>&1 || { tail -n 40 "$BATS_TEST_TMPDIR/log"; return 1; }
}

# deb_facts DEB: what is in it, but for the changelog, which Bigtop writes, and the sizes and sums that follow from it.
deb_facts() {
    local into=$BATS_TEST_TMPDIR/x
    rm -rf "$into"
    dpkg-deb -R "$1" "$into"
    (cd "$into" && rm -f usr/share/doc/*/changelog.Debian.gz DEBIAN/md5sums && sed -i '/^Installed-Size:/d' DEBIAN/control &&
        find . ! -path ./DEBIAN -printf '%p %M %U:%G %l\n' | grep -v '/changelog.Debian.gz' | sort &&
        find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

# rpm_facts RPM: files with their sums, modes and owners; what it asks for, gives and runs.
rpm_facts() {
    rpm -qp --nosignature --qf '%{name} %{version} %{release} %{arch} %{license} %{summary}\n%{description}\n' "$1"
    rpm -qp --nosignature --qf '[%{FILENAMES} %{FILEDIGESTS} %{FILEMODES:octal} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILELINKTOS} %{FILEFLAGS}\n]' "$1"
    rpm -qp --nosignature --requires --provides --conflicts --recommends "$1" | sort
    rpm -qp --nosignature --scripts "$1"
}

# same_facts FACTS OURS THEIRS: the function FACTS says the same of both packages.
same_facts() {
    "$1" "$2" >"$BATS_TEST_TMPDIR/ours"
    "$1" "$3" >"$BATS_TEST_TMPDIR/theirs"
    [ -s "$BATS_TEST_TMPDIR/ours" ] && diff "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/theirs"
}

# same_debs: each package for apt is below output/, once, and the same as ours.
same_debs() {
    local deb other count=0
    for deb in "$DEBS"/all/*.deb "$DEBS/$ARCH"/*.deb; do
        case $deb in *-dbgsym_*) continue ;; esac
        other=$(find "$OUT" -path "$OUT/apt" -prune -o -name "${deb##*/}" -print)
        [ -f "$other" ] || { echo "Bigtop made no ${deb##*/}, or several: $other"; return 1; }
        same_facts deb_facts "$deb" "$other" || { echo "${deb##*/} differs"; return 1; }
        count=$((count + 1))
    done
    [ "$count" -gt 15 ]
}

same_rpms() {
    local rpm other count=0
    for rpm in "$RPMS"/noarch/*.rpm "$RPMS"/x86_64/*.rpm; do
        other=$(find "$OUT" -name "${rpm##*/}")
        [ -f "$other" ] || { echo "Bigtop made no ${rpm##*/}, or several: $other"; return 1; }
        same_facts rpm_facts "$rpm" "$other" || { echo "${rpm##*/} differs"; return 1; }
        count=$((count + 1))
    done
    [ "$count" -gt 15 ]
}

@test "without a checkout it says so" {
    run env BIGTOP_HOME="$BATS_TEST_TMPDIR" "$HOWDAH_ROOT/ci/bigtop" hadoop-deb
    [ "$status" -eq 1 ]
    [[ $output == *"no checkout of Bigtop"* ]]
}

@test "its tasks build the packages for apt that make deb builds" {
    build "$FIRST" "$(tasks deb)"
    same_debs
}

@test "its tasks build the packages for yum that make rpm builds" {
    build "$FIRST" "$(tasks rpm)"
    same_rpms
}

@test "its repositories have them" {
    build "$FIRST" apt yum
    local name missing
    for name in "$DEBS"/all/*.deb "$DEBS/$ARCH"/*.deb; do
        name=${name##*/}
        case $name in *-dbgsym_*) continue ;; esac
        reprepro -b "$OUT/apt" list bigtop "${name%%_*}" | grep -q "$ARCH: ${name%%_*} "
    done
    missing=$(comm -23 <(for name in "$RPMS"/{noarch,x86_64}/*.rpm; do echo "${name##*/}"; done | sort) \
        <(zcat "$OUT"/repodata/*primary.xml.gz | grep -o 'location href="[^"]*"' | sed 's,.*/,,; s,.*=",,; s,"$,,' | sort))
    echo "$missing"
    [ -z "$missing" ]
}

@test "a new state of the sources is not taken for the old one" {
    local before
    before=$(cat "$HOWDAH_BUILD/bigtop/.state")
    BIGTOP_BUILD_STAMP=2 build "$FIRST" slurm-pbs-deb
    [ "$(find "$OUT" -name 'howdah-slurm-pbs_*-2_all.deb' | wc -l)" -eq 1 ]
    [ "$(cat "$HOWDAH_BUILD/bigtop/.state")" != "$before" ]
}

@test "other releases of Bigtop build the same" {
    [ -n "$REST" ] || skip "BIGTOP_HOME names one checkout only"
    local home
    for home in $REST; do
        build "$home" "$(tasks deb) $(tasks rpm)"
        same_debs
        same_rpms
    done
}
