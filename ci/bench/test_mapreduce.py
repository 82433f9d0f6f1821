"""Tests of how what jobs print becomes rows of MapReduce's benchmark."""

import argparse
import unittest

import mapreduce
import report

PRINTED = """
26/11/27 10:00:00 INFO mapreduce.Job: Job job_1795000000000_0002 completed successfully
26/11/27 10:00:00 INFO mapreduce.Job: Counters: 49
\tFile System Counters
\t\tFILE: Number of bytes read=100
\t\tFILE: Number of bytes written=2200
\tMap-Reduce Framework
\t\tMap output bytes=900
\t\tMap output materialized bytes=1000
\t\tCPU time spent (ms)=12500
"""


def rows_of(figures, size_mb, mode=None):
    result = report.Report("x", "stock", "/tmp")
    mapreduce.add_rows(result, figures, size_mb, mode)
    return {(row["measure"], row["reference_name"]): row for row in result.rows}


class MapReduceTest(unittest.TestCase):
    def test_counters_are_read_from_what_the_client_prints(self):
        self.assertEqual("job_1795000000000_0002", mapreduce.job_id(PRINTED))
        self.assertEqual({"cpu": 12.5, "disk bytes": 2.2}, mapreduce.figures_of(mapreduce.counters(PRINTED)))

    def test_the_wait_is_from_the_last_map_that_counts_to_the_reducers_first_calls(self):
        attempts = [
            {"type": "MAP", "state": "SUCCEEDED", "finishTime": 1000},
            {"type": "MAP", "state": "KILLED", "finishTime": 9000},
            {"type": "MAP", "state": "SUCCEEDED", "finishTime": 5000},
            {"type": "REDUCE", "state": "SUCCEEDED", "finishTime": 9000, "mergeFinishTime": 6000},
            {"type": "REDUCE", "state": "SUCCEEDED", "finishTime": 9500, "mergeFinishTime": 7000},
        ]
        self.assertEqual(1.5, mapreduce.wait_of(attempts))
        self.assertEqual(mapreduce.TICK, mapreduce.wait_of(attempts[:2] + [dict(attempts[3], mergeFinishTime=900)]))

    def test_targets_hold_for_large_inputs_against_either_kind_of_stock(self):
        sides = {"ours": [6.0], "stock": [10.0], "tuned": [7.9]}
        rows = rows_of({"TeraSort|cpu": sides, "TeraSort|time": sides}, 8192)
        self.assertTrue(rows["cpu", "stock"]["met"])
        self.assertFalse(rows["cpu", "tuned"]["met"])
        self.assertTrue(rows["time", "stock"]["met"])
        self.assertNotIn("target", rows["time", "tuned"])
        self.assertEqual(
            ["missed: cpu, TeraSort: 1.32 times better than tuned, asked for 1.33"], mapreduce.missed(list(rows.values()))
        )

    def test_at_1_gb_no_job_may_be_slower_beyond_the_spread(self):
        rows = rows_of({"Sort|time": {"ours": [10.1, 10.4], "stock": [10.0, 10.2]}}, 1024)
        self.assertTrue(rows["time", "stock"]["met"])
        rows = rows_of({"Sort|time": {"ours": [12.0, 12.1], "stock": [10.0, 10.1]}}, 1024)
        self.assertFalse(rows["time", "stock"]["met"])
        self.assertNotIn("target", rows_of({"Sort|cpu": {"ours": [1], "stock": [1]}}, 1024)["cpu", "stock"])

    def test_in_a_shared_folder_jobs_are_to_be_a_fifth_shorter_than_stocks(self):
        sides = {"ours": [8.1], "stock": [10.0], "tuned": [9.0], "merge.enabled=true": [7.0]}
        rows = rows_of({"TeraSort|time": sides}, 1024, "lustre-only")
        self.assertFalse(rows["time", "stock"]["met"])
        self.assertNotIn("target", rows["time", "tuned"])
        self.assertEqual(7.0, rows["time", "merge.enabled=true"]["reference"])

    def test_only_inputs_that_are_read_are_written(self):
        words = [["-outKey", "x", "/s/tera", "/s/out"], ["count", "/s/text", "/s/plain"]]
        commands = mapreduce.inputs(2048, "/s", words)
        self.assertEqual(["teragen", "randomtextwriter"], [command[0] for command in commands])
        self.assertEqual(["/s/tera", "/s/text"], [command[-1] for command in commands])
        self.assertEqual("21474836", commands[0][2])

    def test_our_tree_with_another_option_is_a_side_of_its_own(self):
        options = argparse.Namespace(
            ours="/o", stock="/s", java_home="/j", size=1024, reducers=2, no_stock=False, no_tuned=True, option=["a.b.c=1"],
            mode=None,
        )
        options.beside = ["mapred.rdma.shuffle.merge.enabled=true"]
        sides = mapreduce.sides_of(options)
        self.assertEqual(["ours", "stock", "merge.enabled=true"], [side.name for side in sides])
        self.assertEqual(["/o", "/s", "/o"], [side.home for side in sides])
        self.assertEqual("true", sides[2].options["mapred.rdma.shuffle.merge.enabled"])
        self.assertEqual(["1", None, "1"], [side.options.get("a.b.c") for side in sides])
        self.assertNotIn("mapreduce.terasort.simplepartitioner", sides[0].options)

    def test_in_a_shared_folder_each_side_has_its_own_file_system_and_the_same_partitioner(self):
        options = argparse.Namespace(
            ours="/o", stock="/s", java_home="/j", size=1024, reducers=2, no_stock=False, no_tuned=True, option=[], beside=["a=b"]
        )
        options.mode = "lustre-only"
        sides = mapreduce.sides_of(options)
        self.assertEqual(["shared:///", "file:///", "shared:///"], [side.file_system for side in sides])
        self.assertEqual({"true"}, {side.options["mapreduce.terasort.simplepartitioner"] for side in sides})

    def test_what_is_written_to_disk_has_a_bound_of_its_own(self):
        rows = rows_of({"Sort|disk bytes": {"ours": [1.6], "stock": [2.1], "tuned": [2.0]}}, 1024)
        self.assertEqual(
            ["missed: disk bytes, Sort: 1.60 bytes written for each byte of map output, asked for 1.1"],
            mapreduce.missed(list(rows.values())),
        )

    def test_a_containers_heap_holds_what_a_tuned_map_sorts_in_memory(self):
        for size in (1024, 8192):
            heap = int(mapreduce.common_options(size, 2)["mapreduce.map.java.opts"][4:-1])
            self.assertLess(mapreduce.tuned_options(size)["mapreduce.task.io.sort.mb"], heap * 2 // 3)
        self.assertEqual(["-Da=1"], mapreduce.settings({"a": 1}))


if __name__ == "__main__":
    unittest.main()
