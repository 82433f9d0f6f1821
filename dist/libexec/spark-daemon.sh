# shellcheck shell=bash
# Spark's standalone daemons, history server and Thrift server. Sourced by sbin/, never run.

. "${BASH_SOURCE[0]%/*}/spark.sh"
. "${BASH_SOURCE[0]%/*}/daemon.sh"

# spark_daemon NAME: settings of a daemon, whose files have names of their own.
spark_daemon() {
    start_spark
    FAMILY=spark COMMAND=$1
    IDENT=${SPARK_IDENT_STRING:-${USER:-$(id -un 2>/dev/null || true)}} # the number where the system has no name
    LOG_DIR=${SPARK_LOG_DIR:-$SPARK_HOME/logs}
    PID_DIR=${SPARK_PID_DIR:-}
    NICENESS=${SPARK_NICENESS:-0}
    STOP_TIMEOUT=5
    choose_pid_file
}

# start_spark_daemon CLASS ARGUMENT...: in the background, or with SPARK_NO_DAEMONIZE in the foreground.
start_spark_daemon() {
    # Its own mark, by which a pid file is known to be its own; Spark's launcher puts this variable on the command line.
    export SPARK_DAEMON_JAVA_OPTS="${SPARK_DAEMON_JAVA_OPTS:-} -Dproc_$COMMAND"
    if [ -n "${SPARK_NO_DAEMONIZE:-}" ]; then exec "$SPARK_HOME/bin/spark-class" "$@"; fi
    make_log_dir
    daemon_start "$SPARK_HOME/bin/spark-class" "$@"
}

# own_host: the name under which others reach this one.
own_host() { hostname -f 2>/dev/null || uname -n; }
