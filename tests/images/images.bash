# shellcheck shell=bash
# The engine of its own for the tests of images. Loaded by images.bats.

# why_no_engine: prints why there can be none here; nothing where it can.
why_no_engine() {
    local tool
    [ "$(id -u)" -eq 0 ] || { echo "only root can start an engine of its own"; return; }
    for tool in dockerd docker docker-compose iptables skopeo nsenter ip; do
        command -v "$tool" >/dev/null || { echo "$tool is missing"; return; }
    done
    unshare --mount --pid --net --uts --ipc --fork true 2>/dev/null || echo "this machine allows no namespaces"
}

# open_engine FOLDER: it answers when this returns.
open_engine() {
    local holder deadline=$((SECONDS + 180))
    mkdir -p "$1"
    echo "/howdah-images-$$" >"$1/cgroup"
    setsid unshare --mount --pid --net --uts --ipc --mount-proc --fork --kill-child --propagation private \
        "$HOWDAH_ROOT/tests/images/engine" "$1" </dev/null >"$1/engine.log" 2>&1 3>&- &
    holder=$!
    echo "$holder" >"$1/holder"
    until [ -e "$1/started" ]; do
        kill -0 "$holder" 2>/dev/null || { cat "$1/engine.log" >&2; return 1; }
        sleep 0.1
    done
    pgrep -P "$holder" >"$1/pid"
    until in_engine docker version >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || { tail -n 40 "$1/dockerd.log" >&2; return 1; }
        sleep 0.5
    done
}

# in_engine COMMAND...: where the engine is.
in_engine() {
    nsenter --target "$(cat "$ENGINE/pid")" --mount --net --uts --ipc --pid env PATH=/usr/sbin:/usr/bin:/sbin:/bin DOCKER_HOST=unix:///run/docker.sock COMPOSE_HTTP_TIMEOUT=600 HOWDAH_VERSION="$HOWDAH_VERSION" "$@"
}

# close_engine: containers end with their engine; what is left of them in the machine's cgroups is empty then.
close_engine() {
    local holder=none cgroup # where it was never opened
    [ ! -e "$ENGINE/holder" ] || holder=$(cat "$ENGINE/holder")
    [ ! -e "$ENGINE/pid" ] || kill -9 "$(cat "$ENGINE/pid")" 2>/dev/null || true
    while [ -e "/proc/$holder" ]; do sleep 0.1; done
    cgroup=$(cat "$ENGINE/cgroup" 2>/dev/null) || return 0
    local deadline=$((SECONDS + 30)) # the kernel empties them after the processes' end
    while [ -n "$(find /sys/fs/cgroup -type d -path "*$cgroup*" -print -quit)" ] && [ "$SECONDS" -lt "$deadline" ]; do
        find /sys/fs/cgroup -depth -type d -path "*$cgroup*" -exec rmdir {} \; 2>/dev/null || sleep 0.5
    done
}

compose() { in_engine docker-compose --project-name howdah --file "$HOWDAH_ROOT/docker/compose.yaml" "$@"; }

# in_container SERVICE COMMAND...: as docker compose exec does.
in_container() {
    local service=$1
    shift
    in_engine docker exec -i "howdah_${service}_1" "$@" </dev/null
}

# health SERVICE: starting, healthy or unhealthy; with the state where it does not run.
health() { in_engine docker inspect --format '{{if .State.Running}}{{.State.Health.Status}}{{else}}ended{{end}}' "howdah_${1}_1"; }

# all_healthy SECONDS: until every service is; fails when one ends, or after that time.
all_healthy() {
    local deadline=$((SECONDS + $1)) service state waiting=1
    while [ -n "$waiting" ]; do
        waiting=''
        for service in $(compose config --services); do
            state=$(health "$service")
            [ "$state" = healthy ] || waiting+=" $service ($state)"
            if [ "$state" = ended ] || [ "$SECONDS" -ge "$deadline" ]; then
                echo "not healthy:$waiting"
                in_engine docker logs --tail 30 "howdah_${service}_1"
                return 1
            fi
        done
        [ -z "$waiting" ] || sleep 2
    done
}

# live_datanodes N: until the NameNode counts so many.
live_datanodes() {
    local deadline=$((SECONDS + 300))
    until [ "$(in_container namenode hdfs dfsadmin -report -live | grep -c ^Hostname:)" -eq "$1" ]; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 2
    done
}
