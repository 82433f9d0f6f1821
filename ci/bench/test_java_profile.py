"""Tests of how the flight recorder's samples become shares, and these divide what perf counted as java."""

import os
import unittest

import java_profile
import perf_profile


def event(stamp, *frames):
    """As jfr prints it; frames are CLASS and METHOD, the top one first."""
    methods = [{"method": {"type": {"name": kind}, "name": name}} for kind, name in frames]
    return {"startTime": stamp, "stackTrace": {"frames": methods}}


class SampleTest(unittest.TestCase):
    def test_the_frame_nearest_to_the_top_that_fits_decides(self):
        hash_map, crc = ("java/util/HashMap", "get"), ("org/apache/hadoop/util/DataChecksum", "update")
        sender = ("org/apache/hadoop/hdfs/net/RdmaStream", "write")
        stamp = "1970-01-01T00:01:40.250000999Z"
        self.assertEqual(java_profile.sample_of(event(stamp, hash_map, crc, sender), 90.0), (10.25, "checksum"))
        self.assertEqual(java_profile.sample_of(event(stamp, hash_map, sender, crc), 90.0)[1], "engine")
        self.assertEqual(java_profile.sample_of(event(stamp, hash_map), 90.0)[1], "other")
        self.assertEqual(java_profile.sample_of(event(stamp, ("io/howdah/bench/hdfs/Client", "fill")), 90.0)[1], "other")

    def test_a_time_of_another_zone_is_the_same(self):
        self.assertEqual(java_profile.sample_of(event("1970-01-01T01:01:40.5+01:00"), 0.0)[0], 100.5)

    def test_threads_that_perf_counts_as_movers_are_no_java(self):
        self.assertTrue(java_profile.is_mover({"sampledThread": {"javaName": "shuffle-client-4-1"}}))
        self.assertFalse(java_profile.is_mover({"sampledThread": {"javaName": "Executor task launch worker-0"}}))
        self.assertFalse(java_profile.is_mover({"sampledThread": None}))

    def test_what_no_java_frame_tells_counts_as_other(self):
        self.assertEqual(java_profile.sample_of({"startTime": "1970-01-01T00:00:01Z", "stackTrace": None}, 0.0), (1.0, "other"))


class SharesTest(unittest.TestCase):
    def test_samples_count_in_the_windows_that_they_are_in(self):
        samples = [(1.0, "checksum"), (1.5, "engine"), (1.7, "checksum"), (8.0, "checksum")]
        shares = java_profile.shares(samples, {"write": (1.0, 2.0), "rounds": [(0.0, 1.2), (7.0, 9.0)], "never": (20.0, 21.0)})
        self.assertEqual(shares["write"], {"checksum": 2 / 3, "engine": 1 / 3})
        self.assertEqual(shares["rounds"], {"checksum": 1.0})
        self.assertEqual(shares["never"], {})

    def test_java_is_divided_and_nothing_else_is(self):
        seconds = {"java": 3.0, "idle": 1.0}
        divided = java_profile.divide(seconds, {"checksum": 2 / 3, "other": 1 / 3})
        self.assertEqual(divided, {"idle": 1.0, "java.checksum": 2.0, "java.other": 1.0})
        self.assertEqual(java_profile.divide(seconds, {}), seconds)
        self.assertEqual(java_profile.divide({"idle": 1.0}, {"checksum": 1.0}), {"idle": 1.0})

    def test_the_table_has_its_parts_where_java_was(self):
        profiles = {"write": {"idle": 1.0, "java.other": 1.0, "java.checksum": 2.0, "jvm": 1.0, "other": 1.0}}
        self.assertEqual(perf_profile.kinds_of(profiles), ["jvm", "java.checksum", "java.other", "other", "idle"])
        self.assertIn("java.checksum", perf_profile.table(profiles))


class RecorderTest(unittest.TestCase):
    def test_without_a_flight_recorder_there_are_no_options_and_no_samples(self):
        recorder = java_profile.Recorder("/nowhere", "/nowhere")
        self.assertEqual(recorder.options, "")
        self.assertEqual(list(recorder.samples()), [])

    def test_jvms_take_the_options_until_the_end(self):
        before = os.environ.get(java_profile.VARIABLE)
        with java_profile.all_jvms("-Dx"):
            self.assertEqual(os.environ[java_profile.VARIABLE], "-Dx")
        self.assertEqual(os.environ.get(java_profile.VARIABLE), before)


if __name__ == "__main__":
    unittest.main()
