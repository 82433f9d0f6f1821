# shellcheck shell=bash
# How hadoop, hdfs, yarn and mapred run a class, in the foreground or as a daemon. Sourced, never run.
#
# A command sets: CLASS, FAMILY (hadoop, yarn or mapred: names of logs and pid files), COMMAND, the arrays OPTS (JVM
# options) and ARGS, and DAEMON=1 where the class is a daemon; then calls run_class.

. "${BASH_SOURCE[0]%/*}/java.sh"
. "${BASH_SOURCE[0]%/*}/daemon.sh"

CLASS='' COMMAND='' DAEMON='' ACTION='' HEAP=''
OPTS=() ARGS=()

# start_command ARGUMENT...: the options before the subcommand; leaves the subcommand in COMMAND and the rest in ARGS.
start_command() {
    find_tree hadoop
    while [ $# -gt 0 ]; do
        case $1 in
            --config | --loglevel | --daemon)
                [ $# -ge 2 ] || die "$1 needs a value" "see: ${0##*/} --help"
                case $1 in
                    --config) HADOOP_CONF_DIR=$2 ;;
                    --loglevel) HADOOP_ROOT_LOGGER=$2,console YARN_ROOT_LOGGER=$2,console LOGLEVEL=$2 ;;
                    --daemon) ACTION=$2 ;;
                esac
                shift 2
                ;;
            --hostnames | --hosts) die "$1 is not known here" "sbin/slaves.sh runs a command on many hosts" ;;
            *) break ;;
        esac
    done
    case $ACTION in '' | start | stop | status) ;; *) die "--daemon $ACTION is not known" "use start, stop or status" ;; esac
    if [ $# -eq 0 ]; then usage >&2; exit 1; fi
    case $1 in -h | -help | --help | help) usage; exit 0 ;; esac
    COMMAND=$1
    shift
    ARGS=("$@")
    find_hadoop_conf
}

# not_published: for upstream's subcommands whose jars are not published for this release.
not_published() {
    die "'${0##*/} $COMMAND' is not part of this distribution: its jar was never published for this release of Hadoop"
}

# site_value FILE NAME: the value of a property in one of the site files, the last one if there are several; nothing without one.
site_value() {
    [ -r "$HADOOP_CONF_DIR/$1" ] || return 0
    { sed -z -e 's/<!--\([^-]\|-[^-]\)*-->//g' -e 's/[[:space:]]\+/ /g' -e 's,</property>,&\n,g' -- "$HADOOP_CONF_DIR/$1" | tr -d '\0'; } |
        { grep -E "<name> ?${2//./\\.} ?</name>" || true; } | sed -n 's,.*<value> \?\([^<]*[^ <]\) \?</value>.*,\1,p' | tail -n 1
}

# check_default_fs: Java finds no host in an address that has a _ in it, and a daemon says so only in its log.
check_default_fs() {
    local file=$HADOOP_CONF_DIR/core-site.xml uri
    [ -r "$file" ] && [[ $(<"$file") == *hdfs://*_* ]] || return 0
    uri=$(site_value core-site.xml fs.defaultFS)
    [[ ! $uri =~ ^hdfs://[^/:]*_ ]] || die "fs.defaultFS=$uri has a _ in the name of its host, which Hadoop's addresses do not take" \
        "use another name or the address of the host in $file"
}

# starts_without_leveldb: this daemon starts, or runs, on a machine that leveldbjni was never built for.
starts_without_leveldb() { [ "$(uname -m)" = ppc64le ] && [[ $ACTION != stop && $ACTION != status ]]; }

# no_leveldb WHAT REMEDY: instead of a stack trace of what loads the library.
no_leveldb() { die "$1 in LevelDB, which is not there for ppc64le" "$2 in $HADOOP_CONF_DIR"; }

# family_settings: settings of hadoop, yarn or mapred, from their own variables or Hadoop's.
family_settings() {
    IDENT=${HADOOP_IDENT_STRING:-${USER:-$(id -un 2>/dev/null || true)}} # the number where the system has no name
    LOG_DIR=${HADOOP_LOG_DIR:-$HADOOP_HOME/logs}
    PID_DIR=${HADOOP_PID_DIR:-}
    NICENESS=${HADOOP_NICENESS:-0}
    STOP_TIMEOUT=${HADOOP_STOP_TIMEOUT:-5}
    ROOT_LOGGER=${HADOOP_ROOT_LOGGER:-INFO,console}
    DAEMON_LOGGER=${HADOOP_DAEMON_ROOT_LOGGER:-INFO,RFA}
    case $FAMILY in
        yarn)
            IDENT=${YARN_IDENT_STRING:-$IDENT} LOG_DIR=${YARN_LOG_DIR:-$LOG_DIR} PID_DIR=${YARN_PID_DIR:-$PID_DIR}
            NICENESS=${YARN_NICENESS:-$NICENESS} STOP_TIMEOUT=${YARN_STOP_TIMEOUT:-$STOP_TIMEOUT}
            ROOT_LOGGER=${YARN_ROOT_LOGGER:-$ROOT_LOGGER}
            ;;
        mapred)
            IDENT=${HADOOP_MAPRED_IDENT_STRING:-$IDENT} LOG_DIR=${HADOOP_MAPRED_LOG_DIR:-$LOG_DIR}
            PID_DIR=${HADOOP_MAPRED_PID_DIR:-$PID_DIR} NICENESS=${HADOOP_MAPRED_NICENESS:-$NICENESS}
            STOP_TIMEOUT=${HADOOP_MAPRED_STOP_TIMEOUT:-$STOP_TIMEOUT}
            DAEMON_LOGGER=${HADOOP_MAPRED_ROOT_LOGGER:-$DAEMON_LOGGER}
            ;;
    esac
    # With --daemon a level that was asked for goes to the log file.
    [ -z "${LOGLEVEL:-}" ] || DAEMON_LOGGER=$LOGLEVEL,RFA
}

# add_opts STRING...: options out of *_OPTS variables, split at blanks.
add_opts() {
    local words string
    for string in "$@"; do
        split_words words "$string"
        OPTS+=(${words[@]+"${words[@]}"})
    done
}

# jvm_options LOGGER LOGFILE: fills JVM: heap, where things are, logging, then HADOOP_OPTS and the command's own.
jvm_options() {
    local heap=${HEAP:-${HADOOP_HEAPSIZE:-1000}} words logger role=command
    [[ $heap =~ ^[1-9][0-9]*[kKmMgG]?$ ]] || die "heap size '$heap' is not a number of megabytes" "check HADOOP_HEAPSIZE and its kin"
    [[ $heap =~ [kKmMgG]$ ]] || heap+=m
    [ -z "$DAEMON" ] || role=daemon
    JVM=("-Dproc_$COMMAND" "-Dio.howdah.role=$role" "-Xmx$heap" ${JAVA_FLAGS[@]+"${JAVA_FLAGS[@]}"}
        ${SYSTEM_FLAGS[@]+"${SYSTEM_FLAGS[@]}"} -Djava.net.preferIPv4Stack=true
        "-Dhadoop.home.dir=$HADOOP_HOME" "-Dhadoop.log.dir=$LOG_DIR" "-Dhadoop.log.file=$2" "-Dhadoop.id.str=$IDENT"
        "-Dhadoop.root.logger=$1" "-Dhadoop.policy.file=${HADOOP_POLICYFILE:-hadoop-policy.xml}"
        "-Dyarn.log.dir=$LOG_DIR" "-Dyarn.log.file=$2" "-Dyarn.home.dir=$HADOOP_HOME" "-Dyarn.root.logger=$1"
        "-Djava.library.path=${JAVA_LIBRARY_PATH:+$JAVA_LIBRARY_PATH:}$HADOOP_HOME/lib/native")
    # Since 8u171 Java reads no class from a key store that is not named here: keys of encryption zones could be made, but not read.
    # shellcheck disable=SC2016 # a class's name
    JVM+=('-Djceks.key.serialFilter=java.lang.Enum;java.security.KeyRep;java.security.KeyRep$Type;javax.crypto.spec.SecretKeySpec;org.apache.hadoop.crypto.key.JavaKeyStoreProvider$KeyMetadata;!*')
    split_words words "${HADOOP_OPTS:-}"
    JVM+=(${words[@]+"${words[@]}"})
    # The security log is for those who serve; a client's events go nowhere unless asked for.
    if [ -n "$DAEMON" ]; then logger=INFO,RFAS; else logger=INFO,NullAppender; fi
    JVM+=("-Dhadoop.security.logger=${HADOOP_SECURITY_LOGGER:-$logger}")
    JVM+=(${OPTS[@]+"${OPTS[@]}"})
}

# run_class: the foreground, or with --daemon start, stop, status.
run_class() {
    family_settings
    if [ -n "$ACTION" ] && [ -z "$DAEMON" ]; then die "'$COMMAND' is not a daemon" "leave out --daemon $ACTION"; fi
    if [ -n "$DAEMON" ]; then choose_pid_file; fi
    case $ACTION in stop) daemon_stop; return ;; status) daemon_status; return ;; esac
    prepare_java
    check_site_files "$HADOOP_CONF_DIR"
    check_default_fs
    find_classpath
    export CLASSPATH=$HADOOP_PATH${TOOL_PATH:+:$TOOL_PATH}
    if [ -z "$ACTION" ]; then
        [ -z "$DAEMON" ] || make_log_dir
        jvm_options "$ROOT_LOGGER" "${HADOOP_LOGFILE:-hadoop.log}"
        exec "$JAVA" "${JVM[@]}" "$CLASS" ${ARGS[@]+"${ARGS[@]}"}
    fi
    make_log_dir
    jvm_options "$DAEMON_LOGGER" "$FAMILY-$IDENT-$COMMAND-$(uname -n).log"
    daemon_start "$JAVA" "${JVM[@]}" "$CLASS" ${ARGS[@]+"${ARGS[@]}"}
}

# run_jar: for hadoop jar and yarn jar. Upstream's jars of tests and benchmarks need each other, and JUnit.
run_jar() {
    CLASS=org.apache.hadoop.util.RunJar
    if [ ${#ARGS[@]} -gt 0 ] && [ ! -e "${ARGS[0]}" ] && [[ ${ARGS[0]} != -* ]]; then
        die "there is no jar file ${ARGS[0]}" "usage: ${0##*/} jar FILE [CLASS] [ARGUMENT...]"
    fi
    [[ ${ARGS[0]:-} != *-tests.jar ]] || TOOL_PATH="$HADOOP_HOME/share/hadoop/tests/*"
}

# print_classpath: the class path as it is, or what --glob and --jar of upstream's class make of it.
print_classpath() {
    if [ ${#ARGS[@]} -eq 0 ]; then
        find_classpath
        printf '%s\n' "$HADOOP_PATH"
        exit 0
    fi
    CLASS=org.apache.hadoop.util.Classpath
}
