"""Tests of how perf's samples become seconds by kind of work."""

import unittest

import perf_profile


class SampleTest(unittest.TestCase):
    def kind(self, line):
        return perf_profile.sample_of(line)[1]

    def test_a_line_has_its_time_and_kind(self):
        line = "         swapper 13813.917640:  ffffffff821f4dab pv_native_safe_halt ([kernel.kallsyms])\n"
        self.assertEqual(perf_profile.sample_of(line), (13813.91764, "idle"))

    def test_kinds_are_told_by_thread_object_and_symbol(self):
        self.assertEqual(self.kind(" C2 CompilerThre 1.5:  7f38 [unknown] (/jdk/libjvm.so)"), "jit")
        self.assertEqual(self.kind(" DataNode: [[[DI 1.5:  7f38 [unknown] (/tmp/perf-20441.map)"), "java")
        self.assertEqual(self.kind("  java (x) 1.5:  ffff rep_movs_alternative ([kernel.kallsyms])"), "k.copy")
        self.assertEqual(self.kind("  java 1.5:  ffff tcp_sendmsg_locked ([kernel.kallsyms])"), "k.sockets")
        self.assertEqual(self.kind("  java 1.5:  ffff futex_wake ([kernel.kallsyms])"), "k.wait")
        self.assertEqual(self.kind("  java 1.5:  ffff shmem_write_begin ([kernel.kallsyms])"), "k.files")
        self.assertEqual(self.kind("  java 1.5:  7f00 hd_crc32c (/x/libhowdah.so.0)"), "checksum")
        self.assertEqual(self.kind("  java 1.5:  7f00 __memmove_avx_unaligned_erms (/usr/lib/libc.so.6)"), "libc.copy")
        self.assertEqual(self.kind("  shuffle-client- 1.5:  ffff tcp_sendmsg ([kernel.kallsyms])"), "movers")
        self.assertEqual(self.kind("  rdma-block-cli 1.5:  7f00 x (/x/libhowdah.so.0)"), "movers")
        self.assertEqual(self.kind("  bash 1.5:  7f00 main (/usr/bin/bash)"), "other")

    def test_what_is_no_sample_is_none(self):
        self.assertIsNone(perf_profile.sample_of("\n"))


class SecondsTest(unittest.TestCase):
    def test_samples_count_in_the_windows_that_they_are_in(self):
        samples = [(1.0, "java"), (1.5, "java"), (2.0, "idle"), (9.0, "java")]
        seconds = perf_profile.seconds_by_kind(samples, {"write": (1.0, 2.0), "all": (0.0, 10.0)})
        tick = round(1 / perf_profile.HERTZ, 3)
        self.assertEqual(seconds["write"], {"java": round(2 / perf_profile.HERTZ, 3)})
        self.assertEqual(seconds["all"], {"java": round(3 / perf_profile.HERTZ, 3), "idle": tick})
        twice = perf_profile.seconds_by_kind(samples, {"rounds": [(1.0, 1.2), (8.0, 10.0)]})
        self.assertEqual(twice["rounds"], {"java": round(2 / perf_profile.HERTZ, 3)})

    def test_the_table_has_a_column_for_each_kind_that_was_seen(self):
        text = perf_profile.table({"write, ours": {"java": 1.5, "idle": 0.25}, "write, stock": {"jvm": 2}})
        head, ours, stock = (line.split() for line in text.splitlines())
        self.assertEqual(head, ["processor", "seconds", "jvm", "java", "idle"])
        self.assertEqual(ours, ["write,", "ours", "0.00", "1.50", "0.25"])
        self.assertEqual(stock, ["write,", "stock", "2.00", "0.00", "0.00"])


if __name__ == "__main__":
    unittest.main()
