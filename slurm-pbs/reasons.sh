# shellcheck shell=bash
# Why a daemon died or is not ready: the last error of its log, and what to do about it. Sourced by job.sh and node.sh.

# log_of FOLDER DAEMON NODE: the path of its log without ".log" or ".out"; nothing where there is none yet.
log_of() {
    local file
    for file in "$1"/*-"$2-$3".out; do [ ! -e "$file" ] || printf '%s\n' "${file%.out}"; done | tail -n 1
}

# last_error FILE: the last error of a log with the cause below it, else its last warning of a failure.
last_error() {
    [ -r "$1" ] || return 0
    tail -n 400 -- "$1" | awk '
        / (FATAL|ERROR) / { error = $0; cause = ""; trace = 1; next }
        / WARN / { if (/Exception|[Ff]ail|[Rr]efused|[Dd]enied|[Uu]nable|[Pp]roblem/) warning = $0; trace = 0; next }
        /^[0-9]/ { trace = 0; next }
        trace == 1 && /^[a-z][A-Za-z0-9_.$]*(Exception|Error)/ { cause = $0 }
        trace == 1 && /^Caused by: / { cause = $0 }
        END { print error != "" ? error (cause == "" ? "" : " | " cause) : warning }' | cut -c 1-400
}

# port_holder PORT: the process that listens there, as far as this user may see it.
port_holder() {
    local inode pid
    inode=$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$(printf ':%04X' "$1")" \
        '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }')
    [ -n "$inode" ] || return 0
    for pid in /proc/[0-9]*; do
        [ -O "$pid" ] || continue
        if find "$pid/fd" -lname "socket:\[$inode\]" 2>/dev/null | grep -q .; then
            printf 'your process %s (%s)' "${pid#/proc/}" "$(tr '\0' ' ' <"$pid/cmdline" | cut -c 1-60)"
            return 0
        fi
    done
    printf "another user's process"
}

# remedy TEXT: what to do about an error, where it is a known one.
remedy() {
    local port
    case $1 in
        *'Address already in use'* | *BindException* | *'Port in use'*)
            port=$(grep -oE '[:.][0-9]{2,5}\b' <<<"$1" | tail -n 1)
            port=${port#?}
            printf 'port %s is held by %s: end it, or ask for whole nodes (Slurm: --exclusive, PBS: place=excl)' "$port" "$(port_holder "${port:-0}")"
            ;;
        *UnknownHostException* | *'unresolved address'* | *'not resolve'*) printf 'each node must know the names of all nodes: check DNS or /etc/hosts' ;;
        *'Denied communication'* | *'Datanode denied'*) printf 'the NameNode refuses this DataNode: check dfs.hosts' ;;
        *'No space left'* | *'disk is full'*) printf "the node's disk is full: set HOWDAH_JOB_LOCAL to another folder" ;;
        *'local-dirs are bad'* | *'local-dirs usable space'* | *'are bad'*) printf "the node's disk is full or broken: set HOWDAH_JOB_LOCAL to another folder" ;;
        *OutOfMemoryError* | *'Could not reserve enough space'* | *'Cannot allocate memory'*) printf 'ask for more memory (Slurm: --mem, PBS: mem)' ;;
        *'Permission denied'*) printf "check the permissions of HOWDAH_JOB_LOCAL and of the job's folder" ;;
        *'Connection refused'* | *'No Route to Host'* | *'Retrying connect'*) printf 'the first node is not reached: check its daemons and firewalls between the nodes' ;;
        *) return 1 ;;
    esac
}

# reason FOLDER DAEMON NODE: in a line: its last error, and what to do or where to read on.
reason() {
    local base text
    base=$(log_of "$@")
    [ -n "$base" ] || { printf 'it has no log in %s' "$1"; return 0; }
    text=$(last_error "$base.log")
    [ -n "$text" ] || text=$(grep -vE '^(starting |SLF4J|log4j)' "$base.out" | tail -n 1 | cut -c 1-400)
    [ "$2" != namenode ] || [ -n "$text" ] || text=$(last_error "$1/format.out")
    printf '%s' "${text:-its log says nothing}"
    if text=$(remedy "$text"); then printf ' -> %s' "$text"; fi
    printf ' (%s.log)' "$base"
}
