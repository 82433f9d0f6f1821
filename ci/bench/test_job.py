"""Tests of how a job's files become the steps of its start."""

import os
import tempfile
import time
import unittest

import job

BEGIN = 1700000000


class StepsTest(unittest.TestCase):
    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)
        self.folder = os.path.join(self.room.name, "jobs", "2-1")
        self.write("start", "%d.250000000\n" % BEGIN)
        self.write("ready", "%d.250\n" % (BEGIN + 20))
        for name, seconds in (("site/hdfs-site.xml", 1), ("settings", 2), ("run/node-0", 4), ("run/node-1", 5), ("logs/format.out", 9)):
            self.write("howdah-job-7/" + name, "", BEGIN + seconds)
        self.write("howdah-job-7/logs/hadoop-u-namenode-n1.log", "".join((
            self.line(10, "INFO NameNode: NameNode RPC up at: n1:8020"), self.line(12, "INFO x: Adding a new node: /default-rack/a"),
            self.line(14, "INFO x: Adding a new node: /default-rack/b"), "java.io.IOException: Adding a new node: no time\n")))

    def write(self, name, text, when=None):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        if when:
            os.utime(path, (when, when))

    @staticmethod
    def line(seconds, text):
        return time.strftime("%Y-%m-%d %H:%M:%S,500 ", time.localtime(BEGIN + seconds)) + text + "\n"

    def test_each_step_ends_with_the_last_node(self):
        found = job.steps(self.folder)
        self.assertEqual(0.75, found["nodes and names known"])
        self.assertEqual(4.75, found["nodes reached, probed, seen by doctor"])
        self.assertEqual(14.25, found["DataNodes registered"])
        self.assertEqual(20, found["command runs"])
        self.assertNotIn("ResourceManager works", found)  # it has no log

    def test_lines_have_either_form_of_time(self):
        self.assertEqual(job.stamp("2023-11-14 22:13:20,125 INFO x"), job.stamp("23/11/14 22:13:20 INFO x") + 0.125)
        self.assertIsNone(job.stamp("\tat java.lang.Thread.run"))

    def test_the_table_has_medians_and_what_was_played(self):
        self.write("../../played-100/took", "table of nodes 0.25\n")
        lines = job.table(job.all_jobs(self.room.name), job.all_played(self.room.name))
        self.assertIn("2 nodes", lines[0])
        self.assertRegex("\n".join(lines), r"command runs +20\.0 \(20\.0 to 20\.0\)")
        self.assertRegex(lines[-1], r"table of nodes, 100 nodes +0\.25")

    def test_a_job_that_takes_too_long_is_a_miss(self):
        self.assertEqual([], job.missed({1: {"command runs": [90]}, 3: {"command runs": [30, 19, 20]}}))
        self.assertEqual(1, len(job.missed({3: {"command runs": [21, 19, 22]}})))


if __name__ == "__main__":
    unittest.main()
