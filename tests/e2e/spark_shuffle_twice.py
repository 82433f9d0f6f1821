"""Shuffles, waits until all executors are gone, and reads the same shuffle's files again: they come from the external
shuffle service. Run by spark.bats with dynamic allocation."""

import sys
import time

from pyspark import SparkContext

PAIRS = 20000
PARTITIONS = 8


def main():
    spark = SparkContext()
    mapped = spark.accumulator(0)

    def pair(number):
        mapped.add(1)
        return number % 1000, "x" * (number % 500)

    groups = spark.parallelize(range(PAIRS), PARTITIONS).map(pair).groupByKey(PARTITIONS)
    sums = groups.mapValues(lambda values: sum(map(len, values)))
    first = sorted(sums.collect())
    deadline = time.time() + 120
    # The driver counts as one.
    while spark._jsc.sc().getExecutorMemoryStatus().size() > 1:
        if time.time() > deadline:
            sys.exit("there are still executors")
        time.sleep(0.2)
    again = sorted(sums.collect())
    expected = {}
    for number in range(PAIRS):
        expected[number % 1000] = expected.get(number % 1000, 0) + number % 500
    if not first == again == sorted(expected.items()):
        sys.exit("the groups are wrong")
    if mapped.value != PAIRS:
        sys.exit("%d pairs were mapped for %d" % (mapped.value, PAIRS))
    print("the same twice, mapped once")


main()
