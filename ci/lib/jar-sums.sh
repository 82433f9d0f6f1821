# shellcheck shell=bash
# Vouching for the jars that go into the tree: what Maven fetched must be what dist/SHA256SUMS names. Sourced by ci/dist.

JAR_SUMS=$HOWDAH_ROOT/dist/SHA256SUMS

# sums_of FOLDER...: a line "SHA-256  FILE" for each jar, sorted by name, each once.
sums_of() { find "$@" -name '*.jar' -exec sha256sum {} + | sed -E 's#  .*/#  #' | LC_ALL=C sort -u -k 2; }

# check_sums FOLDER...: stops at a jar that is corrupted, or that nobody has vouched for.
check_sums() {
    local sum name known
    while read -r sum name; do
        known=$(awk -v name="$name" '$2 == name { print $1 }' "$JAR_SUMS")
        [ -n "$known" ] || die "$name is not in dist/SHA256SUMS" \
            "a new dependency? look at the jar, then: ci/dist --vouch"
        [ "$known" = "$sum" ] || die "$name is corrupted: its SHA-256 is not the one in dist/SHA256SUMS" \
            "remove it from Maven's repository (find ~/.m2 -name '$name*' -delete) and run again"
    done < <(sums_of "$@")
}

# vouch FOLDER...: writes dist/SHA256SUMS anew.
vouch() {
    {
        echo "# The jars of our tree and of the stock tree, as Maven Central serves them. ci/dist --vouch writes this list."
        sums_of "$@"
    } >"$JAR_SUMS.new"
    mv "$JAR_SUMS.new" "$JAR_SUMS"
}
