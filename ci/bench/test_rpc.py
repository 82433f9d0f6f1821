"""Tests of how the RPC benchmark's samples become rows."""

import unittest

import report
import rpc


def sample(side, measure, count, clients=1, handlers=8, kind="protobuf", **values):
    row = {"side": side, "measure": measure, "type": kind, "bytes": count, "clients": clients, "handlers": handlers}
    return dict(row, values=dict(dict.fromkeys(rpc.COSTS, 1.0 if side == "ours" else 2.0), **values))


def both(measure, count, ours, reference, name="mean", **case):
    return [
        sample("ours", measure, count, **case, **{name: ours, "p99": ours}),
        sample("reference", measure, count, **case, **{name: reference, "p99": reference}),
    ]


class RowsTest(unittest.TestCase):
    def rows(self, samples):
        result = report.Report("x", "stock", "/tmp")
        rpc.add_rows(result, samples)
        return {(row["measure"], row["case"]): row for row in result.rows}

    def test_each_size_has_its_target_and_the_best_has_another(self):
        rows = self.rows(both("latency", 1, 10, 41) + both("latency", 1 << 20, 10, 20) + both("latency", 4 << 20, 1, 2))
        self.assertTrue(rows["latency", "1 B"]["met"])
        self.assertFalse(rows["latency", "1 MB"]["met"])
        self.assertNotIn("target", rows["latency", "4 MB"])
        self.assertTrue(rows["best latency", "1 B"]["met"])
        self.assertEqual(["missed: latency, 1 MB: 2.00 times better than stock, asked for 2.5"], rpc.missed(rows.values()))

    def test_throughput_is_asked_for_with_64_clients(self):
        few = both("throughput", 512, 30, 20, "rate", clients=4)
        many = both("throughput", 512, 30, 20, "rate", clients=64)
        rows = self.rows(few + many)
        self.assertNotIn("target", rows["throughput", "512 B 4/8"])
        self.assertFalse(rows["throughput", "512 B 64/8"]["met"])
        self.assertTrue(rows["load server cpu", "512 B 64/8"]["met"])

    def test_rounds_are_put_together(self):
        rounds = [(1, 10), (3, 30), (100, 400)]
        rows = self.rows([part for times in rounds for part in both("type", 512, *times, kind="text")])
        self.assertEqual(3, rows["type text", "512 B"]["runs"])
        self.assertEqual(3, rows["type text", "512 B"]["ours"])
        # Round by round: what slowed one of them down slowed both sides down.
        self.assertEqual((10, "pairs"), tuple(rows["type text", "512 B"][key] for key in ("ratio", "ratio_of")))

    def test_the_run_without_warnings_is_a_row_without_target(self):
        result = report.Report("x", "stock", "/tmp")
        rpc.add_quiet(result, both("latency", 1 << 20, 1, 2) + both("idle", 0, 0, 0))
        self.assertEqual([("latency, no warning", "1 MB")], [(row["measure"], row["case"]) for row in result.rows])
        self.assertNotIn("target", result.rows[0])

    def test_the_most_disturbed_of_what_counts_is_told(self):
        samples = [sample("ours", "latency", 1, stolen=0.4), sample("reference", "latency", 1, stolen=3.5)]
        self.assertEqual(3.5, rpc.most_stolen(samples))

    def test_idle_is_in_milliseconds(self):
        shown = rpc.idle([sample("ours", "idle", 0, cpuClient=1500.0, cpuServer=0.0)])
        self.assertEqual({"ours": ["1.5", "0.0"]}, shown)


if __name__ == "__main__":
    unittest.main()
