#!/usr/bin/env bats
# The commands of docs/guide/start.md as they stand, in a fresh Debian 12 whose one machine is all nodes of the page, and then those of
# the example of Kerberos in docs/guide/security.md. Slow. The tests build on each other.

setup_file() {
    . "$HOWDAH_ROOT/tests/packages/root.bash"
    . "$HOWDAH_ROOT/tests/packages/pages.bash"
    export ROOT=$BATS_FILE_TMPDIR/root GNUPGHOME=$BATS_FILE_TMPDIR/gnupg REASON ROOT_SUITE=bookworm
    # Of Debian, which comes from nowhere else here.
    export ROOT_EXTRA=krb5-kdc,krb5-admin-server,krb5-user
    export BLOCKS=$BATS_FILE_TMPDIR/blocks
    REASON=$(why_no_root)
    [ -z "$REASON" ] || return 0
    make_root "$ROOT"
    offer_signed_packages
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
    . "$HOWDAH_ROOT/tests/packages/pages.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

@test "the page has commands in these sections and no others, and all are run" {
    [ "$(cd "$BLOCKS" && printf '%s\n' * | cut -d. -f1 | sort -u | xargs)" = '1 2 3 4 5 6 Kerberos' ]
}

@test "1: the packages install from the repository" {
    add_jdk_package "$BATS_TEST_TMPDIR"
    in_root useradd -m alice
    serve_packages
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
    # Blocks of this node are read from their files.
    for kind in RPC 'HDFS writes' 'MapReduce shuffle'; do grep -qE "^$kind +shm " <<<"$output"; done
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
    # The configuration without Kerberos is still there.
    run as_user alice hdfs --config /etc/hadoop/conf.site dfs -cat /user/alice/secret
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output != *'camel howdah'* ]]
    [[ $output == *'SIMPLE authentication is not enabled'* ]]
}
