# shellcheck shell=bash
# Commands of the guide as they stand, run in a system of its own that is all nodes of a page. Loaded by the tests beside it, after
# root.bash. BLOCKS is a folder for them, GNUPGHOME one for a key.

# offer_signed_packages: as a signed repository for repo.site.org, which is this machine. Before it is booted.
offer_signed_packages() {
    (umask 077; mkdir "$GNUPGHOME")
    gpg --batch --quiet --passphrase '' --quick-generate-key 'Howdah test <test@howdah.invalid>' rsa2048 sign never
    mkdir "$ROOT.repo"
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --debs "$HOWDAH_BUILD/packages/deb" --rpms /nonexistent --out "$BATS_FILE_TMPDIR/made"
    cp -R "$BATS_FILE_TMPDIR/made/apt" "$ROOT.repo/apt"
    touch "$ROOT.repo/ready"
    printf '127.0.0.1 node1 repo.site.org localhost\n' >"$ROOT/etc/hosts"
}

# serve_packages: by a web server in there.
serve_packages() { in_root setsid python3 -m http.server -d /srv/repo --bind 127.0.0.1 80 </dev/null >"$ROOT.web" 2>&1 3>&- & }

# cut_blocks PAGE [HEADING]: each indented block of the page as a file, SECTION.NN, in the page's order; sections go by the first word of
# their headings. HEADING, a pattern, is of the only section that is taken. What is fenced is output, not commands.
cut_blocks() {
    awk -v out="$BLOCKS" -v wanted="${2:-^## }" '
        /^## / { taken = $0 ~ wanted; section = $2; gsub(/[.:]/, "", section); n = 0; open = 0 }
        taken && /^    / { if (!open) { open = 1; n++ } sub(/^    /, ""); print >(out "/" section "." sprintf("%02d", n)); next }
        { open = 0 }' "$HOWDAH_ROOT/$1"
}

# page SECTION: its blocks, each in a shell of its own that ends at the first command that fails. PAGE_SECONDS is the longest that one takes.
page() {
    local block
    for block in "$BLOCKS/$1".*; do
        echo "--- ${block##*/}"
        cat "$block"
        cp "$block" "$ROOT/srv/block"
        in_root timeout "${PAGE_SECONDS:-1500}" env JAVA_HOME="$JAVA_HOME" bash -eo pipefail /srv/block </dev/null || return
    done
}
