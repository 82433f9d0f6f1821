#!/usr/bin/env bats
# WebHDFS reaches the file that is named, whatever the name, and no other; over TLS, too.

load lib

setup_file() {
    set_up_tree
    export DIR=$BATS_FILE_TMPDIR/c LC_ALL=C.UTF-8
    key_store "$BATS_FILE_TMPDIR/tls"
    cluster start --dir "$DIR" --datanodes 1 --no-yarn --no-history --conf "$BATS_FILE_TMPDIR/tls/conf"
    "$JAVA_HOME/bin/javac" -encoding UTF-8 -proc:none -d "$BATS_FILE_TMPDIR" -cp "$("$TREE/bin/hadoop" classpath)" \
        "$BATS_TEST_DIRNAME/WebHdfsNames.java"
}

setup() {
    set_up_tree
    PORT=$(sed -n 's/^port\.namenode\.http=//p' "$DIR/cluster.properties")
    # a and "a b" are what a;b and a%20b were taken for; the last two: an umlaut of two characters, one above U+FFFF.
    NAMES=('a b' a 'a;b' 'a%20b' 'a%' 'a%%b' 'a+b' 'a&b' 'a=b' 'a?b' 'a#b' 'a%2Fb' 'Übung' '日本' $'U\u0308bung')
    SUPPLEMENTARY=$'\U0001d11e'
}

teardown_file() {
    set_up_tree
    if [ -d "$DIR" ]; then cluster stop --dir "$DIR"; fi
}

# key_store FOLDER: a certificate of this host's own, and in FOLDER/conf the configuration of daemons that show it.
key_store() {
    mkdir -p "$1/conf"
    "$JAVA_HOME/bin/keytool" -genkeypair -alias it -keyalg RSA -keysize 2048 -dname CN=localhost -ext san=dns:localhost \
        -storetype PKCS12 -keystore "$1/keys" -storepass secret -keypass secret
    "$JAVA_HOME/bin/keytool" -exportcert -rfc -alias it -keystore "$1/keys" -storepass secret -file "$1/certificate"
    cat >"$1/conf/ssl-server.xml" <<EOT
<configuration>
  <property><name>ssl.server.keystore.location</name><value>$1/keys</value></property>
  <property><name>ssl.server.keystore.type</name><value>pkcs12</value></property>
  <property><name>ssl.server.keystore.password</name><value>secret</value></property>
  <property><name>ssl.server.keystore.keypassword</name><value>secret</value></property>
</configuration>
EOT
    cat >"$1/conf/hdfs-site.xml" <<EOT
<configuration>
  <property><name>dfs.http.policy</name><value>HTTP_AND_HTTPS</value></property>
  <property><name>dfs.namenode.https-address</name><value>localhost:0</value></property>
  <property><name>dfs.datanode.https.address</name><value>localhost:0</value></property>
</configuration>
EOT
}

# names TREE NAME...
names() (
    eval "$(cluster env --dir "$DIR")"
    unset HADOOP_HOME HADOOP_COMMON_HOME HADOOP_HDFS_HOME
    HADOOP_CLASSPATH=$BATS_FILE_TMPDIR "$1/bin/hadoop" names.WebHdfsNames "webhdfs://localhost:$PORT" /names "${@:2}"
)

@test "our client reaches the file that is named" {
    names "$TREE" "${NAMES[@]}" "$SUPPLEMENTARY"
}

# It sends characters above U+FFFF wrong.
@test "a stock client reaches the file that is named" {
    [ -x "$ROOT/build/stock/bin/hadoop" ] || { echo "there is no build/stock: make stock" && return 1; }
    names "$ROOT/build/stock" "${NAMES[@]}"
}

@test "plain HTTP reaches the file that is named, in each spelling of its path" {
    python3 "$BATS_TEST_DIRNAME/webhdfs_names.py" "$PORT" "${NAMES[@]}" "$SUPPLEMENTARY"
}

@test "distcp over WebHDFS copies files of any name" {
    slow
    mkdir "$BATS_TEST_TMPDIR/in"
    for name in "${NAMES[@]}"; do echo "$name" >"$BATS_TEST_TMPDIR/in/$name"; done
    printf '%s\n' "${NAMES[@]}" | sort >"$BATS_TEST_TMPDIR/names"
    with "$DIR" hdfs dfs -put "$BATS_TEST_TMPDIR/in" /from
    with "$DIR" hadoop distcp -D mapreduce.framework.name=local "webhdfs://localhost:$PORT/from" "webhdfs://localhost:$PORT/to"
    [ "$(with "$DIR" hdfs dfs -ls -C /to | sed 's,^/to/,,' | sort)" = "$(cat "$BATS_TEST_TMPDIR/names")" ]
    [ "$(with "$DIR" hdfs dfs -cat '/to/*' | sort)" = "$(cat "$BATS_TEST_TMPDIR/names")" ]
}

# over_tls URL [OPTION...]: what is there, from a server that shows our certificate.
over_tls() { curl -sS --fail --max-time 60 --cacert "$BATS_FILE_TMPDIR/tls/certificate" "${@:2}" "$1"; }

# redirected METHOD OPERATION: where the NameNode sends a client, at the DataNode's port for TLS.
redirected() {
    curl -sS --max-time 60 -o /dev/null -w '%{redirect_url}' -X "$1" "http://localhost:$PORT/webhdfs/v1/over-tls?op=$2&user.name=$(id -un)" |
        sed "s,^http://[^/]*,https://localhost:$SECURE,"
}

@test "over TLS a DataNode answers, and WebHDFS writes and reads a file" {
    local file nodes='jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo' node='jmx?qry=Hadoop:service=DataNode,name=DataNodeInfo'
    SECURE=$(curl -sS --max-time 60 "http://localhost:$PORT/$nodes" |
        field "list(json.loads(s['beans'][0]['LiveNodes']).values())[0]['infoSecureAddr'].rsplit(':', 1)[1]")
    over_tls "https://localhost:$SECURE/$node" | grep -q ClusterId
    # A client that knows no later version.
    over_tls "https://localhost:$SECURE/$node" --tls-max 1.2 | grep -q ClusterId
    file=$(data 5)
    over_tls "$(redirected PUT CREATE)" -T "$file"
    over_tls "$(redirected GET OPEN)" | cmp - "$file"
}
