# shellcheck disable=SC2016 # expanded by another shell
# docker/: how a container's environment becomes a configuration, and whether the files fit together. Images and clusters of them:
# tests/images.

bats_require_minimum_version 1.5.0

load tree

setup_file() { find_built_tree; }

setup() {
    WORK=$BATS_TEST_TMPDIR
    mkdir "$WORK/run" "$WORK/data"
}

# in_container VARIABLE=VALUE... -- BASH-TEXT: runs it as entrypoint would, with these variables as the container's.
in_container() {
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    env -i PATH="$PATH" HOME="$WORK" JAVA_HOME="$JAVA_HOME" RUN="$WORK/run" DATA="$WORK/data" CONTAINER="$ROOT/docker/container" HOWDAH_HOME="$TREE" \
        HADOOP_CONF_DIR="$WORK/run/hadoop" SPARK_CONF_DIR="$WORK/run/spark" "${variables[@]}" bash -c '
        set -euo pipefail
        fail() { printf "%s\n" "$@" >&2; exit 1; }
        for file in "$HOWDAH_HOME"/libexec/{http,site-file}.sh "$CONTAINER"/{daemons,settings}.sh; do . "$file"; done
        eval "$1"' container "$2"
}

# value FILE NAME: of a site file in FOLDER.
value() { xmllint --xpath "string((//property[name='$2'])[last()]/value)" "$FOLDER/$1"; }

@test "variables become properties of the files that they name" {
    FOLDER=$WORK
    in_container CORE-SITE.XML_fs.trash.interval=7 'HDFS-SITE.XML_a.b-c_d=<1 & "2">=3' HDFS-SITE.XML_dfs.empty= 'YARN-SITE.XML_y.list=a,
b' MAPRED-SITE.XML_m.x=1 CAPACITY-SCHEDULER.XML_c.x=9 OTHER_VARIABLE=1 HDFS_SITE=2 -- 'read_environment /proc/$$/environ; write_settings '"$WORK"
    xmllint --noout "$WORK"/*.xml
    [ "$(value core-site.xml fs.trash.interval)" = 7 ]
    [ "$(value hdfs-site.xml a.b-c_d)" = '<1 & "2">=3' ]
    [ "$(value yarn-site.xml y.list)" = $'a,\nb' ]
    [ "$(value mapred-site.xml m.x)" = 1 ]
    [ "$(value capacity-scheduler.xml c.x)" = 9 ]
    [ "$(grep -h -o '<property>' "$WORK"/*.xml | wc -l)" -eq 6 ]
}

@test "a file that is not written, a name that is none, and a line break in Spark's file are refused by name" {
    run ! in_container HBASE-SITE.XML_a=1 -- 'read_environment /proc/$$/environ'
    [[ $output == 'HBASE-SITE.XML_a is for a file'* ]]
    run ! in_container 'HDFS-SITE.XML_a b=1' -- 'read_environment /proc/$$/environ'
    [[ $output == 'HDFS-SITE.XML_a b does not end in the name of a property'* ]]
    run ! in_container HDFS-SITE.XML_=1 -- 'read_environment /proc/$$/environ'
    run ! in_container $'SPARK-DEFAULTS.CONF_spark.x=1\nspark.y 2' -- 'read_environment /proc/$$/environ'
    [[ $output == *'SPARK-DEFAULTS.CONF_spark.x has a line break'* ]]
}

@test "the configuration of a cluster: hosts, folders and replicas by variables, properties over templates" {
    FOLDER=$WORK/run/hadoop
    mkdir "$FOLDER" && touch "$FOLDER/of-an-earlier-start"
    in_container HOWDAH_NAMENODE=nn HOWDAH_HISTORYSERVER=hs HOWDAH_WORKERS=a,b HOWDAH_TEMPLATES='plain required' \
        HDFS-SITE.XML_dfs.rdma.enabled=auto -- 'write_configuration /proc/$$/environ'
    [ ! -e "$FOLDER/of-an-earlier-start" ]
    [ "$(value core-site.xml fs.defaultFS)" = hdfs://nn:8020 ]
    [ "$(value yarn-site.xml yarn.resourcemanager.hostname)" = resourcemanager ]
    [ "$(value mapred-site.xml mapreduce.jobhistory.address)" = hs:10020 ]
    [ "$(value hdfs-site.xml dfs.datanode.data.dir)" = "file://$WORK/data/hdfs/data" ]
    [ "$(value hdfs-site.xml dfs.replication)" = 2 ]
    [ "$(value hdfs-site.xml dfs.namenode.rpc-bind-host)" = 0.0.0.0 ]
    # The environment wins over templates, the later template over the earlier one.
    [ "$(value hdfs-site.xml dfs.rdma.enabled)" = auto ]
    [ "$(value core-site.xml hadoop.rdma.rpc.enabled)" = required ]
    [ -z "$(find "$WORK" -maxdepth 1 -name 'tmp.*')" ]
}

@test "a configuration of the user's own stays as it is, and variables beside it are refused" {
    mkdir "$WORK/own"
    in_container HADOOP_CONF_DIR="$WORK/own" -- 'write_configuration /proc/$$/environ'
    [ -z "$(ls -A "$WORK/own")" ]
    run ! in_container HADOOP_CONF_DIR="$WORK/own" CORE-SITE.XML_a=1 -- 'write_configuration /proc/$$/environ'
    [[ $output == *"HADOOP_CONF_DIR=$WORK/own is a configuration of your own"* ]]
}

@test "Spark's configuration: the default one, what containers need, variables last" {
    in_container 'SPARK-DEFAULTS.CONF_spark.executor.extraJavaOptions=-Da=1 -Db=2' SPARK-DEFAULTS.CONF_spark.master='local[2]' -- \
        'read_environment /proc/$$/environ; write_spark "$SPARK_CONF_DIR" "$HOWDAH_HOME/etc/spark"'
    [ -e "$WORK/run/spark/log4j.properties" ]
    [ "$(awk '$1 == "spark.master" { $1 = ""; last = $0 } END { print last }' "$WORK/run/spark/spark-defaults.conf")" = ' local[2]' ]
    grep -qx 'spark.executor.extraJavaOptions -Da=1 -Db=2' "$WORK/run/spark/spark-defaults.conf"
    grep -qx "spark.yarn.jars local:$TREE/jars/\*" "$WORK/run/spark/spark-defaults.conf"
}

@test "a container is healthy with a command, and with a daemon that answers; not before either is known" {
    export HOWDAH_HOME=$TREE HOWDAH_RUN=$WORK/run
    local health=$ROOT/docker/container/healthcheck port
    # The first probe may come while the configuration is written.
    run ! bash "$health"
    touch "$WORK/run/command"
    bash "$health"
    rm "$WORK/run/command"
    # A stand-in for a daemon, at a port that is free.
    mkdir -p "$WORK/container" "$WORK/page"
    cp "$ROOT"/docker/container/{healthcheck,daemons.sh} "$WORK/container/"
    echo up >"$WORK/page/up"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf 'find_daemon() { PORT=%d PAGE=/up; }\n' "$port" >"$WORK/container/daemons.sh"
    echo namenode >"$WORK/run/daemon"
    touch "$WORK/run/folders"
    run ! bash "$WORK/container/healthcheck" # nobody answers
    python3 -m http.server --directory "$WORK/page" --bind 127.0.0.1 "$port" >/dev/null 2>&1 3>&- &
    until (exec 4<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do kill -0 $!; sleep 0.1; done
    bash "$WORK/container/healthcheck"
    rm "$WORK/run/folders"
    run ! bash "$WORK/container/healthcheck" # a NameNode that has not made its folders
    touch "$WORK/run/folders"
    rm "$WORK/page/up"
    run ! bash "$WORK/container/healthcheck"
    kill $!
}

@test "compose.yaml: each service runs a daemon of the image, with settings that it takes, published on this machine only" {
    local name daemon
    python3 - "$ROOT/docker/compose.yaml" >"$WORK/services" 3>"$WORK/environment" <<'PY'
import os, sys, yaml
compose = yaml.safe_load(open(sys.argv[1]))
services, volumes = compose["services"], compose["volumes"]
for name, service in services.items():
    assert service["image"].split(":")[0] in ("howdah", "howdah-base"), name
    assert service["hostname"] == name, name
    assert set(service.get("depends_on", {})) <= set(services), name
    for volume in service.get("volumes", []):
        assert volume.split(":")[0] in volumes and volume.endswith(":/data"), name
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), name
    print(name, service["command"], service["image"].split(":")[0])
    with os.fdopen(os.dup(3), "w") as environment:
        for key, value in service["environment"].items():
            assert isinstance(value, str), key
            environment.write("%s=%s\0" % (key, value))
workers = compose["x-environment"]["HOWDAH_WORKERS"].split(",")
assert workers == [name for name, service in services.items() if service["command"] == "datanode"]
PY
    [ "$(wc -l <"$WORK/services")" -ge 8 ]
    while read -r name daemon image; do
        in_container -- "find_daemon $daemon" || { echo "$name: no daemon is called $daemon"; return 1; }
        # Spark is in one of the images; containers of NodeManagers need it, too.
        [[ $daemon != spark-* && $daemon != nodemanager ]] || [ "$image" = howdah ]
    done <"$WORK/services"
    in_container -- "read_environment $WORK/environment && [ \${#YARN[@]} -gt 0 ]"
}

@test "the Dockerfile ends with an account, copies what is there, and ci/images packs packages that exist" {
    local name from
    [ "$(grep '^USER ' "$ROOT/docker/Dockerfile" | tail -n 1)" = 'USER 10000:10000' ]
    while read -r from; do [ -e "$ROOT/docker/$from" ]; done < <(sed -nE 's/^COPY ([^ ]+) .*/\1/p' "$ROOT/docker/Dockerfile")
    while read -r name; do
        grep -qx "Package: $name" "$ROOT"/packages/deb/*/control || { echo "there is no package $name"; return 1; }
    done < <(sed -nE 's/^(BASE|FULL)=\((.*)\)$/\2/p' "$ROOT/ci/images" | tr ' ' '\n')
    for name in "$ROOT"/docker/container/{entrypoint,healthcheck}; do [ -x "$name" ]; done
}

@test "the agent's image: a command as it is, else the agent that Jenkins's variables name, its secret in a file" {
    local agent=$ROOT/docker/agent/agent
    mkdir "$WORK/bin"
    printf '#!/bin/bash\necho "curl $*"; [[ $* != *gone* ]] || exit 22; while [ "$1" != -o ]; do shift; done; touch "$2"\n' >"$WORK/bin/curl"
    printf '#!/bin/bash\necho "java $*"; env | grep -c SECRET\n' >"$WORK/bin/java"
    chmod +x "$WORK"/bin/*
    in_agent() { env -i PATH="$WORK/bin:$PATH" HOME="$WORK" "$@"; }
    run -0 in_agent bash "$agent" echo words as they are
    [ "$output" = 'words as they are' ]
    fails_with 'JENKINS_SECRET is not set' in_agent JENKINS_URL=http://ci JENKINS_AGENT_NAME=one bash "$agent"
    run in_agent JENKINS_URL=http://ci/ JENKINS_AGENT_NAME=one JENKINS_SECRET=s3 JENKINS_WEB_SOCKET=true bash "$agent"
    echo "$output"
    [ "${lines[0]}" = "curl -fsS --retry 5 --retry-connrefused -o $WORK/agent/agent.jar http://ci/jnlpJars/agent.jar" ]
    [ "${lines[1]}" = "java -jar $WORK/agent/agent.jar -url http://ci/ -name one -secret @$WORK/agent/secret -workDir $WORK/agent -webSocket" ]
    [ "${lines[2]}" = 0 ]
    [ "$(stat -c %a "$WORK/agent/secret") $(cat "$WORK/agent/secret")" = '600 s3' ]
    fails_with 'gives no agent.jar' in_agent JENKINS_URL=http://gone JENKINS_AGENT_NAME=one JENKINS_SECRET=s3 bash "$agent"
}
