# howdah template: a site's configuration out of templates.

load tree

setup_file() { find_built_tree; }

setup() { OUT=$BATS_TEST_TMPDIR/conf; }

@test "the list has every template, each with a word on it" {
    run -0 "$TREE/bin/howdah" template list
    [ "${#lines[@]}" -eq "$(find "$TREE/share/conf-templates" -mindepth 1 -type d | wc -l)" ]
    run ! grep -vE '^  [a-z-]+ +[A-Za-z].{10}' <<<"$output"
}

@test "the default configuration, templates over it, properties over them" {
    # shellcheck disable=SC2016 # Hadoop's variable
    "$TREE/bin/howdah" template write "$OUT" cluster required --set namenode=nn --set resourcemanager=rm --set 'hdfs=${local}/h' \
        --set yarn=/y --workers a,b -D dfs.replication=2 -D 'a.b=<&>' -D hadoop.rdma.rpc.enabled=auto
    xmllint --noout "$OUT"/*-site.xml
    value() { xmllint --xpath "string((//property[name='$2'])[last()]/value)" "$OUT/$1-site.xml"; }
    [ "$(value core fs.defaultFS)" = hdfs://nn:8020 ]
    [ "$(value core hadoop.rdma.rpc.enabled)" = auto ]
    [ "$(value core a.b)" = '<&>' ]
    # shellcheck disable=SC2016
    [ "$(value hdfs dfs.datanode.data.dir)" = 'file://${local}/h/data' ]
    [ "$(value hdfs dfs.replication)" = 2 ]
    [ "$(value yarn yarn.nodemanager.aux-services)" = mapreduce_shuffle ]
    [ "$(xargs <"$OUT/slaves")" = 'a b' ]
    [ -e "$OUT/log4j.properties" ]
}

@test "MapReduce on a shared file system has its folders in it, and no HDFS" {
    value() { xmllint --xpath "string((//property[name='$2'])[last()]/value)" "$OUT/$1-site.xml"; }
    "$TREE/bin/howdah" template write "$OUT" lustre-only --set resourcemanager=rm --set shared=/lustre/mr
    [ "$(value core fs.defaultFS)" = shared:/// ]
    [ "$(value mapred mapred.rdma.shuffle.lustre)" = 2 ]
    # shellcheck disable=SC2016 # Hadoop's variable
    [ "$(value yarn yarn.nodemanager.local-dirs)" = '/lustre/mr/nodes/${env.HOSTNAME}/local' ]
    [ "$(value yarn yarn.nodemanager.aux-services)" = mapreduce_shuffle ]
    rm -r "$OUT"
    "$TREE/bin/howdah" template write "$OUT" lustre-local --set resourcemanager=rm --set shared=/lustre/mr --set yarn=/disk
    [ "$(value mapred mapred.rdma.shuffle.lustre)" = 1 ]
    [ "$(value mapred yarn.app.mapreduce.am.staging-dir)" = /lustre/mr/staging ]
    [ "$(value yarn yarn.nodemanager.local-dirs)" = /disk/local ]
}

@test "there are never more replicas than workers, unless somebody asks for them" {
    replication() { xmllint --xpath 'string((//property[name="dfs.replication"])[last()]/value)' "$OUT/hdfs-site.xml"; }
    write() { rm -rf "$OUT"; "$TREE/bin/howdah" template write "$OUT" cluster --set namenode=nn --set resourcemanager=rm --set hdfs=/h --set yarn=/y "$@"; }
    write --workers a,b
    [ "$(replication)" = 2 ]
    write --workers a,b,c,d
    [ -z "$(replication)" ] # stock's three
    write --workers a,b -D dfs.replication=1
    [ "$(replication)" = 1 ]
}

@test "others may read a configuration, whatever the umask is; a copied file stays as closed as it was" {
    cp -r "$TREE/etc/hadoop" "$BATS_TEST_TMPDIR/base"
    touch "$BATS_TEST_TMPDIR/base/secret"
    chmod 600 "$BATS_TEST_TMPDIR/base/secret"
    mkdir "$BATS_TEST_TMPDIR/base/folder"
    rm "$BATS_TEST_TMPDIR/base/"{hdfs-site.xml,slaves} # are new
    (umask 077; "$TREE/bin/howdah" template write "$OUT" required --base "$BATS_TEST_TMPDIR/base" --workers a,b,c)
    [ "$(stat -c %a "$OUT" "$OUT/folder" "$OUT/hdfs-site.xml" "$OUT/slaves" "$OUT/secret" | xargs)" = '755 755 644 644 600' ]
    [ "$(stat -c %A "$OUT/core-site.xml")" = -rw-r--r-- ]
}

@test "a host whose name Hadoop's addresses do not take is named where it comes in" {
    local site=(--set hdfs=/h --set yarn=/y)
    fails_with "--set namenode: 'a_b' is not the name" "$TREE/bin/howdah" template write "$OUT" cluster --set namenode=a_b --set resourcemanager=rm "${site[@]}"
    fails_with "--set resourcemanager: 'r:1' is not" "$TREE/bin/howdah" template write "$OUT" cluster --set namenode=nn --set resourcemanager=r:1 "${site[@]}"
    fails_with "--workers: 'w_2' is not" "$TREE/bin/howdah" template write "$OUT" cluster --set namenode=nn --set resourcemanager=rm "${site[@]}" --workers w-1,w_2
    [ ! -e "$OUT" ]
    # shellcheck disable=SC2016 # Hadoop's variable
    "$TREE/bin/howdah" template write "$OUT" cluster --set namenode='${my.host_name}' --set resourcemanager=10.0.0.1 "${site[@]}"
    sed -i 's,hdfs://.*:8020,hdfs://a_b:8020,' "$OUT/core-site.xml"
    fails_with 'fs.defaultFS=hdfs://a_b:8020 has a _' "$TREE/bin/hdfs" --config "$OUT" --daemon start namenode
    fails_with 'fs.defaultFS=hdfs://a_b:8020 has a _' "$TREE/bin/hdfs" --config "$OUT" dfs -ls /
    printf 'w-1\nw_2 # second\n' >"$OUT/slaves"
    fails_with "w_2 in $OUT/slaves has a _" "$TREE/sbin/slaves.sh" --config "$OUT" true
}

@test "what a file has beside values stays, however its lines are broken" {
    mkdir "$BATS_TEST_TMPDIR/one"
    echo '<configuration><property><name>a</name><value>b</value><final>true</final></property></configuration>' >"$BATS_TEST_TMPDIR/one/core-site.xml"
    HADOOP_CONF_DIR=/nonexistent "$TREE/bin/howdah" template write "$OUT" "$BATS_TEST_TMPDIR/one"
    grep -q "address; a cluster needs it" "$OUT/core-site.xml"
    [ "$(xmllint --xpath 'string(//property[name="a"]/final)' "$OUT/core-site.xml")" = true ]
    [ "$(stat -c %a "$OUT")" = 755 ]
}

@test "an older name of a template is taken, with a line that says today's" {
    run -0 --separate-stderr "$TREE/bin/howdah" template write "$OUT" rpc-required
    # shellcheck disable=SC2154 # set by run
    [ "$stderr" = 'howdah: the template rpc-required is called required now' ]
    grep -q '<value>required</value>' "$OUT/core-site.xml"
    rm -r "$OUT"
    run -0 --separate-stderr "$TREE/bin/howdah" template write "$OUT" rpc-auto
    [ "$stderr" = 'howdah: the template rpc-auto is not needed any more: it is the default' ]
    run ! xmllint --xpath "//property[contains(name, 'hadoop.rdma')]" "$OUT/core-site.xml"
}

@test "mistakes are named and leave nothing" {
    fails_with 'asks for namenode' "$TREE/bin/howdah" template write "$OUT" cluster
    fails_with "no template 'none'" "$TREE/bin/howdah" template write "$OUT" none
    fails_with 'the nearest name is folders' "$TREE/bin/howdah" template write "$OUT" hhh --set folder=/disk
    fails_with 'folders in RAM alone' "$TREE/bin/howdah" template write "$OUT" hhh --set 'folders=[RAM_DISK]/dev/shm/h'
    fails_with '-D dfs.replication is not NAME=VALUE' "$TREE/bin/howdah" template write "$OUT" plain -D dfs.replication
    fails_with '--nonsense' "$TREE/bin/howdah" template write "$OUT" plain --nonsense
    mkdir "$BATS_TEST_TMPDIR/bad"
    printf '<configuration>\n<property><name>a</name>\n' >"$BATS_TEST_TMPDIR/bad/core-site.xml"
    fails_with 'core-site.xml can' "$TREE/bin/howdah" template write "$OUT" "$BATS_TEST_TMPDIR/bad"
    fails_with '/proc/conf' "$TREE/bin/howdah" template write /proc/conf/x plain
    [ -z "$(find "$BATS_TEST_TMPDIR" -name 'conf*')" ]
    mkdir "$OUT"
    touch "$OUT/mine"
    fails_with 'is not an empty folder' "$TREE/bin/howdah" template write "$OUT" plain
}

@test "a subcommand of a package that is not installed names the package" {
    copy_of_tree "$BATS_TEST_TMPDIR/tree"
    rm -f "$BATS_TEST_TMPDIR"/tree/libexec/howdah-{template,pseudo,job}
    fails_with 'install the package howdah-conf-templates' "$BATS_TEST_TMPDIR/tree/bin/howdah" template list
    fails_with 'install the package howdah-hadoop-conf-pseudo' "$BATS_TEST_TMPDIR/tree/bin/howdah" pseudo status
    fails_with 'install the package howdah-slurm-pbs' "$BATS_TEST_TMPDIR/tree/bin/howdah" job env
    fails_with "no subcommand 'nonsense'" "$BATS_TEST_TMPDIR/tree/bin/howdah" nonsense
}
