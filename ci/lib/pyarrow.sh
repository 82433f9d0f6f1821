# shellcheck shell=bash
# pyarrow, which tests call libhdfs with: its wheel (ci/lib/pyarrow.lock), unpacked once in a folder that all clones share. A tool
# of the tests, no part of the product. Sourced after common.sh.

PYARROW_VERSION=$(sed -n 's/^pyarrow==\([^ ]*\).*/\1/p' "$HOWDAH_ROOT/ci/lib/pyarrow.lock")
PYARROW=$HOWDAH_CACHE/pyarrow-$PYARROW_VERSION

# why_no_pyarrow: prints why the wheel is not for this machine; nothing where it is.
why_no_pyarrow() {
    local tag
    tag=$(python3 -c 'import platform, sys; print("cp%d%d-%s" % (*sys.version_info[:2], platform.machine()))')
    grep -q "^#.* $tag\b" "$HOWDAH_ROOT/ci/lib/pyarrow.lock" || echo "pyarrow's wheel is pinned for other machines than $tag"
}

# provide_pyarrow: PYARROW is a folder for PYTHONPATH.
provide_pyarrow() {
    local work=$PYARROW.new lock
    export PYARROW
    mkdir -p "$HOWDAH_CACHE"
    # Two clones may fetch at once; the second waits and finds it done.
    exec {lock}>"$HOWDAH_CACHE/pyarrow.lock"
    flock "$lock"
    if [ ! -d "$PYARROW" ]; then
        rm -rf "$work"
        python3 -m venv "$work/venv" >"$HOWDAH_CACHE/pyarrow.log" 2>&1 || die "python3 -m venv failed" "see $HOWDAH_CACHE/pyarrow.log"
        "$work/venv/bin/pip" install --no-deps --require-hashes --only-binary :all: --target "$work/all" -r "$HOWDAH_ROOT/ci/lib/pyarrow.lock" \
            >>"$HOWDAH_CACHE/pyarrow.log" 2>&1 || die "pip could not install pyarrow" "see $HOWDAH_CACHE/pyarrow.log"
        mv "$work/all" "$PYARROW"
        rm -rf "$work"
    fi
    exec {lock}>&-
}
