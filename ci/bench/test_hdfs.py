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
        self.assertEqual(cases, {"write", "random", "dfsio write", "dfsio read"})


if __name__ == "__main__":
    unittest.main()
