# shellcheck shell=bash
# What every step in ci/ starts with: where things are, how to speak, how to fail. Sourced, never run.

set -euo pipefail

HOWDAH_ROOT=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
HOWDAH_BUILD=$HOWDAH_ROOT/build
HOWDAH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/howdah
export HOWDAH_ROOT HOWDAH_BUILD HOWDAH_CACHE

# A step says in its first lines what it does and takes; --help shows them. Others hand their options on.
case ${BASH_SOURCE[1]##*/} in
    bench-* | bigtop | conformance | demo | mvn) ;;
    *)
        if [ "${1:-}" = --help ]; then
            awk 'NR > 1 && !/^#/ { exit } NR > 1 && !/SPDX/ { sub(/^# ?/, ""); if ($0 != "" || said++) print }' "${BASH_SOURCE[1]}"
            exit
        fi
        ;;
esac

# Every line of a step says which step it comes from; a long build is read by people.
say() { printf '[%s] %s\n' "${0##*/}" "$*"; }
warn() { printf '[%s] warning: %s\n' "${0##*/}" "$*" >&2; }

# die MESSAGE [WHAT-TO-DO]: one cause, one remedy, exit 1.
die() {
    printf '[%s] error: %s\n' "${0##*/}" "$1" >&2
    [ $# -lt 2 ] || printf '[%s]        %s\n' "${0##*/}" "$2" >&2
    exit 1
}

# The exit status that says "cannot be had on this machine", as test runners know it.
UNAVAILABLE=77

# unavailable REASON: something cannot be had here; one line, so that a report can quote it.
unavailable() {
    echo "not available: $*" >&2
    exit "$UNAVAILABLE"
}

# load_bom: the bom as shell variables; makes them first when bigtop.bom is newer.
load_bom() {
    "$HOWDAH_ROOT/ci/bom"
    # shellcheck source=/dev/null
    . "$HOWDAH_BUILD/bom.env"
}

# use_jdk8: JAVA_HOME becomes the JDK 8 that ci/prepare found or made.
use_jdk8() {
    [ -r "$HOWDAH_BUILD/prepare.env" ] || die "this clone is not prepared" "run: make prepare"
    # shellcheck source=/dev/null
    . "$HOWDAH_BUILD/prepare.env"
    export JAVA_HOME PATH="$JAVA_HOME/bin:$PATH"
}

# fingerprint FILE...: one checksum over names and contents, for stamps.
fingerprint() { sha256sum -- "$@" | sha256sum | cut -d' ' -f1; }

# seconds_since START: for progress lines.
seconds_since() { echo $(($(date +%s) - $1)); }
