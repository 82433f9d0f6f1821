"""Tests of how runs of both trees become rows of the benchmark of the defaults."""

import unittest

import default
import report


def rows_of(add, runs):
    result = report.Report("x", "stock tree", "/tmp")
    add(result, runs)
    return {(row["measure"], row["case"]): row for row in result.rows}


class RowsTest(unittest.TestCase):
    def jobs(self, **seconds):
        """Rows of jobs; each is given as (ours, stock) in each of two rounds."""
        figures = {}
        for job, (ours, reference) in seconds.items():
            for measure in ("time ", "cpu "):
                figures[measure + job] = {"ours": [ours, ours], "stock": [reference, reference]}
        return rows_of(default.add_jobs, figures)

    def test_a_job_may_be_3_percent_slower_and_the_sum_has_to_be_5_percent_faster(self):
        rows = self.jobs(a=(10.2, 10), b=(10.4, 10), c=(69, 80))
        self.assertTrue(rows["time", "a"]["met"])
        self.assertFalse(rows["time", "b"]["met"])
        self.assertTrue(rows["time", "sum of jobs"]["met"])
        self.assertFalse(self.jobs(a=(96, 100))["time", "sum of jobs"]["met"])
        self.assertEqual(
            ["missed: time, b: 0.962 times better than stock, asked for 0.971"], default.missed(list(rows.values()))
        )

    def test_the_check_of_all_files_is_shown_and_not_summed(self):
        rows = self.jobs(a=(10, 10), fsck=(90, 1))
        self.assertNotIn("target", rows["time", "fsck"])
        self.assertEqual(10, rows["time", "sum of jobs"]["ours"])

    def test_processor_seconds_have_no_target(self):
        rows = self.jobs(a=(20, 10))
        self.assertNotIn("target", rows["cpu", "a"])
        self.assertEqual(0.5, rows["cpu", "sum of jobs"]["ratio"])

    def test_the_demos_rows_become_figures(self):
        rows = [{"job": "TeraSort", "seconds": 3.0, "cpuSeconds": 5.0, "check": "", "passed": True}]
        self.assertEqual({"time TeraSort": 3.0, "cpu TeraSort": 5.0}, default.demo_figures(rows))

    def test_a_listing_may_take_5_percent_longer(self):
        rows = rows_of(default.add_lists, {"ours": [(1.04, 2.0)] * 3, "stock": [(1.0, 1.0)] * 3})
        self.assertTrue(rows["time", "ls /"]["met"])
        self.assertNotIn("target", rows["client cpu", "ls /"])
        rows = rows_of(default.add_lists, {"ours": [(1.06, 2.0)] * 3, "stock": [(1.0, 1.0)] * 3})
        self.assertFalse(rows["time", "ls /"]["met"])

    def test_a_mixed_cluster_is_compared_with_the_stock_one_of_the_same_round(self):
        runs = {"stock DataNode": [(2.0, 1.0), (4.0, 1.0)], "stock client": [(9.0, 9.0)] * 2, "stock": [(2.0, 2.0), (4.0, 2.0)]}
        cases = default.mixed_cases(runs)
        self.assertEqual({"mixed": [2.0, 4.0], "stock": [2.0, 4.0]}, cases["write, stock DataNode"])
        self.assertEqual({"mixed": [9.0, 9.0], "stock": [2.0, 2.0]}, cases["read, stock client"])
        rows = rows_of(default.add_mixed, cases)
        self.assertEqual([1, 2, 0.333], [rows["time", case]["ratio"] for case in
                         ("write, stock DataNode", "read, stock DataNode", "write, stock client")])
        self.assertFalse(rows["time", "read, stock client"]["met"])

    def test_a_difference_within_the_spread_of_a_mixed_cluster_is_none(self):
        rows = rows_of(default.add_mixed, {"write": {"mixed": [1.0, 1.2, 1.1], "stock": [1.05, 1.0, 1.2]}})
        self.assertTrue(rows["time", "write"]["met"])

    def test_sides_take_turns(self):
        order = []
        default.in_turn(2, {"a": lambda number: order.append(("a", number)), "b": lambda number: order.append(("b", number))})
        self.assertEqual([("a", 0), ("b", 0), ("b", 1), ("a", 1)], order)


if __name__ == "__main__":
    unittest.main()
