#!/usr/bin/env bats
# shellcheck disable=SC2143 # "! grep -q" would not fail a test
# How packages are built, and what the linters of both formats say of them.

setup() {
    export DEBS=$HOWDAH_BUILD/packages/deb RPMS=$HOWDAH_BUILD/packages/rpm
}

# same_bytes FOLDER AGAIN: the same packages are below both, byte for byte.
same_bytes() {
    local first again
    first=$(cd "$1" && find . -type f | sort)
    again=$(cd "$2" && find . -type f | sort)
    [ "$(wc -l <<<"$first")" -gt 20 ] && diff <(echo "$first") <(echo "$again") || return 1
    while read -r file; do cmp "$1/$file" "$2/$file" || return 1; done <<<"$first"
    echo "# $(wc -l <<<"$first") packages are the same, byte for byte" >&3
}

@test "a second build of the same commit gives the same bytes: deb, both architectures" {
    rm -f "$HOWDAH_BUILD/packages/dl/.stamp" # the source tarballs are made again, too
    "$HOWDAH_ROOT/ci/deb" --out "$BATS_TEST_TMPDIR/again"
    same_bytes "$DEBS" "$BATS_TEST_TMPDIR/again"
}

@test "a second build of the same commit gives the same bytes: rpm, both architectures" {
    "$HOWDAH_ROOT/ci/rpm" --out "$BATS_TEST_TMPDIR/again"
    same_bytes "$RPMS" "$BATS_TEST_TMPDIR/again"
}

# reasons FILE PATTERN: each line of FILE that has PATTERN stands below a comment, or below another such line.
reasons() { awk -v pattern="$2" '/^ *#/ { reason = 1; next } $0 ~ pattern { if (!reason) { print FILENAME ": " $0; exit 1 } next } { reason = 0 }' "$1"; }

@test "lintian finds no error in a package of either architecture, and every override says why" {
    command -v lintian >/dev/null || skip "lintian is missing"
    local debs=("$DEBS"/{all,amd64,ppc64el}/*.deb) file
    run lintian --allow-root --fail-on error --tag-display-limit 0 --show-overrides "${debs[@]}"
    echo "$output"
    echo "# lintian on ${#debs[@]} packages: $(grep -c '^E: ' <<<"$output") errors, $(grep -c '^W: ' <<<"$output") warnings, $(grep -c '^O: ' <<<"$output") overridden" >&3
    [ "$status" -eq 0 ]
    for file in "$HOWDAH_ROOT"/packages/deb/*/*.lintian-overrides; do reasons "$file" '^[a-z]'; done
}

@test "rpmlint finds no error in a package of either architecture, and every filter says why" {
    command -v rpmlint >/dev/null || skip "rpmlint is missing"
    run rpmlint -c "$HOWDAH_ROOT/packages/rpm/rpmlint.toml" "$RPMS"/{noarch,x86_64,ppc64le}/*.rpm
    echo "$output"
    echo "# rpmlint: ${lines[-1]}" >&3
    [ -z "$(grep ': E: ' <<<"$output")" ]
    [[ $output == *' 0 errors'* ]]
    reasons "$HOWDAH_ROOT/packages/rpm/rpmlint.toml" '^ *"'
}

@test "both formats have the same files" {
    local deb rpm name
    for rpm in "$RPMS"/noarch/*.rpm; do
        name=$(rpm -qp --nosignature --qf '%{name}' "$rpm")
        deb=$(echo "$DEBS/all/${name}"_*.deb)
        # Papers and units have places of their own in each format; man pages are compressed in one.
        diff <(dpkg-deb --fsys-tarfile "$deb" | tar -tf - | grep -v '/$' | sed 's,^\.,,' | grep -v -e ^/usr/share/ -e ^/lib/systemd | sort) \
            <(rpm -qp --nosignature --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$rpm" | grep -v '^d' | cut -d' ' -f2- |
                grep -v -e ^/usr/share/ -e ^/usr/lib/systemd -e '^$' -e '(none)' | sort)
    done
}
