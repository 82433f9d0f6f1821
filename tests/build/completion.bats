# dist/etc/bash_completion.d/howdah: what it offers, with a howdah whose help is known.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    PATH=$BATS_TEST_TMPDIR:$PATH
    cat >"$BATS_TEST_TMPDIR/howdah" <<'SCRIPT'
#!/bin/bash
echo "$*" >>"${BASH_SOURCE[0]}.calls"
case "$*" in
    --help) printf 'Usage: howdah SUBCOMMAND [ARGUMENT...]\n\n  cluster      start a cluster\n  stat         counters\n  topo         places\n' ;;
    'cluster --help') printf 'Usage: howdah cluster [-hV] COMMAND\n  -h, --help      Show.\nCommands:\n  start   Starts it.\n  stop    Stops\n            it.\n' ;;
    'cluster start --help') printf 'Usage: howdah cluster start [--fresh] [--heap=<size>]\n      --fresh   Anew.\n' ;;
    'topo --help') printf 'usage: hd-topo [--json] [--no-rdma]\n  --xml FILE    a file saved by `lstopo --of xml`\n' >&2 ;;
    'stat --help') printf 'usage: howdah-stat PID|FILE...\n       howdah-stat --all\n' ;;
    *) exit 1 ;;
esac
SCRIPT
    chmod +x "$BATS_TEST_TMPDIR/howdah"
    # shellcheck source=../../dist/etc/bash_completion.d/howdah
    . "$ROOT/dist/etc/bash_completion.d/howdah"
}

# offered WORD...: what is offered for the last of the words.
offered() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _howdah howdah "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[*]}"
}

@test "it is what bash calls for howdah" {
    [[ $(complete -p howdah) == "complete -F _howdah howdah" ]]
}

@test "subcommands, and those of cluster" {
    [ "$(offered howdah '')" = 'cluster stat topo' ]
    [ "$(offered howdah st)" = stat ]
    [ "$(offered howdah cluster '')" = 'start stop' ]
    [ "$(offered howdah cluster sto)" = stop ]
}

@test "options are those of the command at hand" {
    [ "$(offered howdah topo --)" = '--json --no-rdma --of --xml' ]
    [ "$(offered howdah cluster start --)" = '--fresh --heap' ]
    [ "$(offered howdah cluster start --fresh --h)" = --heap ]
    [ "$(offered howdah stat -)" = --all ]
    [ "$(offered howdah nonsense --)" = '' ]
}

@test "processes with counters" {
    HOWDAH_STATS_DIR=$BATS_TEST_TMPDIR
    touch "$BATS_TEST_TMPDIR"/howdah-{71-0,71-1,72-0}.stats "$BATS_TEST_TMPDIR/howdah-x-0.stats"
    [ "$(offered howdah stat '')" = '71 72' ]
    [ "$(offered howdah stat 72)" = 72 ]
}

@test "a command is asked for its help once" {
    COMP_WORDS=(howdah topo --) COMP_CWORD=2
    _howdah howdah
    _howdah howdah
    [ "${#COMPREPLY[@]}" -eq 4 ]
    [ "$(grep -c '^topo --help$' "$BATS_TEST_TMPDIR/howdah.calls")" -eq 1 ]
}
