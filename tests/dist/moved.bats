# The tree works wherever it is: moved, under a path with a space, through a symbolic link.

load tree

setup_file() {
    find_built_tree
    export MOVED="$BATS_FILE_TMPDIR/a moved tree/howdah"
    copy_of_tree "$MOVED"
}

@test "a symbolic link to a command" {
    ln -s "$MOVED/bin/hadoop" "$BATS_TEST_TMPDIR/hadoop"
    ln -s "$BATS_TEST_TMPDIR/hadoop" "$BATS_TEST_TMPDIR/again"
    run -0 "$BATS_TEST_TMPDIR/again" classpath
    [[ $output == "$MOVED/etc/hadoop:"* ]]
}

@test "hdfs dfs" {
    echo hello >"$BATS_TEST_TMPDIR/file"
    run -0 "$MOVED/bin/hdfs" dfs -cat "file://$BATS_TEST_TMPDIR/file"
    [ "$output" = hello ]
}

@test "hadoop jar, a whole MapReduce job in one process" {
    mkdir "$BATS_TEST_TMPDIR/in"
    printf 'a b\nb\n' >"$BATS_TEST_TMPDIR/in/text"
    run -0 "$MOVED/bin/hadoop" jar "$MOVED/share/hadoop/mapreduce/hadoop-mapreduce-examples-$HADOOP_VERSION.jar" wordcount \
        -Dhadoop.tmp.dir="$BATS_TEST_TMPDIR/tmp" "file://$BATS_TEST_TMPDIR/in" "file://$BATS_TEST_TMPDIR/out"
    [ "$(cat "$BATS_TEST_TMPDIR"/out/part*)" = $'a\t1\nb\t2' ]
}

@test "spark-submit, Python" {
    cat >"$BATS_TEST_TMPDIR/job.py" <<'PY'
from collections import namedtuple
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import IntegerType

session = SparkSession.builder.getOrCreate()
context = session.sparkContext
Pair = namedtuple("Pair", "a b")
print("map", context.parallelize(range(4), 2).map(lambda x: x * 2).collect())
print("named", context.parallelize([Pair(1, 2)]).map(lambda p: Pair(p.b, p.a)).collect())
print("group", sorted((k, sorted(v)) for k, v in context.parallelize([(1, 2), (1, 3), (2, 4)], 2).groupByKey().collect()))
print("udf", session.createDataFrame([(1,), (2,)], ["n"]).select(udf(lambda n: n + 1, IntegerType())("n").alias("m")).collect())
PY
    run -0 --separate-stderr "$MOVED/bin/spark-submit" --master 'local[2]' --conf spark.ui.enabled=false "$BATS_TEST_TMPDIR/job.py"
    [ "${lines[0]}" = "map [0, 2, 4, 6]" ]
    [ "${lines[1]}" = "named [Pair(a=2, b=1)]" ]
    [ "${lines[2]}" = "group [(1, [2, 3]), (2, [4])]" ]
    [ "${lines[3]}" = "udf [Row(m=2), Row(m=3)]" ]
}

@test "spark-shell" {
    cd "$BATS_TEST_TMPDIR"
    run -0 "$MOVED/bin/spark-shell" --master 'local[2]' --conf spark.ui.enabled=false \
        <<<'println("sum=" + sc.parallelize(1 to 100, 2).map(_ * 2).sum.toInt)'
    [[ $output == *sum=10100* && $output == *"version $SPARK_VERSION-howdah$SPARK_RELEASE"* ]]
}

@test "pyspark" {
    cd "$BATS_TEST_TMPDIR"
    run -0 "$MOVED/bin/pyspark" --master 'local[2]' --conf spark.ui.enabled=false \
        <<<'print("sum=%d" % sc.parallelize(range(101), 2).map(lambda x: x * 2).sum())'
    [[ $output == *sum=10100* ]]
}

@test "spark-sql" {
    cd "$BATS_TEST_TMPDIR"
    run -0 --separate-stderr "$MOVED/bin/spark-sql" --master 'local[1]' --conf spark.ui.enabled=false -e 'select 40 + 2'
    [ "$output" = 42 ]
}
