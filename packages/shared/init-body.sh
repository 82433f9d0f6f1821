# shellcheck shell=bash disable=SC2154 # package, user, logs, run, start_words, stop_words: set by the lines put before
# The body of every SysV script: what is below the line, after the settings that make-services writes. Not run by itself.
# ---

# Where systemd runs, Debian's functions hand over to it.
# shellcheck source=/dev/null
[ ! -r /lib/lsb/init-functions ] || . /lib/lsb/init-functions

status_of() {
    local file pid
    for file in "$run"/*.pid; do
        [ -f "$file" ] || continue
        read -r pid <"$file"
        if kill -0 "$pid" 2>/dev/null; then echo "$package is running as process $pid"; return 0; fi
        echo "$package is dead, but its pid file $file exists"
        return 1
    done
    echo "$package is not running"
    return 3
}

# as_user WORD...: with the environment of the service. setpriv, not su: no session, no limits of PAM in between.
as_user() {
    local settings=(HADOOP_CONF_DIR=/etc/hadoop/conf SPARK_CONF_DIR=/etc/spark/conf HADOOP_LOG_DIR="$logs" SPARK_LOG_DIR="$logs"
        HADOOP_PID_DIR="$run" SPARK_PID_DIR="$run" HADOOP_IDENT_STRING="$user" SPARK_IDENT_STRING="$user" HADOOP_STOP_TIMEOUT=30) line
    if [ -r "/etc/default/$package" ]; then
        while IFS= read -r line; do
            if [[ $line =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; then settings+=("$line"); fi
        done <"/etc/default/$package"
    fi
    cd / || return 1
    setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$(getent passwd "$user" | cut -d: -f6)" USER="$user" ${LANG:+LANG="$LANG"} "${settings[@]}" "$@"
}

start() {
    if status_of >/dev/null; then echo "$package is running already"; return 0; fi
    install -d -m 755 -o "$user" -g "$(id -g "$user")" "$run" || return 1
    # RDMA registers memory, which counts as locked. A container may not be allowed to raise limits: howdah doctor tells.
    ulimit -l unlimited 2>/dev/null || echo "$package: the limit of locked memory stays at $(ulimit -l) KB" >&2
    ulimit -n 65536 2>/dev/null || echo "$package: the limit of open files stays at $(ulimit -n)" >&2
    umask 027
    as_user "${start_words[@]}"
}

stop() {
    if [ ! -d "$run" ]; then echo "$package is not running"; return 0; fi
    as_user "${stop_words[@]}"
}

[ "$(id -u)" -eq 0 ] || [ "${1:-}" = status ] || { echo "$package: only root may do this" >&2; exit 4; }
case ${1:-} in
    start) start ;;
    stop) stop ;;
    status) status_of ;;
    restart | force-reload) stop && start ;;
    try-restart | condrestart) if status_of >/dev/null; then stop && start; fi ;;
    *) echo "Usage: $0 {start|stop|status|restart|force-reload|try-restart}" >&2; exit 2 ;;
esac
