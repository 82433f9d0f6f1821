# shellcheck shell=bash
# What every command of the tree starts with: messages, where the tree is, which configuration. Sourced, never run.

set -euo pipefail

# die MESSAGE [WHAT-TO-DO...]: one cause, its remedy, exit 1.
die() {
    printf '%s: error: %s\n' "${0##*/}" "$1" >&2
    shift
    while [ $# -gt 0 ]; do printf '%s:        %s\n' "${0##*/}" "$1" >&2; shift; done
    exit 1
}

warn() { printf '%s: warning: %s\n' "${0##*/}" "$*" >&2; }

# source_site FILE: a site's own shell file, which may use unset variables and failing commands.
source_site() {
    [ -f "$1" ] || return 0
    [ -r "$1" ] || die "$1 is not readable" "check its permissions"
    set +eu
    # shellcheck source=/dev/null
    . "$1"
    set -euo pipefail
}

# split_words NAME STRING: STRING's words (JAVA_OPTS style, no globbing) into the array NAME.
split_words() {
    local -n words_of=$1
    local IFS=$' \t\n'
    set -f
    # shellcheck disable=SC2034,SC2206 # the caller's; split on purpose
    words_of=($2)
    set +f
}

# find_tree engine|hadoop|spark: HADOOP_HOME and SPARK_HOME are the tree that this file is in, wherever it was moved to.
# It must hold that part and what the part stands on; packages may have left out the others.
find_tree() {
    local tree name parts=(RELEASE)
    case $1 in
        hadoop | spark) parts+=(share/hadoop/common/lib share/hadoop/hdfs share/hadoop/yarn share/hadoop/mapreduce) ;;
    esac
    [ "$1" != spark ] || parts+=(jars)
    tree=$(cd -P -- "${BASH_SOURCE[0]%/*}/.." && pwd)
    for name in HADOOP_HOME SPARK_HOME; do
        if [ -n "${!name:-}" ] && [ ! "${!name}" -ef "$tree" ]; then
            warn "$name=${!name} is another installation; this command uses its own, $tree"
        fi
    done
    for name in "${parts[@]}"; do
        [ -e "$tree/$name" ] || die "this tree is incomplete: $tree/$name is missing" \
            "unpack the distribution again, or install the package howdah-$1 (in a clone: make dist)"
    done
    export HADOOP_HOME=$tree HADOOP_PREFIX=$tree HADOOP_COMMON_HOME=$tree HADOOP_HDFS_HOME=$tree
    export HADOOP_YARN_HOME=$tree HADOOP_MAPRED_HOME=$tree SPARK_HOME=$tree
}

# check_site_files DIR: checks each site file of DIR.
check_site_files() {
    local files=() file
    for file in "$1"/*-site.xml "$1"/capacity-scheduler.xml "$1"/fair-scheduler.xml; do
        [ ! -e "$file" ] || files+=("$file")
        [ ! -e "$file" ] || [ -r "$file" ] || die "$file is not readable" "check its permissions"
    done
    [ ${#files[@]} -eq 0 ] || check_xml "${files[@]}"
}

# check_xml FILE...: each is well-formed XML, or a message names file and line.
check_xml() {
    local report status=0
    if command -v xmllint >/dev/null; then
        report=$(xmllint --noout --nonet "$@" 2>&1) && return 0
    elif command -v python3 >/dev/null; then
        report=$(python3 -I - "$@" 2>/dev/null <<'PY'
import sys, xml.parsers.expat as expat
bad = 0
for name in sys.argv[1:]:
    try:
        with open(name, "rb") as f:
            expat.ParserCreate().ParseFile(f)
    except expat.ExpatError as e:
        bad = 9
        print(f"{name}:{e.lineno}: {expat.ErrorString(e.code)}")
sys.exit(bad)
PY
        ) || status=$?
        [ "$status" -eq 9 ] || return 0
    else
        return 0 # Hadoop's own parser will say it, at greater length
    fi
    die "a configuration file is not well-formed XML: ${report%%$'\n'*}" "correct that line and run the command again"
}

# find_hadoop_conf: HADOOP_CONF_DIR, checked, and hadoop-env.sh from it.
find_hadoop_conf() {
    export HADOOP_CONF_DIR=${HADOOP_CONF_DIR:-$HADOOP_HOME/etc/hadoop}
    [ -d "$HADOOP_CONF_DIR" ] || die "the configuration folder $HADOOP_CONF_DIR does not exist" \
        "check --config and HADOOP_CONF_DIR"
    if ! [ -r "$HADOOP_CONF_DIR" ] || ! [ -x "$HADOOP_CONF_DIR" ]; then
        die "the configuration folder $HADOOP_CONF_DIR is not readable" "check its permissions"
    fi
    HADOOP_CONF_DIR=$(cd -- "$HADOOP_CONF_DIR" && pwd)
    source_site "$HADOOP_CONF_DIR/hadoop-env.sh"
}

# find_classpath: HADOOP_PATH, the class path of Hadoop's daemons and clients, the configuration first.
find_classpath() {
    local share=$HADOOP_HOME/share path
    path=$HADOOP_CONF_DIR
    path+=":$share/hadoop/common/lib/*:$share/hadoop/common/*"
    path+=":$share/hadoop/hdfs:$share/hadoop/hdfs/*" # the folder itself for webapps/
    path+=":$share/hadoop/yarn/*:$share/hadoop/mapreduce/*:$share/howdah/*"
    if [ -n "${HADOOP_CLASSPATH:-}" ] && [ -z "${HADOOP_USE_CLIENT_CLASSLOADER:-}" ]; then
        if [ -n "${HADOOP_USER_CLASSPATH_FIRST:-}" ]; then path=$HADOOP_CLASSPATH:$path; else path+=:$HADOOP_CLASSPATH; fi
    fi
    # shellcheck disable=SC2034 # for the caller
    HADOOP_PATH=$path
}
