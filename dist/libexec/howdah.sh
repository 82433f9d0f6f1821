# shellcheck shell=bash
# How a subcommand of howdah that is written in Java runs. Sourced, never run.

. "${BASH_SOURCE[0]%/*}/java.sh"

# run_howdah CLASS ARGUMENT...
run_howdah() {
    local words
    find_tree hadoop
    find_hadoop_conf
    prepare_java
    [ -d "$HADOOP_HOME/share/howdah" ] || die "$HADOOP_HOME/share/howdah is missing: this tree has only upstream's parts"
    split_words words "${HOWDAH_OPTS:-}"
    find_classpath
    export CLASSPATH="$HADOOP_PATH:$HADOOP_HOME/share/howdah/lib/*"
    exec "$JAVA" "-Dproc_${0##*/}" -Dio.howdah.role=command -Xmx256m ${JAVA_FLAGS[@]+"${JAVA_FLAGS[@]}"} \
        ${SYSTEM_FLAGS[@]+"${SYSTEM_FLAGS[@]}"} -Djava.net.preferIPv4Stack=true \
        -Dhadoop.root.logger="${HADOOP_ROOT_LOGGER:-WARN,console}" "-Dhowdah.home=$HADOOP_HOME" \
        "-Djava.library.path=$HADOOP_HOME/lib/native" ${words[@]+"${words[@]}"} "$@"
}

# run_alone CLASS ARGUMENT...: a class of howdah-cluster that needs neither Hadoop's jars nor a configuration.
run_alone() {
    local jars
    find_tree engine
    source_site "${HADOOP_CONF_DIR:-$HADOOP_HOME/etc/hadoop}/hadoop-env.sh"
    prepare_java
    jars=("$HADOOP_HOME"/share/howdah/howdah-cluster-*.jar)
    [ -e "${jars[0]}" ] || die "$HADOOP_HOME/share/howdah/howdah-cluster-*.jar is missing" "unpack the distribution again, or install the package howdah-hadoop-common"
    exec "$JAVA" "-Dproc_${0##*/}" -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ${JAVA_FLAGS[@]+"${JAVA_FLAGS[@]}"} \
        ${SYSTEM_FLAGS[@]+"${SYSTEM_FLAGS[@]}"} \
        "-Dhowdah.home=$HADOOP_HOME" -cp "${jars[0]}:$HADOOP_HOME/share/howdah/lib/*" "$@"
}
