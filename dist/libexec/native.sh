# shellcheck shell=bash
# How a subcommand of howdah that is one of the engine's tools runs. Sourced, never run.

. "${BASH_SOURCE[0]%/*}/functions.sh"

# run_tool TOOL ARGUMENT...
run_tool() {
    find_tree engine
    local tool=$HADOOP_HOME/libexec/native/$1
    [ -x "$tool" ] || die "this tree has no $tool" "unpack the distribution again (or, in a clone: make dist)"
    exec "$tool" "${@:2}"
}
