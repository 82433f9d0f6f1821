"""Writes the same rows as Parquet, ORC, lines and a sequence file, packed by Snappy, and reads them again."""

import sys

from pyspark.sql import SparkSession

session = SparkSession.builder.enableHiveSupport().getOrCreate()
rows = session.range(1000).selectExpr("id", "concat('row ', id) as name")
wanted = [(row.id, row.name) for row in rows.collect()]
for kind in ("parquet", "orc"):
    rows.write.option("compression", "snappy").format(kind).save("/spark/" + kind)
    assert sorted(map(tuple, session.read.format(kind).load("/spark/" + kind).collect())) == wanted, kind
context, codec = session.sparkContext, sys.argv[1]
context.parallelize(wanted, 2).map(lambda row: "%d,%s" % row).saveAsTextFile("/spark/text", codec)
read = context.textFile("/spark/text").map(lambda line: line.split(",")).map(lambda words: (int(words[0]), words[1]))
assert sorted(read.collect()) == wanted, "text"
context.parallelize(wanted, 2).saveAsSequenceFile("/spark/sequence", codec)
assert sorted(context.sequenceFile("/spark/sequence").collect()) == wanted, "sequence"
print("all files hold %d rows" % len(wanted))
session.stop()
