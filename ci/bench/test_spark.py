"""Tests of how the Spark benchmark's samples become rows."""

import tempfile
import unittest

import report
import spark


def sample(side, job, seconds, wait, gc=1.0, remote=10.0, executors=2):
    values = {"seconds": seconds, "wait": wait, "gc": gc, "remoteMb": remote}
    return {"side": side, "round": 1, "job": job, "executors": executors, "values": values}


class SparkTest(unittest.TestCase):
    def rows(self, samples):
        result = report.Report("spark", "stock", tempfile.gettempdir())
        spark.add_rows(result, samples)
        return {(row["measure"], row["case"]): row for row in result.rows}

    def test_rounds_are_put_together_and_compared_with_what_is_asked(self):
        ours = [sample("ours", "GroupBy", seconds, 1.0) for seconds in (7, 8, 9)]
        stock = [sample("reference", "GroupBy", seconds, 1.5) for seconds in (10, 11, 12)]
        rows = self.rows(ours + stock)
        self.assertEqual([8, 11], [rows["time", "GroupBy, 2 ex."][side] for side in ("ours", "reference")])
        self.assertTrue(rows["time", "GroupBy, 2 ex."]["met"])
        self.assertFalse(rows["fetch wait", "GroupBy, 2 ex."]["met"])
        self.assertEqual(
            ["missed: fetch wait, GroupBy, 2 ex.: 1.50 times better than stock, asked for 2.00"], spark.missed(rows.values())
        )

    def test_what_was_too_short_to_be_seen_counts_as_a_tick(self):
        rows = self.rows([sample("ours", "SortBy", 1, 0.0), sample("reference", "SortBy", 2, 0.5)])
        self.assertEqual(500, rows["fetch wait", "SortBy, 2 ex."]["ratio"])

    def test_a_run_that_moved_nothing_is_no_measurement(self):
        spark.check([sample("ours", "SortBy", 1, 1), sample("ours", "SortBy", 1, 1, remote=0.0, executors=1)])
        with self.assertRaisesRegex(SystemExit, "SortBy with 2 executors, ours"):
            spark.check([sample("ours", "SortBy", 1, 1, remote=0.0)])


if __name__ == "__main__":
    unittest.main()
