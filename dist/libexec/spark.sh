# shellcheck shell=bash
# How Spark's commands find their tree, configuration and Python. Sourced, never run.

. "${BASH_SOURCE[0]%/*}/java.sh"

# start_spark: the tree, SPARK_CONF_DIR with its spark-env.sh, Hadoop's configuration, Java.
start_spark() {
    find_tree spark
    export SPARK_CONF_DIR=${SPARK_CONF_DIR:-$SPARK_HOME/etc/spark}
    [ -d "$SPARK_CONF_DIR" ] || die "the configuration folder $SPARK_CONF_DIR does not exist" "check SPARK_CONF_DIR"
    # Once a command, though each command may start another.
    if [ -z "${SPARK_ENV_LOADED:-}" ]; then
        export SPARK_ENV_LOADED=1
        set -a
        source_site "$SPARK_CONF_DIR/spark-env.sh"
        set +a
    fi
    export SPARK_SCALA_VERSION=${SPARK_SCALA_VERSION:-2.11}
    export HADOOP_CONF_DIR=${HADOOP_CONF_DIR:-${YARN_CONF_DIR:-$HADOOP_HOME/etc/hadoop}}
    [ -d "$HADOOP_CONF_DIR" ] || die "the configuration folder $HADOOP_CONF_DIR does not exist" "check HADOOP_CONF_DIR"
    check_site_files "$HADOOP_CONF_DIR"
    prepare_java
    tell_library_folder
    choose_worker_dir
    export LD_LIBRARY_PATH=$HADOOP_HOME/lib/native${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# tell_library_folder: where native libraries are unpacked, for whatever Spark starts. A worker's executors get its environment,
# not its options: for them it stands in a file of Snappy's on the class path.
tell_library_folder() {
    local conf
    [ -n "$LIBRARY_FOLDER" ] || return 0
    export HOWDAH_LIBRARY_DIR=$LIBRARY_FOLDER
    conf=$LIBRARY_FOLDER/conf
    mkdir -p -- "$conf" && printf 'org.xerial.snappy.tempdir=%s\n' "$LIBRARY_FOLDER" >"$conf/org-xerial-snappy.properties"
    [[ :${SPARK_DIST_CLASSPATH:-}: == *":$conf:"* ]] || export SPARK_DIST_CLASSPATH=$conf${SPARK_DIST_CLASSPATH:+:$SPARK_DIST_CLASSPATH}
}

# choose_worker_dir: where a worker, and local-cluster, keeps its executors' folders, if it may not do so in the tree.
choose_worker_dir() {
    local place=$SPARK_HOME/work own=/tmp/howdah-$UID
    [ -e "$place" ] || place=$SPARK_HOME
    if [ -n "${SPARK_WORKER_DIR:-}" ] || [ -w "$place" ]; then return 0; fi
    own_folder "$own" || return 0
    export SPARK_WORKER_DIR=$own/work
}

# find_python: PYSPARK_PYTHON, PYSPARK_DRIVER_PYTHON and PYTHONPATH.
find_python() {
    local py4j
    export PYSPARK_PYTHON=${PYSPARK_PYTHON:-python3}
    export PYSPARK_DRIVER_PYTHON=${PYSPARK_DRIVER_PYTHON:-$PYSPARK_PYTHON}
    command -v "$PYSPARK_DRIVER_PYTHON" >/dev/null ||
        die "there is no Python '$PYSPARK_DRIVER_PYTHON'" "install Python 3 or set PYSPARK_PYTHON"
    py4j=$(echo "$SPARK_HOME"/python/lib/py4j-*-src.zip)
    export PYTHONPATH=$SPARK_HOME/python:$py4j${PYTHONPATH:+:$PYTHONPATH}
}
