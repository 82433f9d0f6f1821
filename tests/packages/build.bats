#!/usr/bin/env bats
# shellcheck disable=SC2143 # "! grep -q" would not fail a test
# How packages are built, and what the linters of both formats say of them.

setup() {
    export DEBS=$HOWDAH_BUILD/packages/deb RPMS=$HOWDAH_BUILD/packages/rpm ARCH
    ARCH=$(dpkg --print-architecture)
}

@test "a second build of the same commit gives the same bytes: deb" {
    "$HOWDAH_ROOT/ci/deb" --out "$BATS_TEST_TMPDIR/again" "$ARCH"
    (cd "$BATS_TEST_TMPDIR/again" && find . -name '*.deb') | while read -r deb; do cmp "$DEBS/$deb" "$BATS_TEST_TMPDIR/again/$deb"; done
    [ "$(find "$BATS_TEST_TMPDIR/again" -name '*.deb' | wc -l)" -gt 15 ]
}

@test "lintian finds no error, and every override says why" {
    command -v lintian >/dev/null || skip "lintian is missing"
    run lintian --allow-root --fail-on error --tag-display-limit 0 "$DEBS"/all/*.deb "$DEBS/$ARCH"/*.deb
    echo "$output"
    [ "$status" -eq 0 ]
    local file
    for file in "$HOWDAH_ROOT"/packages/deb/*/*.lintian-overrides; do
        awk '/^#/ { reason = 1; next } !reason { exit 1 } { reason = 0 }' "$file"
    done
}

@test "a second build of the same commit gives the same bytes: rpm" {
    "$HOWDAH_ROOT/ci/rpm" --out "$BATS_TEST_TMPDIR/again" x86_64
    (cd "$BATS_TEST_TMPDIR/again" && find . -name '*.rpm') | while read -r rpm; do cmp "$RPMS/$rpm" "$BATS_TEST_TMPDIR/again/$rpm"; done
    [ "$(find "$BATS_TEST_TMPDIR/again" -name '*.rpm' | wc -l)" -gt 15 ]
}

@test "rpmlint finds no error" {
    run rpmlint -c "$HOWDAH_ROOT/packages/rpm/rpmlint.toml" "$RPMS"/*/*.rpm
    echo "$output"
    [ -z "$(grep ': E: ' <<<"$output")" ]
    [[ $output == *' 0 errors'* ]]
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
