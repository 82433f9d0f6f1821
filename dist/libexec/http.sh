# shellcheck shell=bash
# Asking a daemon's web server, for scripts. Sourced, never run.

# http METHOD HOST:PORT PATH: the answer's body; fails unless it is 200 and comes within five seconds. Without another program,
# which a node may lack, and without a JVM, which takes seconds to start.
http() {
    local answer
    # shellcheck disable=SC2016 # of the other shell
    answer=$(timeout 5 "$BASH" -c 'exec 3<>"/dev/tcp/${2%:*}/${2##*:}" &&
        printf "%s %s HTTP/1.0\r\nHost: %s\r\nContent-Length: 0\r\n\r\n" "$1" "$3" "$2" >&3 && tr -d "\0\r" <&3' http "$@" 2>/dev/null) || return 1
    [[ $answer == 'HTTP/1.'?' 200 '* ]] || return 1
    printf '%s\n' "${answer#*$'\n\n'}"
}

# safe_mode_is_off HOST:PORT: whether the NameNode with this web server takes writes.
safe_mode_is_off() {
    local bean
    bean=$(http GET "$1" '/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo') && grep -q '"Safemode" : ""' <<<"$bean"
}

# make_hdfs_folder HOST:PORT USER PATH [MODE]: as this user; a folder that is there stays as it is.
make_hdfs_folder() { http PUT "$1" "/webhdfs/v1$3?op=MKDIRS${4:+&permission=$4}&user.name=$2" >/dev/null; }
