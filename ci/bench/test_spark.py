"""Tests of how the Spark benchmark's samples become rows."""

import argparse
import tempfile
import unittest

import report
import spark

REST = {"cpu": 2.0, "gc": 1.0, "moversHeapMb": 5.0, "heapMb": 50.0, "rssMb": 900.0, "remoteMb": 10.0}


def sample(side, job, seconds, wait, executors=2, **more):
    values = dict(REST, seconds=seconds, wait=wait, **more)
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

    def test_what_is_asked_depends_on_the_job(self):
        for job, ours, executors, met in (
            ("TeraSort", 9.9, 2, True),
            ("TeraSort", 10.1, 2, False),
            ("KMeans", 10.2, 2, True),
            ("KMeans", 10.4, 2, False),
            ("GroupBy", 9.0, 2, False),
            ("GroupBy", 10.2, 1, True),
        ):
            rows = self.rows([sample("ours", job, ours, 1, executors), sample("reference", job, 10.0, 1, executors)])
            self.assertEqual(met, rows["time", "%s, %d ex." % (job, executors)]["met"], (job, ours))
            self.assertEqual(job != "KMeans", ("peak memory", "%s, %d ex." % (job, executors)) in rows)

    def test_what_was_too_short_to_be_seen_counts_as_a_tick(self):
        rows = self.rows([sample("ours", "SortBy", 1, 0.0), sample("reference", "SortBy", 2, 0.5)])
        self.assertEqual(500, rows["fetch wait", "SortBy, 2 ex."]["ratio"])

    def test_a_shuffle_that_moved_nothing_is_no_measurement(self):
        spark.check([sample("ours", "SortBy", 1, 1), sample("ours", "SortBy", 1, 1, executors=1, remoteMb=0.0)][1:])
        spark.check([sample("ours", "Grep", 1, 1, remoteMb=0.0)])
        with self.assertRaisesRegex(SystemExit, "SortBy with 2 executors, ours"):
            spark.check([sample("ours", "SortBy", 1, 1, remoteMb=0.0)])

    def test_an_executor_may_have_its_heap_and_what_is_left_to_it_beside(self):
        conditions = {"executors_together": "2 cores, 4096 MB of heap", "settings": []}
        self.assertEqual(2048 + 384 + 1024, spark.bound_mb(conditions, 2))
        conditions["ours_conf"] = "spark.shuffle.rdma.memory.limit=2g spark.shuffle.rdma.memory.fraction=0.8"
        self.assertEqual(spark.bound_mb(conditions, 2), 2048 + spark.OVERHEAD + 2048)
        del conditions["ours_conf"]
        conditions["settings"] = ["spark.shuffle.rdma.memory.limit=256m"]
        self.assertEqual(4096 + 409.6 + 256, spark.bound_mb(conditions, 1))
        samples = [sample("ours", "SortBy", 1, 1, rssMb=3000.0)]
        self.assertEqual(
            ["missed: SortBy, 2 ex.: an executor had 3000 MB resident, 2688 are its bound"],
            spark.check_bound(conditions, samples),
        )
        self.assertEqual([], spark.check_bound(conditions, [sample("ours", "SortBy", 1, 1, rssMb=2600.0)]))

    def test_a_profile_has_the_rounds_of_a_job_and_side_together(self):
        samples = [sample("ours", "SortBy", 2.0, 1, begin=10.0, spent=2.0)]
        samples.append(sample("ours", "SortBy", 1.0, 1, begin=20.0, spent=3.0))  # three runs of it
        self.assertEqual({"SortBy, 2 ex., ours": [(10.0, 12.0), (20.0, 23.0)]}, spark.profile_windows(samples))

    def test_shapes_are_compared(self):
        samples = [sample("ours", "SortBy", 3, 1, executors=1), sample("ours", "SortBy", 2, 1, executors=4)]
        self.assertEqual(["SortBy, ours: 4 ex. 2.00 s, 1 ex. 3.00 s"], spark.shapes(samples))
        self.assertEqual([], spark.shapes(samples[:1]))

    def test_without_a_choice_there_are_three_passes(self):
        runs, left_out = spark.passes(["--scale", "0.1"], 24000, ["--executors", "1,6"])
        self.assertEqual(
            ["--jobs", "workloads", "--executors", "2", "--warm-up", "2", "--scale", "0.1"], runs.pop("workloads")
        )
        self.assertEqual(["--executors", "1,6", "--scale", "0.1"], runs.pop(spark.PLANNED))
        self.assertEqual(["", "2 GB"], list(runs))
        self.assertEqual([], left_out)
        self.assertEqual(({"": ["--jobs=KMeans"]}, []), spark.passes(["--jobs=KMeans"], 24000))

    def test_workloads_are_run_by_more_applications_unless_it_is_said_how_many(self):
        default = argparse.Namespace(applications=None, rounds=None)
        self.assertEqual(["--applications", "2", "--rounds", "3"], spark.repeats_of("2 GB", default))
        self.assertEqual(["--applications", "6", "--rounds", "2"], spark.repeats_of("workloads", default))
        asked = argparse.Namespace(applications=None, rounds=1)
        self.assertEqual(["--applications", "6", "--rounds", "1"], spark.repeats_of("workloads", asked))

    def test_what_there_is_no_memory_for_is_left_out_and_named(self):
        runs, left_out = spark.passes([], 16000)
        self.assertEqual(["", "workloads"], list(runs))
        self.assertEqual("2 GB: it needs 22000 MB of memory, here are 16000", left_out[0])
        self.assertTrue(left_out[1].startswith("as planned: howdah spark plan has one executor"))

    def test_a_plan_of_several_executors_is_compared_with_one(self):
        self.assertIsNone(spark.planned("- 0-1 1 2 4000 0\n"))
        lines = "howdah spark: warning: 9 MB are not on NUMA nodes\n0 0-11 2 4 3000 100\n1 12-23 1 4 3000 100\n"
        first, second = "numactl --physcpubind=0-11 --membind=0", "numactl --physcpubind=12-23 --membind=1"
        self.assertEqual(["--executors", "1,3", "--warm-up", "6", "--memory", "9000"] + ["--bind", first] * 2 + ["--bind", second],
                         spark.planned(lines)[2:])
        self.assertNotIn("--bind", spark.planned("- 0-15 3 5 3000 100\n"))

    def test_the_plan_has_a_row_beside_one_executor(self):
        result = report.Report("spark", "stock", tempfile.gettempdir())
        spark.add_plan_rows(result, [sample("ours", "SortBy", 3.0, 1, executors=1), sample("ours", "SortBy", 2.0, 1, executors=6)])
        self.assertEqual([("SortBy, 6 ex. as planned", 1.5)], [(row["case"], row["ratio"]) for row in result.rows])

    def test_rows_of_another_size_are_told_apart(self):
        result = report.Report("spark", "stock", tempfile.gettempdir())
        for job in ("SortBy", "KMeans"):
            spark.add_rows(result, [sample(side, job, 1, 1) for side in ("ours", "reference")], "2 GB")
        self.assertEqual({"SortBy, 2 ex., 2 GB", "KMeans, 2 ex."}, {row["case"] for row in result.rows})


if __name__ == "__main__":
    unittest.main()
