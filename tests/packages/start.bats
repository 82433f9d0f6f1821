#!/usr/bin/env bats
# The commands of docs/guide/start.md as they stand, in a fresh Debian 12 whose one machine is all nodes of the page, and then those of
# the example of Kerberos in docs/guide/security.md. Slow. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    export ROOT=$BATS_FILE_TMPDIR/root GNUPGHOME=$BATS_FILE_TMPDIR/gnupg REASON ROOT_SUITE=bookworm
    # Of Debian, which comes from nowhere else here.
    export ROOT_EXTRA=krb5-kdc,krb5-admin-server,krb5-user
    export BLOCKS=$BATS_FILE_TMPDIR/blocks
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    (umask 077; mkdir "$GNUPGHOME")
    gpg --batch --quiet --passphrase '' --quick-generate-key 'Howdah test <test@howdah.invalid>' rsa2048 sign never
    make_root "$ROOT"
    mkdir "$ROOT.repo"
    "$HOWDAH_ROOT/ci/repo" --key test@howdah.invalid --debs "$HOWDAH_BUILD/packages/deb" --rpms /nonexistent --out "$BATS_FILE_TMPDIR/made"
    cp -R "$BATS_FILE_TMPDIR/made/apt" "$ROOT.repo/apt"
    touch "$ROOT.repo/ready"
    printf '127.0.0.1 node1 repo.site.org localhost\n' >"$ROOT/etc/hosts"
    boot_root "$ROOT"
    in_root hostname node1
    mkdir "$BLOCKS"
    cut_blocks docs/guide/start.md
    cut_blocks docs/guide/security.md '^## Kerberos'
}

teardown_file() {
    [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/packages/root.bash"; drop_root; }
    gpgconf --kill gpg-agent 2>/dev/null || true # there is none if no repository was signed
}

setup() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

# cut_blocks PAGE [HEADING]: each indented block of the page as a file, SECTION.NN, in the page's order; sections go by the first word of
# their headings. HEADING, a pattern, is of the only section that is taken. What is fenced is output, not commands.
cut_blocks() {
    awk -v out="$BLOCKS" -v wanted="${2:-^## }" '
        /^## / { taken = $0 ~ wanted; section = $2; gsub(/[.:]/, "", section); n = 0; open = 0 }
        taken && /^    / { if (!open) { open = 1; n++ } sub(/^    /, ""); print >(out "/" section "." sprintf("%02d", n)); next }
        { open = 0 }' "$HOWDAH_ROOT/$1"
}

# page SECTION: its blocks, each in a shell of its own that ends at the first command that fails.
page() {
    local block
    for block in "$BLOCKS/$1".*; do
        echo "--- ${block##*/}"
        cat "$block"
        cp "$block" "$ROOT/srv/block"
        in_root timeout 1500 env JAVA_HOME="$JAVA_HOME" bash -eo pipefail /srv/block </dev/null || return
    done
}

@test "the page has commands in these sections and no others, and all are run" {
    [ "$(cd "$BLOCKS" && printf '%s\n' * | cut -d. -f1 | sort -u | xargs)" = '1 2 3 4 5 6 Kerberos' ]
}

@test "1: the packages install from the repository" {
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root useradd -m alice
    in_root setsid python3 -m http.server -d /srv/repo --bind 127.0.0.1 80 </dev/null >"$ROOT.web" 2>&1 3>&- &
    # curl is in the base system: what is Debian's own comes from nowhere else here.
    page 1
    [ -z "$(in_root dpkg --audit)" ]
}

@test "2: howdah doctor looks at the node" {
    run page 2
    echo "$output"
    [ "$status" -le 2 ]
    [[ $output == *transports* ]]
}

@test "3: the configuration is written and chosen" {
    page 3
    [ "$(in_root readlink -f /etc/hadoop/conf)" = /etc/hadoop/conf.site ]
    [ "$(in_root cat /etc/hadoop/conf/slaves | xargs)" = 'node1 node2 node3' ]
}

@test "4: HDFS and YARN start" { page 4; }

@test "5: a job of MapReduce and one of Spark give what is right" {
    run page 5
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *camel*20000*howdah*10000* ]]
    [[ $output == *'Pi is roughly 3.'* ]]
}

@test "6: howdah stat shows all kinds of traffic over the engine" {
    run page 6
    echo "$output"
    [ "$status" -eq 0 ]
    local kind
    for kind in RPC 'HDFS writes' 'HDFS reads' 'MapReduce shuffle'; do grep -qE "^$kind +shm " <<<"$output"; done
}

# served PAGE PROPERTY: its count in what a daemon's web server said.
served() { sed -n "s/.*\"$2\" : \([0-9]*\),\{0,1\}$/\1/p" <<<"$1" | awk '{ sum += $1 } END { print sum + 0 }'; }

@test "Kerberos: the example makes a cluster that takes tickets, over the engine" {
    run page Kerberos
    echo "$output"
    [ "$status" -eq 0 ]
    grep -qx 'camel howdah camel' <<<"$output"
    [[ $output == *'Pi is roughly 3.'* ]]
    [ "$(served "$output" ServerConnections)" -gt 0 ]
}

@test "Kerberos: without a ticket, or with a forged one, nothing is read" {
    as_user alice kdestroy
    run as_user alice hdfs dfs -cat secret
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output != *'camel howdah'* ]]
    [[ $output == *[Kk]erberos* ]]
    run as_user alice env HADOOP_USER_NAME=hdfs hdfs dfs -cat /user/alice/secret
    [ "$status" -ne 0 ]
    [[ $output != *'camel howdah'* ]]
    # Who says that there is no Kerberos is not believed.
    run as_user alice hdfs dfs -D hadoop.security.authentication=simple -cat /user/alice/secret
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output != *'camel howdah'* ]]
    [[ $output == *'SIMPLE authentication is not enabled'* ]]
}
