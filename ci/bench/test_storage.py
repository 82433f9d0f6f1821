"""Tests of how runs on stock Hadoop and in a storage mode become rows."""

import os
import tempfile
import unittest
from unittest import mock

import report
import storage


def rows(figures, limit):
    result = report.Report("x", "stock Hadoop 2.8.1", "/tmp")
    storage.add(result, figures, limit)
    return {(row["measure"], row["case"]): row for row in result.rows}


class RowsTest(unittest.TestCase):
    FIGURES = {
        "dfsio write": {"stock": [50, 50], "disk": [55, 55], "hhh": [110, 110], "hhh-m": [112, 112]},
        "cpu dfsio write": {"stock": [20, 20], "disk": [10, 10], "hhh": [8, 8]},
        "sort": {"stock": [100, 100], "disk": [90, 90], "hhh": [60, 60]},
        "hot share": {"hhh": [0.95, 1.0]},
    }

    def test_each_of_our_sides_is_compared_with_stock(self):
        found = rows(self.FIGURES, 150 << 20)
        self.assertEqual(7, len(found))
        self.assertEqual(2.2, found["throughput", "dfsio write, hhh, 150 MB/s of disk"]["ratio"])
        self.assertEqual(2.5, found["daemons' processor time", "dfsio write, hhh, 150 MB/s of disk"]["ratio"])
        self.assertNotIn("target", found["throughput", "dfsio write, disk, 150 MB/s of disk"])

    def test_the_goals_are_for_modes_on_a_limited_disk(self):
        found = rows(self.FIGURES, 150 << 20)
        self.assertTrue(found["throughput", "dfsio write, hhh, 150 MB/s of disk"]["met"])
        self.assertFalse(found["throughput", "dfsio write, hhh-m, 150 MB/s of disk"]["met"])
        self.assertFalse(found["time", "sort, hhh, 150 MB/s of disk"]["met"])
        self.assertEqual(2, len(storage.missed(found.values())))
        self.assertFalse(storage.missed(rows(self.FIGURES, 0).values()))

    def test_the_share_of_reads_from_ram(self):
        self.assertEqual([], storage.missed_hot_share(self.FIGURES))
        self.assertEqual(1, len(storage.missed_hot_share({"hot share": {"hhh": [0.95, 0.5]}})))


class LimitTest(unittest.TestCase):
    def test_a_disk_that_cannot_be_limited_is_an_error_that_says_so(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(storage, "CGROUPS", os.path.join(folder, "none")):
            with self.assertRaisesRegex(SystemExit, "cannot be limited"):
                with storage.limited(1 << 20, folder):
                    self.fail("it is not limited")
            with storage.limited(0, folder):
                pass


if __name__ == "__main__":
    unittest.main()
