# shellcheck shell=bash
# The configuration of a container, out of its environment: HDFS-SITE.XML_dfs.replication=2 is a property of hdfs-site.xml. Sourced
# by entrypoint, which has fail.

# read_environment FILE: properties and values, one after the other, into the arrays CORE, HDFS, MAPRED, YARN, SCHEDULER and SPARK.
# FILE is as /proc/PID/environ: shells may drop variables whose names have a dash or a dot.
read_environment() {
    local entry name value property
    CORE=() HDFS=() MAPRED=() YARN=() SCHEDULER=() SPARK=()
    while IFS= read -r -d '' entry; do
        name=${entry%%=*} value=${entry#*=} property=${entry%%=*}
        property=${property#*_}
        case $name in
            CORE-SITE.XML_*) CORE+=("$property" "$value") ;;
            HDFS-SITE.XML_*) HDFS+=("$property" "$value") ;;
            MAPRED-SITE.XML_*) MAPRED+=("$property" "$value") ;;
            YARN-SITE.XML_*) YARN+=("$property" "$value") ;;
            CAPACITY-SCHEDULER.XML_*) SCHEDULER+=("$property" "$value") ;;
            SPARK-DEFAULTS.CONF_*)
                [[ $value != *$'\n'* ]] || fail "the value of $name has a line break, which spark-defaults.conf does not take" "write it in one line"
                SPARK+=("$property" "$value")
                ;;
            *.XML_* | *.CONF_*)
                fail "$name is for a file that is not written here" \
                    "there are: CORE-SITE.XML_, HDFS-SITE.XML_, MAPRED-SITE.XML_, YARN-SITE.XML_, CAPACITY-SCHEDULER.XML_, SPARK-DEFAULTS.CONF_"
                ;;
            *) continue ;;
        esac
        [[ $property =~ ^[A-Za-z0-9._-]+$ ]] || fail "$name does not end in the name of a property" "as: HDFS-SITE.XML_dfs.replication=2"
    done < <(LC_ALL=C sort -z -- "$1")
}

# write_settings FOLDER: a template of site files, of what read_environment has read.
write_settings() {
    site_file "$1/core-site.xml" ${CORE[@]+"${CORE[@]}"}
    site_file "$1/hdfs-site.xml" ${HDFS[@]+"${HDFS[@]}"}
    site_file "$1/mapred-site.xml" ${MAPRED[@]+"${MAPRED[@]}"}
    site_file "$1/yarn-site.xml" ${YARN[@]+"${YARN[@]}"}
    [ ${#SCHEDULER[@]} -eq 0 ] || site_file "$1/capacity-scheduler.xml" "${SCHEDULER[@]}"
}

# write_hadoop FOLDER: the configuration of Hadoop: the default one, the template cluster, what containers need, templates of
# HOWDAH_TEMPLATES, properties of the environment; the later one wins.
write_hadoop() {
    local work templates workers=()
    [ -z "${HOWDAH_WORKERS:-}" ] || workers=(--workers "$HOWDAH_WORKERS")
    read -r -a templates <<<"${HOWDAH_TEMPLATES:-}"
    work=$(mktemp -d)
    write_settings "$work"
    rm -rf -- "$1"
    "$HOWDAH_HOME/bin/howdah" template write "$1" cluster "$CONTAINER/site" ${templates[@]+"${templates[@]}"} "$work" \
        --set namenode="${HOWDAH_NAMENODE:-namenode}" --set resourcemanager="${HOWDAH_RESOURCEMANAGER:-resourcemanager}" \
        --set historyserver="${HOWDAH_HISTORYSERVER:-historyserver}" --set hdfs="$DATA/hdfs" --set yarn="$DATA/yarn" \
        ${workers[@]+"${workers[@]}"} || fail "the configuration could not be made" "the message above says why"
    rm -rf -- "$work"
}

# write_spark FOLDER DEFAULT: the configuration of Spark, over the folder DEFAULT: on YARN, with the record of applications in HDFS.
write_spark() {
    local i
    rm -rf -- "$1"
    cp -R -- "$2" "$1"
    {
        printf '\nspark.master yarn\nspark.yarn.jars local:%s/jars/*\n' "$HOWDAH_HOME"
        printf 'spark.eventLog.enabled true\nspark.eventLog.dir hdfs:///spark-history\nspark.history.fs.logDirectory hdfs:///spark-history\n'
        for ((i = 0; i < ${#SPARK[@]}; i += 2)); do printf '%s %s\n' "${SPARK[i]}" "${SPARK[i + 1]}"; done
    } >>"$1/spark-defaults.conf"
}

# write_configuration ENVIRONMENT: both, in the folders that HADOOP_CONF_DIR and SPARK_CONF_DIR name. A folder of the user's own stays
# as it is: the environment is not for it.
write_configuration() {
    read_environment "$1"
    if [ "$HADOOP_CONF_DIR" = "$RUN/hadoop" ]; then
        write_hadoop "$HADOOP_CONF_DIR"
    else
        [ $((${#CORE[@]} + ${#HDFS[@]} + ${#MAPRED[@]} + ${#YARN[@]} + ${#SCHEDULER[@]})) -eq 0 ] ||
            fail "*.XML_ variables are set, and HADOOP_CONF_DIR=$HADOOP_CONF_DIR is a configuration of your own" "write the properties there, or unset HADOOP_CONF_DIR"
    fi
    [ -d /etc/spark/conf.dist ] || return 0
    if [ "$SPARK_CONF_DIR" = "$RUN/spark" ]; then
        write_spark "$SPARK_CONF_DIR" /etc/spark/conf.dist
    else
        [ ${#SPARK[@]} -eq 0 ] ||
            fail "SPARK-DEFAULTS.CONF_ variables are set, and SPARK_CONF_DIR=$SPARK_CONF_DIR is a configuration of your own" "write the properties there, or unset SPARK_CONF_DIR"
    fi
}
