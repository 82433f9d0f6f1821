#!/usr/bin/env bats
# The module file of the tree, read by Environment Modules; Lmod reads the same language.

setup() {
    TREE=$HOWDAH_BUILD/dist/howdah-$HOWDAH_VERSION
    CMD=$(command -v modulecmd || find /usr/lib -name modulecmd.tcl 2>/dev/null | head -n 1)
    [ -n "$CMD" ] || skip "Environment Modules is missing"
}

@test "module load finds the tree, its own" {
    run env -i PATH=/usr/bin:/bin MODULEPATH="$TREE/share/modulefiles" "$CMD" bash load howdah
    echo "$output"
    [[ $output == *"HADOOP_HOME=$TREE"* ]]
    [[ $output == *"PATH=$TREE/bin:"* ]]
    eval "$output"
    [ "$SPARK_HOME" = "$TREE" ]
    hadoop version | grep -q "Hadoop $HADOOP_VERSION"
}
