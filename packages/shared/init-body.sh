# shellcheck shell=bash disable=SC2154 # package, user, logs, run, start_words, stop_words: set by the lines put before
# The body of every SysV script: what is below the line, after the settings that make-services writes. Not run by itself.
# ---

# Where systemd runs, Debian's functions hand over to it.
# shellcheck source=/dev/null
[ ! -r /lib/lsb/init-functions ] || . /lib/lsb/init-functions

# last_words: why it is not running, where its last start or its log says so; nothing after a stop.
last_words() {
    local log
    [ -e "$run/start.out" ] || return 0
    [ -r "$run/start.out" ] || { echo "    why is in $logs, which only root and $user may read"; return 0; }
    log=$(sed -n 's/^starting .*, logging to //p' "$run/start.out" | tail -n 1)
    {
        # An exception stands below the line that announces it, and what it goes back to below that.
        if [ -r "$log" ]; then
            tail -n 500 "$log" | grep -E -A 1 --no-group-separator ' (ERROR|FATAL) ' | tail -n 4
            tail -n 500 "$log" | awk '/ (ERROR|FATAL) / { trace = 1; cause = ""; next } /^[0-9]/ { trace = 0 }
                trace && /^Caused by: / { cause = $0 } END { if (cause) print cause }'
        fi
        if [ -n "$log" ] && [ -r "${log%.log}.out" ]; then grep '^Exception in ' "${log%.log}.out" | tail -n 2; fi
        grep -v '^starting ' "$run/start.out" | tail -n 3
    } | cut -c1-500 | sed 's/^/    /'
    [ -z "$log" ] || echo "    see $log"
}

# lives PID: whether there is such a process. A user may not signal another's.
lives() {
    local words
    words=$(LC_ALL=C kill -0 "$1" 2>&1) || [[ $words == *'not permitted'* ]]
}

status_of() {
    local file pid
    for file in "$run"/*.pid; do
        [ -f "$file" ] || continue
        [ -r "$file" ] || { echo "$package: only root and $user may read $file"; return 4; }
        read -r pid <"$file"
        if lives "$pid"; then echo "$package is running as process $pid"; return 0; fi
        echo "$package is dead, but its pid file $file exists"
        last_words
        return 1
    done
    echo "$package is not running"
    last_words
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
    # Kept for status; written by the account, whose folder it is.
    as_user "${start_words[@]}" 2>&1 | as_user tee "$run/start.out"
    return "${PIPESTATUS[0]}"
}

stop() {
    if [ ! -d "$run" ]; then echo "$package is not running"; return 0; fi
    as_user "${stop_words[@]}" && as_user rm -f "$run/start.out"
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
