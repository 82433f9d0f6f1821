# shellcheck shell=bash
# Folders of jobs on a node's own disk: each has a file that says which process it belongs to. What belongs to a process that is
# gone is a leftover, of a node that was killed, and is removed before the next job starts. Sourced by job.sh and node.sh.

# process_birth PID: when it started, which with the number identifies it; fails if there is none.
process_birth() {
    local stat fields
    { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
    read -r -a fields <<<"${stat##*) }"
    printf '%s\n' "${fields[19]}"
}

# claim FOLDER: makes it, as this process's.
claim() {
    (umask 077; mkdir -- "$1") || return 1
    printf '%s %s %s %s\n' "$(uname -n)" "$(readlink /proc/self/ns/pid)" "$$" "$(process_birth $$)" >"$1/owner"
}

# is_leftover FOLDER: whether its process was of this node and is gone. A folder that others may have in use is none.
is_leftover() {
    local host space pid birth
    [ -d "$1" ] || return 0
    read -r host space pid birth 2>/dev/null <"$1/owner" || return 1
    [ "$host" = "$(uname -n)" ] && [ "$space" = "$(readlink /proc/self/ns/pid)" ] || return 1
    [ "$(process_birth "$pid")" != "$birth" ]
}

# own_processes GREP-OPTION...: numbers of this user's processes with such an argument.
own_processes() {
    local file
    while read -r file; do
        file=${file%/cmdline}
        if [ -O "$file" ]; then printf '%s\n' "${file#/proc/}"; fi
    done < <(grep -lzs "$@" /proc/[0-9]*/cmdline || true)
}

# kill_users_of FOLDER: the daemons that have their data there, and what they have started.
kill_users_of() {
    local pid
    for pid in $(own_processes -xF -e "-Dhowdah.local=$1") $(own_processes -F -e "$1/"); do
        [ "$pid" = $$ ] || kill -9 "$pid" 2>/dev/null || true # it may have ended
    done
}

# remove_leftovers LOCAL: of this user on this node, with a line for each.
remove_leftovers() {
    local folder pid
    for folder in "$1"/howdah-*; do
        if [ ! -d "$folder" ] || [ -L "$folder" ] || [ ! -O "$folder" ] || ! is_leftover "$folder"; then continue; fi
        kill_users_of "$folder"
        rm -rf -- "$folder" && printf '%s: removed %s, which a job that was killed had left\n' "$(uname -n)" "$folder"
    done
    # Those whose folder has been removed.
    for pid in $(own_processes -e '^-Dhowdah\.local='); do
        folder=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | sed -n 's/^-Dhowdah\.local=//p' | tail -n 1)
        if [ -z "$folder" ] || ! is_leftover "$folder"; then continue; fi
        kill -9 "$pid" 2>/dev/null && printf '%s: killed process %s, which a job had left in %s\n' "$(uname -n)" "$pid" "$folder"
    done
}
