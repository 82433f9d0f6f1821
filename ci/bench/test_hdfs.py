"""Tests of how the HDFS benchmark's samples become figures."""

import unittest

import hdfs


class FiguresTest(unittest.TestCase):
    def test_one_client_gives_latency_and_many_give_throughput(self):
        figures = hdfs.figures_of(
            [
                {"measure": "write", "clients": 1, "values": {"mean": 900.0, "p50": 900.0}},
                {"measure": "random", "clients": 1, "values": {"mean": 0.4, "p99": 1.5}},
                {"measure": "writers", "clients": 64, "values": {"mb_s": 120.0, "p50": 30.0, "p99": 60.0}},
                {"measure": "writers", "clients": 1, "values": {"mb_s": 80.0, "p50": 3.0, "p99": 3.0}},
            ]
        )
        self.assertEqual(figures["latency", "write"], ("ms", "lower", 900.0))
        self.assertEqual(figures["latency p99", "random"], ("ms", "lower", 1.5))
        self.assertEqual(figures["throughput", "64 writers"], ("MB/s", "higher", 120.0))
        self.assertEqual(figures["latency p99", "64 writers"], ("ms", "lower", 60.0))
        self.assertEqual(figures["throughput", "1 writers"], ("MB/s", "higher", 80.0))

    def test_what_is_asked_for_is_measured(self):
        cases = {case for _, case in hdfs.TARGETS}
        self.assertEqual(cases, {"write", "random", "dfsio write", "dfsio read", "DataNodes", "clients", "64 writers"})

    def test_variants_are_rows_without_a_target(self):
        rows = []

        class Result:
            def add(self, kind, case, unit, better, ours, reference, target=None):
                rows.append((kind, case, ours, reference, target))

        seen = {(("latency", "write"), "ms", "lower"): {"ours": [1.0], "stock": [2.0], "stages": [1.5]}}
        hdfs.add_rows(Result(), seen, "disk", ["stages"])
        self.assertEqual(
            rows,
            [
                ("latency", "write, disk", [1.0], [2.0], 1 / 0.6),
                ("latency", "write, disk, stages", [1.5], [2.0], None),
            ],
        )
        self.assertEqual([name for name, _, _ in hdfs.sides_of(["o", "s"], ["stages"])], ["ours", "stock", "stages"])


if __name__ == "__main__":
    unittest.main()
