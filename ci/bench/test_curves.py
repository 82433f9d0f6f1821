"""Tests of figures by size."""

import unittest

import curves

RUNS = {"read": {1024: [3.0, 1.0, 2.0], 64: [1.0]}, "write": {64: [4.0, 5.0]}}


class CurvesTest(unittest.TestCase):
    def test_medians_and_spreads_by_size(self):
        made = curves.make("us", RUNS)
        self.assertEqual(made["unit"], "us")
        self.assertEqual(
            made["ways"]["read"],
            [{"bytes": 64, "median": 1.0, "spread": [1.0, 1.0]}, {"bytes": 1024, "median": 2.0, "spread": [1.0, 3.0]}],
        )

    def test_the_table_has_a_line_for_each_size_and_leaves_out_what_was_not_measured(self):
        lines = curves.table("ways", curves.make("us", RUNS)).splitlines()
        self.assertEqual([line.split() for line in lines], [["ways,", "us", "read", "write"], ["64", "B", "1", "4.5"], ["1024", "B", "2"]])


if __name__ == "__main__":
    unittest.main()
