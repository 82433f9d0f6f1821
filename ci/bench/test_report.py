"""Tests of what benchmarks write."""

import contextlib
import io
import json
import tempfile
import unittest

import report


class RowTest(unittest.TestCase):
    def test_ratio_says_how_many_times_better_ours_is(self):
        lower = report.make_row("latency", "1 B", "us", "lower", [10, 11, 9], [40, 44, 36], "stock")
        higher = report.make_row("throughput", "x", "MB/s", "higher", [30, 30, 30], [10, 10, 10], "stock")
        self.assertEqual(4, lower["ratio"])
        self.assertEqual(3, higher["ratio"])
        self.assertEqual([9, 11], lower["ours_spread"])

    def test_a_difference_below_the_spread_is_within_it(self):
        near = report.make_row("m", "c", "s", "lower", [100, 104, 108], [100, 103, 109], "stock")
        far = report.make_row("m", "c", "s", "lower", [120, 121, 122], [100, 101, 102], "stock")
        self.assertTrue(near["within_spread"])
        self.assertFalse(far["within_spread"])

    def test_pairs_are_compared_with_each_other(self):
        ours, reference = [10, 30, 11, 31, 12], [12, 36, 13.2, 37.2, 14.4]  # a machine of two speeds
        row = report.make_row("latency", "1 B", "us", "lower", ours, reference, "perftest", paired=True)
        self.assertEqual(1.2, row["ratio"])
        self.assertEqual("pairs", row["ratio_of"])
        swapped = report.make_row("latency", "1 B", "us", "lower", [10, 30, 11], [36, 12, 13.2], "x", paired=True)
        self.assertEqual(1.2, swapped["ratio"])
        with self.assertRaises(ValueError):
            report.make_row("latency", "1 B", "us", "lower", ours, reference[1:], "perftest", paired=True)

    def test_table_shows_every_row(self):
        row = report.make_row("latency", "1 B", "us", "lower", [10], [20], "stock")
        self.assertIn("2.000", report.table([row]).splitlines()[1])

    def test_a_target_is_met_or_not(self):
        result = report.Report("x", "stock", "/tmp")
        result.add("latency", "1 B", "us", "lower", [10], [20], target=2)
        result.add("latency", "2 B", "us", "lower", [11], [20], "perftest", target=2)
        self.assertEqual([True, False], [row["met"] for row in result.rows])
        self.assertEqual(["stock", "perftest"], [row["reference_name"] for row in result.rows])
        self.assertIn("2 MISSED", report.table(result.rows).splitlines()[2])

    def test_what_the_host_kept_is_a_share_of_all_processors(self):
        self.assertEqual(5.0, report.stolen_percent((10, 1000), (60, 2000)))
        self.assertEqual(0.0, report.stolen_percent((10, 1000), (10, 1000)))
        stolen, passed = report.processor_ticks()
        self.assertLessEqual(stolen, passed)

    def test_a_report_says_what_the_host_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            result = report.Report("x", "stock", folder)
            result.add("latency", "1 B", "us", "lower", [10], [20])
            stolen, passed = report.processor_ticks()
            result.ticks_before = (stolen - 1000, passed - 2000)
            conditions, printed = self.written(result)
            self.assertGreater(conditions["stolen_percent"], report.MUCH_STOLEN)
            self.assertIn("measure again", printed)
            # Much of the run was disturbed, but none of what counts.
            result.stolen_from_kept = 0.5
            conditions, printed = self.written(result)
            self.assertEqual(0.5, conditions["stolen_from_kept_percent"])
            self.assertNotIn("measure again", printed)

    def written(self, result):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            path = result.write()
        with open(path, encoding="utf-8") as file:
            return json.load(file)["conditions"], printed.getvalue()


class UndisturbedTest(unittest.TestCase):
    def measure(self, undisturbed, *shares):
        """Returns the number of the attempt that counts, when each takes 100 ticks and this share of them is stolen."""
        stolen, passed, attempt = 0, 0, 0

        def run():
            nonlocal stolen, passed, attempt
            stolen, passed, attempt = stolen + shares[attempt], passed + 100, attempt + 1
            return attempt

        undisturbed.ticks = lambda: (stolen, passed)
        return undisturbed.measure(run)

    def test_what_was_disturbed_is_measured_again(self):
        undisturbed = report.Undisturbed(3, 10, pause=0)
        self.assertEqual(1, self.measure(undisturbed, 1))
        self.assertEqual(3, self.measure(undisturbed, 60, 2, 0))
        result = report.Report("x", "stock", "/tmp")
        undisturbed.tell(result)
        self.assertEqual(1, result.stolen_from_kept)
        self.assertEqual((2, 0), (result.conditions["measured_again"], result.conditions["disturbed"]))

    def test_the_least_disturbed_counts_where_none_is_quiet(self):
        undisturbed = report.Undisturbed(2, 3, pause=0)
        self.assertEqual(2, self.measure(undisturbed, 60, 20, 30))
        # What is left of the budget is one more.
        self.assertEqual(2, self.measure(undisturbed, 60, 50))
        self.assertEqual(1, self.measure(undisturbed, 70))
        result = report.Report("x", "stock", "/tmp")
        undisturbed.tell(result)
        self.assertEqual((3, 3), (result.conditions["measured_again"], result.conditions["disturbed"]))


if __name__ == "__main__":
    unittest.main()
