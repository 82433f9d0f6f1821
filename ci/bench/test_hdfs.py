"""Tests of how the HDFS benchmark's samples become figures."""

import unittest

import hdfs


class FiguresTest(unittest.TestCase):
    def test_one_client_gives_latency_and_many_give_throughput(self):
        many = {"p50": 30.0, "p90": 40.0, "p99": 60.0, "max": 61.0}
        figures = hdfs.figures_of(
            [
                {"measure": "write", "clients": 1, "values": {"mean": 900.0, "p50": 900.0}},
                {"measure": "random", "clients": 1, "values": {"mean": 0.4, "p99": 1.5}},
                {"measure": "small", "clients": 1, "values": {"mean": 8.0, "p99": 20.0}},
                {"measure": "writers", "clients": 64, "values": dict(many, mb_s=120.0)},
                {"measure": "writers", "clients": 1, "values": dict(many, mb_s=80.0)},
            ]
        )
        self.assertEqual(figures["latency", "write"], ("ms", "lower", 900.0))
        self.assertEqual(figures["latency p99", "random"], ("ms", "lower", 1.5))
        self.assertEqual(figures["rate", "small files"], ("files/s", "higher", 125.0))
        self.assertEqual(figures["latency p99", "small files"], ("ms", "lower", 20.0))
        self.assertEqual(figures["throughput", "64 writers"], ("MB/s", "higher", 120.0))
        self.assertEqual(figures["latency p99", "64 writers"], ("ms", "lower", 60.0))
        self.assertEqual(figures["throughput", "1 writers"], ("MB/s", "higher", 80.0))

    def test_what_is_asked_for_is_measured(self):
        cases = {case for _, case in hdfs.TARGETS}
        parts = {"write", "random", "small files", "dfsio write", "dfsio read", "DataNodes", "clients", "64 writers"}
        self.assertEqual(cases, parts | {"engine of a DataNode"})

    def test_the_engine_holds_what_its_counters_say(self):
        printed = "engine hadoop, process 7\n  memory.pinned.now  1\n  memory.pinned.peak  4096\n  memory.limit  1024\n"
        self.assertEqual(hdfs.engine_bytes(printed + "  memory.pinned.peak   512\n  memory.limit  7\n"), (4608, 1031))

    def test_parts_have_the_names_of_their_rows(self):
        self.assertEqual(hdfs.window_name({"measure": "write", "clients": 1, "values": {"mean": 1}}), "write")
        self.assertEqual(hdfs.window_name({"measure": "writers", "clients": 64, "values": {"mb_s": 1}}), "64 writers")

    def test_variants_are_rows_without_a_target(self):
        rows = []

        class Result:
            def add(self, kind, case, unit, better, ours, reference, reference_name=None, target=None):
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
        rows.clear()
        seen = {
            (("memory", "engine of a DataNode"), "MB", "lower"): {"ours": [64.0]},
            (hdfs.LIMIT, "MB", "lower"): {"ours": [512.0]},
        }
        hdfs.add_rows(Result(), seen, "disk", [])
        self.assertEqual(rows, [("memory", "engine of a DataNode, disk", [64.0], [512.0], 1.0)])
        self.assertEqual([name for name, _, _ in hdfs.sides_of(["o", "s"], ["stages"])], ["ours", "stock", "stages"])

    def test_short_circuit_reads_are_compared_with_stocks_and_with_the_engine(self):
        rows = []

        class Result:
            def add(self, kind, case, unit, better, ours, reference, reference_name=None, target=None):
                rows.append((case, ours, reference, reference_name))

        variants = ["short-circuit"]
        sides = hdfs.sides_of(["o", "s"], variants)
        self.assertEqual([(name, tree) for name, tree, _ in sides[2:]], [("short-circuit", "o"), ("stock short-circuit", "s")])
        figures = {"ours": [1.0], "stock": [2.0]}
        seen = {
            (("latency", "write"), "ms", "lower"): figures,
            (("latency", "read"), "ms", "lower"): dict(figures, **{"short-circuit": [0.5], "stock short-circuit": [0.7]}),
        }
        hdfs.add_rows(Result(), seen, "disk", variants)
        self.assertEqual(
            rows,
            [
                ("write, disk", [1.0], [2.0], None),
                ("read, disk", [1.0], [2.0], None),
                ("read, disk, short-circuit", [0.5], [0.7], "stock, short-circuit"),
                ("read, disk, engine against file", [1.0], [0.5], "ours, short-circuit"),
            ],
        )

    def test_processor_seconds_lie_between_readings(self):
        busy = hdfs.Busy()
        busy.seen = [(10.0, 1.0), (11.0, 3.0), (12.0, 3.5)]
        self.assertEqual(busy.between(10.5, 11.5), 1.25)
        self.assertEqual(busy.between(9.0, 13.0), 2.5)


if __name__ == "__main__":
    unittest.main()
