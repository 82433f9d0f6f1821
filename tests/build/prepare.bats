# ci/prepare: a machine that lacks something, and who may change that.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    mkdir "$BATS_TEST_TMPDIR/clone"
    cp -r "$ROOT/ci" "$BATS_TEST_TMPDIR/clone/"
    chmod -R a+rX "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_SUITE_TMPDIR" "$BATS_FILE_TMPDIR"
    chmod a+x "$(dirname "$BATS_TEST_TMPDIR")"
    cd "$BATS_TEST_TMPDIR/clone"
}

# unprivileged COMMAND...: as somebody who may not install packages.
unprivileged() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi
}

@test "nothing missing: done, and the JDK is named" {
    run -0 ci/prepare
    [[ $output == *'openjdk version "1.8.0'* ]]
    grep -q ^JAVA_HOME= build/prepare.env
}

@test "not root and something missing: the exact command, and nothing else happens" {
    command -v apt-get >/dev/null || skip "no apt-get on this system"
    echo no-such-package-of-howdah >>ci/packages.deb
    run ! unprivileged env HOME="$BATS_TEST_TMPDIR" bash ci/prepare
    [[ $output == *"run: sudo env DEBIAN_FRONTEND=noninteractive apt-get"*"install -y"*no-such-package-of-howdah* ]]
    [ ! -e build ]
}

@test "root and a package that does not exist: the package manager's own words, and a failure" {
    command -v apt-get >/dev/null || skip "no apt-get on this system"
    [ "$(id -u)" -eq 0 ] || skip "not root"
    echo no-such-package-of-howdah >>ci/packages.deb
    run ! ci/prepare
    [[ $output == *no-such-package-of-howdah* ]]
}

@test "an unknown group of packages is refused" {
    run ! ci/prepare nonsense
    [[ $output == *"no group of packages called nonsense"* ]]
}

@test "a step in a clone that is not prepared says so" {
    run ! ci/mvn validate
    [[ $output == *"not prepared"*"make prepare"* ]]
}
