"""Tests of spark.py."""

import json
import os
import tempfile
import unittest

import report
import spark


def task(wait, gc, remote):
    read = {"Fetch Wait Time": wait, "Remote Bytes Read": remote}
    return {"Event": "SparkListenerTaskEnd", "Task Metrics": {"Shuffle Read Metrics": read, "JVM GC Time": gc}}


class SparkTest(unittest.TestCase):
    def test_sums_over_tasks(self):
        events = [{"Event": "SparkListenerJobStart"}, task(1500, 200, 2**20), task(500, 100, 2**21)]
        events.append({"Event": "SparkListenerTaskEnd", "Task Metrics": None})  # of a task that failed
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "events")
            with open(path, "w") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
            self.assertEqual(spark.task_sums(path), {"wait": 2.0, "gc": 0.30000000000000004, "mb": 3.0})

    def test_rows_and_targets(self):
        result = report.Report("spark", "stock", tempfile.gettempdir())
        figures = {
            "GroupBy 2 seconds": {"ours": [7, 8, 9], "stock": [10, 11, 12]},
            "GroupBy 2 wait": {"ours": [1.0], "stock": [1.5]},
            "GroupBy 2 gc": {"ours": [0.0], "stock": [1.5]},
            "GroupBy 2 mb": {"ours": [1.0], "stock": [1.0]},
        }
        spark.add_rows(result, figures)
        self.assertEqual([row["measure"] for row in result.rows], ["time", "fetch wait"])
        self.assertEqual([row["met"] for row in result.rows], [True, False])
        self.assertEqual(result.rows[0]["case"], "GroupBy, 2 ex.")


if __name__ == "__main__":
    unittest.main()
