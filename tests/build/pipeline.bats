# ci/Jenkinsfile: each stage runs what this clone can make, and no tier is left out.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    . build/prepare.env
}

# recorded FILE: what the pipeline in a file would do.
recorded() { "$JAVA_HOME/bin/java" -cp 'build/groovy/*' groovy.ui.GroovyMain ci/lib/pipeline.groovy "$1"; }

@test "every command of the pipeline is a target of make or a step of ci" {
    local command targets
    targets=" $(sed -nE 's/^([a-z0-9-]+):.*/\1/p' Makefile | tr '\n' ' ')"
    recorded ci/Jenkinsfile >"$BATS_TEST_TMPDIR/recorded"
    sed -n 's/^  sh //p' "$BATS_TEST_TMPDIR/recorded" >"$BATS_TEST_TMPDIR/commands"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/commands")" -gt 20 ]
    while read -r command; do
        case $command in
            'make '*)
                command=${command#make }
                [[ $targets == *" ${command%% *} "* ]] || { echo "there is no target: $command" && return 1; }
                ;;
            *) [ -x "${command%% *}" ] || { echo "there is no step: $command" && return 1; } ;;
        esac
    done <"$BATS_TEST_TMPDIR/commands"
}

@test "whole test, demo, packages and every slow tier of the README are in it" {
    local target tiers
    recorded ci/Jenkinsfile >"$BATS_TEST_TMPDIR/recorded"
    tiers=$(sed -nE "s/^.make (conformance-slow [a-z0-9 -]*).:.*/\1/p" README.md)
    [ "$(wc -w <<<"$tiers")" -ge 5 ]
    for target in lint unit test demo docs deb rpm repo whole $tiers; do
        grep -qE "^  sh make $target( |$)" "$BATS_TEST_TMPDIR/recorded" || { echo "the pipeline lacks $target" && return 1; }
    done
}

@test "each stage that runs something has an agent, and shows what failed" {
    recorded ci/Jenkinsfile | awk '/^stage/ { agent = 0 } /^  agent/ { agent = 1 } /^  sh/ && !agent { print; bad = 1 } END { exit bad }'
    [ "$(recorded ci/Jenkinsfile | grep -c '^  junit')" -ge 8 ]
}

@test "a word that the pipeline's language does not have is an error" {
    sed 's/timestamps()/timestamp()/' ci/Jenkinsfile >"$BATS_TEST_TMPDIR/wrong"
    run recorded "$BATS_TEST_TMPDIR/wrong"
    [ "$status" -ne 0 ]
    [[ $output == *timestamp* ]]
}
