# shellcheck shell=bash
# Daemons: pid files, logs, start, stop, status. Sourced, never run.
#
# Uses FAMILY, IDENT, COMMAND, LOG_DIR, PID_DIR, NICENESS, STOP_TIMEOUT; PID_FILE comes from choose_pid_file.

# choose_pid_file: PID_FILE; without a folder of the site's, one that is this user's own and of this host.
choose_pid_file() {
    if [ -z "$PID_DIR" ]; then
        PID_DIR=/tmp/howdah-$UID
        own_folder "$PID_DIR" || die "$PID_DIR cannot be made, or belongs to someone else" "set HADOOP_PID_DIR to a folder of your own"
    else
        mkdir -p -- "$PID_DIR" || die "the folder for pid files, $PID_DIR, cannot be made" "check HADOOP_PID_DIR"
    fi
    PID_FILE=$PID_DIR/$FAMILY-$IDENT-$COMMAND.pid
}

make_log_dir() {
    local probe report
    mkdir -p -- "$LOG_DIR" 2>/dev/null || die "the log folder $LOG_DIR cannot be made" "set HADOOP_LOG_DIR to a folder you may write"
    [ -w "$LOG_DIR" ] || die "the log folder $LOG_DIR is not writable" "set HADOOP_LOG_DIR to a folder you may write"
    # A daemon on a full disk could not say why it does not start.
    probe=$LOG_DIR/.probe-$$
    if ! report=$({ printf '%4096s' '' >"$probe"; } 2>&1); then
        rm -f -- "$probe"
        die "the log folder $LOG_DIR takes no logs: ${report##*: }" "make room, or set HADOOP_LOG_DIR to another folder"
    fi
    rm -f -- "$probe"
}

# is_daemon PID: whether it is the daemon COMMAND, as far as its command line can be read.
is_daemon() {
    local marks=(-e "-Dproc_$COMMAND")
    # Spark's daemons are its launcher for their first second.
    [ "$FAMILY" != spark ] || marks+=(-e "$HADOOP_HOME/bin/spark-class")
    [ ! -r "/proc/$1/cmdline" ] || tr '\0' '\n' 2>/dev/null <"/proc/$1/cmdline" | grep -qxF "${marks[@]}"
}

# running_pid: prints the pid in PID_FILE if that process is still our daemon, not a later one with the same number. Where the file
# is gone, as cleaners of /tmp remove old files, the daemon is found by its environment.
running_pid() {
    local pid file
    if [ -f "$PID_FILE" ]; then
        pid=$(<"$PID_FILE")
        [[ $pid =~ ^[1-9][0-9]*$ ]] && kill -0 "$pid" 2>/dev/null && is_daemon "$pid" || return 1
        printf '%s\n' "$pid"
        return 0
    fi
    while IFS= read -r file; do
        pid=${file#/proc/}
        pid=${pid%/environ}
        if is_daemon "$pid" && kill -0 "$pid" 2>/dev/null; then printf '%s\n' "$pid"; return 0; fi
    done < <(grep -lzsxF -e "HOWDAH_PID_FILE=$PID_FILE" /proc/[0-9]*/environ || true)
    return 1
}

# daemon_start PROGRAM ARGUMENT...: in the background with a pid file; watches its first two seconds.
daemon_start() {
    local pid base out i
    if pid=$(running_pid); then die "$COMMAND is already running as process $pid" "stop it first: ${0##*/} --daemon stop $COMMAND"; fi
    base=$LOG_DIR/$FAMILY-$IDENT-$COMMAND-$(uname -n)
    out=$base.out
    for i in 4 3 2 1; do [ ! -f "$out.$i" ] || mv -f -- "$out.$i" "$out.$((i + 1))"; done
    [ ! -f "$out" ] || mv -f -- "$out" "$out.1"
    printf 'starting %s, logging to %s\n' "$COMMAND" "$base.log"
    cd /
    HOWDAH_PID_FILE=$PID_FILE setsid nice -n "$NICENESS" "$@" >"$out" 2>&1 </dev/null &
    pid=$!
    # Others may see that it runs, whatever the umask is.
    if ! (umask 022; printf '%s\n' "$pid" >"$PID_FILE") 2>/dev/null; then
        kill "$pid"
        die "the pid file $PID_FILE cannot be written" "set HADOOP_PID_DIR to a folder you may write"
    fi
    disown
    for ((i = 0; i < 20; i++)); do
        if ! kill -0 "$pid" 2>/dev/null; then
            rm -f -- "$PID_FILE"
            tail -n 15 -- "$out" | cut -c -400 >&2 # a class path fills a screen
            die "$COMMAND stopped right after its start" "see $out and $base.log"
        fi
        sleep 0.1
    done
}

# daemon_stop: asks, waits STOP_TIMEOUT seconds, then kills.
daemon_stop() {
    local pid i
    if ! pid=$(running_pid); then
        rm -f -- "$PID_FILE"
        printf 'no %s to stop\n' "$COMMAND"
        return 0
    fi
    printf 'stopping %s\n' "$COMMAND"
    kill "$pid"
    for ((i = 0; i < STOP_TIMEOUT * 10; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$pid" 2>/dev/null; then
        warn "$COMMAND did not stop within $STOP_TIMEOUT seconds: killing process $pid"
        kill -9 "$pid"
    fi
    rm -f -- "$PID_FILE"
}

# daemon_status: exits 0 when running, 1 when it died and left its pid file, 3 when it is not running.
daemon_status() {
    local pid
    if pid=$(running_pid); then printf '%s is running as process %s\n' "$COMMAND" "$pid"; return 0; fi
    if [ -f "$PID_FILE" ]; then printf '%s is dead, but its pid file %s exists\n' "$COMMAND" "$PID_FILE"; return 1; fi
    printf '%s is not running\n' "$COMMAND"
    return 3
}
