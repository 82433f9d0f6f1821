"""Tests of how runs on stock Hadoop and in a storage mode become rows."""

import os
import tempfile
import unittest
from unittest import mock

import disks
import report
import storage
import storage_page


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

    def test_the_goal_for_processor_time_is_for_any_disk(self):
        figures = {"cpu dfsio write": {"stock": [20, 20], "hhh-m": [11, 11]}}
        self.assertEqual(1, len(storage.missed(rows(figures, 0).values())))

    def test_what_is_written_behind_and_read_from_ram_are_conditions(self):
        figures = dict(self.FIGURES, **{"behind MB": {"hhh-m": [900, 1100]}, "behind s": {"hhh-m": [4, 6]}})
        result = report.Report("x", "stock Hadoop 2.8.1", "/tmp")
        storage.add(result, figures, 0)
        self.assertEqual(7, len(result.rows))
        self.assertEqual({"disk not limited": {"hhh-m": 1000}}, result.conditions["behind MB"])
        self.assertEqual({"disk not limited": {"hhh": 0.975}}, result.conditions["hot share"])

    def test_the_share_of_reads_from_ram(self):
        self.assertEqual([], storage.missed_hot_share(self.FIGURES))
        self.assertEqual(1, len(storage.missed_hot_share({"hot share": {"hhh": [0.95, 0.5]}})))
        self.assertEqual([], storage.missed_hot_share({"sort": {"hhh": [60]}}))

    def test_the_pace_beside_moves(self):
        self.assertEqual([], storage.missed_pace({"beside moves": {"hhh": [0.8, 0.9, 0.95]}}))
        self.assertEqual(["missed: a write beside moves has 80 % of its pace without"], storage.missed_pace({"beside moves": {"hhh": [0.8]}}))
        self.assertEqual([], storage.missed_pace({}))


class SideTest(unittest.TestCase):
    def test_the_options_of_each_mode(self):
        self.assertEqual([], storage.start_options(None, "/ram", "/shared"))
        self.assertEqual(["--mode", "hhh", "--ram", "/ram"], storage.start_options("hhh", "/ram", "/shared"))
        self.assertEqual(["--mode", "hhh-l", "--ram", "/ram", "--shared", "/shared"], storage.start_options("hhh-l", "/ram", "/shared"))

    def test_some_sides_only(self):
        options = mock.Mock(stock="/stock", ours="/ours", java_home="/jdk", sides=["stock", "hhh-l"])
        self.assertEqual([("/stock", None), ("/ours", "hhh-l")], [(side.home, side.mode) for side in storage.sides_of(options)])

    def test_a_cluster_is_stopped_before_its_folders_go(self):
        seen = []

        class Recorder(storage.Side):
            def run(self, *command, **environment):
                seen.append((command[2], os.path.isdir(command[command.index("--ram") + 1]) if "--ram" in command else None))
                return ""

        with tempfile.TemporaryDirectory() as folder:
            options = mock.Mock(ram=folder, block=16)
            with mock.patch.object(storage, "dfsio", side_effect=ValueError("the job failed")):
                with self.assertRaisesRegex(ValueError, "the job failed"):
                    storage.jobs(Recorder("hhh", "/ours", "/jdk", "hhh"), options, disks.Places(folder, folder))
            self.assertEqual([("start", True), ("stop", None)], seen)
            self.assertEqual([], os.listdir(folder))

    def test_what_is_written_behind_is_waited_for(self):
        side = storage.Side("hhh-m", "/ours", "/jdk", "hhh-m")
        with mock.patch.object(storage, "sums", side_effect=[[3e6], [1e6], [0]]), mock.patch.object(storage.time, "sleep"):
            self.assertEqual(3, storage.written_behind(side, "/cluster")["behind MB"])
        with mock.patch.object(storage, "sums", return_value=[1]), mock.patch.object(storage, "LONGEST_BEHIND", -1):
            with self.assertRaisesRegex(SystemExit, "1 bytes are not persisted"):
                storage.written_behind(side, "/cluster")


class PageTest(unittest.TestCase):
    def test_a_table_of_each_limit(self):
        figures = dict(RowsTest.FIGURES, **{"behind MB": {"hhh-m": [900]}, "behind s": {"hhh-m": [4]}})
        figures.update({"beside moves": {"hhh": [0.9]}, "moved MB": {"hhh": [300]}})
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(report, "plot"), mock.patch("builtins.print"):
            result = report.Report("storage", "stock Hadoop 2.8.1", folder, size_mb=64, block_mb=16)
            storage.add(result, figures, 150 << 20)
            storage.add(result, {"sort": {"stock": [100, 120], "hhh": [50, 60]}}, 0)
            page = storage_page.of(result.write())
        lines = page.splitlines()
        self.assertIn("rounds: 2, 64 MB a job, blocks of 16 MB.", lines[0])
        self.assertIn("## 150 MB/s of disk", lines)
        self.assertIn("| | stock | ours, all on disk | HHH | HHH-M |", lines)
        write = next(line for line in lines if line.startswith("| TestDFSIO write, MB/s a task |"))
        self.assertIn("| 110, 2.20 times, asked 2.06 | 112, 2.24 times, asked 2.26, **missed** |", write)
        self.assertIn("HHH-M: 900 MB were to be persisted when TestDFSIO's writes ended, 4.0 s later nothing.", lines)
        self.assertTrue(any("makes room (300 MB), 90 % of the pace" in line for line in lines))
        self.assertIn("Of the reads of a hot file that was not in RAM at first 98 % are from RAM.", lines)
        self.assertEqual("| Sort, s | 110 (100-120) | 55 (50-60), 2.00 times |", lines[-1])


if __name__ == "__main__":
    unittest.main()
