# shellcheck shell=bash
# How a subcommand of howdah that is written in Java runs. Sourced, never run.

. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# run_howdah CLASS ARGUMENT...
run_howdah() {
    local words
    find_tree hadoop
    find_hadoop_conf
    find_java
    [ -d "$HADOOP_HOME/share/howdah" ] || die "$HADOOP_HOME/share/howdah is missing: this tree has only upstream's parts"
    split_words words "${HOWDAH_OPTS:-}"
    CLASSPATH="$(hadoop_classpath):$HADOOP_HOME/share/howdah/lib/*"
    export CLASSPATH
    exec "$JAVA" "-Dproc_${0##*/}" -Xmx256m ${JAVA_FLAGS[@]+"${JAVA_FLAGS[@]}"} -Djava.net.preferIPv4Stack=true \
        -Dhadoop.root.logger="${HADOOP_ROOT_LOGGER:-WARN,console}" "-Dhowdah.home=$HADOOP_HOME" \
        "-Djava.library.path=$HADOOP_HOME/lib/native" ${words[@]+"${words[@]}"} "$@"
}
