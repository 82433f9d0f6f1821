#!/usr/bin/env bats
# The module file of the tree, read by Environment Modules; Lmod reads the same language.

setup() {
    # What a user without root does: unpack the tarball wherever there is room.
    TREE="$BATS_FILE_TMPDIR/some where/howdah-$HOWDAH_VERSION"
    [ -d "$TREE" ] || { mkdir -p "${TREE%/*}" && tar -xzf "$HOWDAH_BUILD/dist/howdah-$HOWDAH_VERSION.tar.gz" -C "${TREE%/*}"; }
    CMD=$(command -v modulecmd || find /usr/lib -name modulecmd.tcl 2>/dev/null | head -n 1)
    [ -n "$CMD" ] || skip "Environment Modules is missing"
}

@test "module load finds the tree, its own" {
    run env -i PATH=/usr/bin:/bin MODULEPATH="$TREE/share/modulefiles" "$CMD" bash load howdah
    echo "$output"
    eval "$output"
    [ "$HADOOP_HOME" = "$TREE" ]
    [[ $PATH == "$TREE/bin:"* ]]
    [ "$SPARK_HOME" = "$TREE" ]
    hadoop version | grep -q "Hadoop $HADOOP_VERSION"
    [ "$(command -v howdah)" = "$TREE/bin/howdah" ]
    howdah conf | grep -q hadoop.rdma.transport
}
