"""Shuffles, then reads the page of block transfers from the driver's web UI until it shows what executors fetched. Run by
spark.bats."""

import re
import sys
import time
import urllib.request

from pyspark import SparkContext


def rows(page):
    """Cells of the rows of executors."""
    return [re.findall(r"<td>([^<]*)</td>", row) for row in page.split("<tr>") if "<td>" in row]


def main():
    spark = SparkContext()
    pairs = spark.parallelize(range(4000), 4).map(lambda number: (number, "x" * 1000))
    if pairs.groupByKey(4).count() != 4000:
        sys.exit("the groups are wrong")
    deadline = time.time() + 120
    while True:
        with urllib.request.urlopen(spark.uiWebUrl + "/blocktransfer/", timeout=60) as answer:
            page = answer.read().decode()
        executors = [row for row in rows(page) if row[0] != "driver"]
        if len(executors) == 2 and all(row[1] != "0.0 MB" or int(row[2]) > 0 for row in executors):
            break
        if time.time() > deadline:
            sys.exit("the page does not show two executors that fetched: %s" % rows(page))
        time.sleep(0.5)
    for row in executors:
        # Over Netty: nothing, and no fallback. Pinned memory there is.
        if row[5:8] != ["0.0 MB", "0", "0"] or not re.fullmatch(r"[\d.]+ s", row[8]) or row[10] == "0.0 MB":
            sys.exit("the row is wrong: %s" % row)
    with urllib.request.urlopen(spark.uiWebUrl + "/executors/", timeout=60) as answer:
        if "Block Transfer" not in answer.read().decode():
            sys.exit("the tab is missing")
    print("two executors on the page")


main()
