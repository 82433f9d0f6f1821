"""junit: each form of report becomes JUnit's XML."""

import os
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import junit


class JunitTest(unittest.TestCase):
    def converted(self, path, text):
        """The cases of one report as (name, seconds, failure, reason of a skip)."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "test", path)
            os.makedirs(os.path.dirname(report))
            with open(report, "w", encoding="utf-8") as stream:
                stream.write(text)
            junit.main(os.path.join(folder, "test"), os.path.join(folder, "xml"))
            (name,) = os.listdir(os.path.join(folder, "xml"))
            root = ElementTree.parse(os.path.join(folder, "xml", name)).getroot()
        self.counts = tuple(int(root.get(each)) for each in ("tests", "failures", "skipped"))
        found = []
        for case in root.iter("testcase"):
            failure, skipped = case.find("failure"), case.find("skipped")
            found.append((case.get("name"), float(case.get("time")), None if failure is None else failure.text,
                          None if skipped is None else skipped.get("message")))
        return name, found

    def test_tap_of_bats_and_of_the_guest(self):
        name, found = self.converted("e2e/tap", "1..4\n# a note\nok 1 it starts in 1500ms\nok 2 it is slow in 30ms # skip takes "
                                     "minutes\nnot ok 3 it ends in 20ms\n# (in test file)\n#   `false' failed\x01\nok 4 10-device in 8 s\n")
        self.assertEqual("TEST-e2e.xml", name)
        self.assertEqual([("it starts", 1.5, None, None), ("it is slow", 0.03, None, "takes minutes"),
                          ("it ends", 0.02, "(in test file)\n`false' failed?\n", None), ("10-device", 8.0, None, None)], found)
        self.assertEqual((4, 1, 1), self.counts)

    def test_unittest(self):
        _, found = self.converted("unit-ci/log", "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b)\nWhat it does. ... ok\n"
                                  "a line of its own\ntest_c (m.C.test_c) ... FAIL\ntest_d (m.C.test_d) ... skipped 'no root'\n")
        self.assertEqual([("m.C.test_a", 0, None, None), ("m.C.test_b", 0, None, None), ("m.C.test_c", 0, "FAIL", None),
                          ("m.C.test_d", 0, None, "no root")], found)

    def test_variants_of_the_engine(self):
        _, found = self.converted("native/tsan", " 1/3 Test #27: tools_Stat ......***Failed    0.99 sec\n"
                                  " 2/3 Test  #1: ring ......   Passed    0.50 sec\n 3/3 Test  #2: users ...***Skipped   0.00 sec\n"
                                  "soak shm: passed\nfuzz frames: passed\nleft out: users under valgrind: no\n")
        self.assertEqual([("tools_Stat", 0.99, "Failed", None), ("ring", 0.5, None, None), ("users", 0, None, "Skipped"),
                          ("soak shm", 0, None, None), ("fuzz frames", 0, None, None),
                          ("left out", 0, None, "users under valgrind: no")], found)

    def test_a_suite_that_broke_is_a_failure(self):
        _, found = self.converted("native/gcc", "ninja: error: no file\n")
        self.assertEqual([("the suite runs", 0, "ninja: error: no file", None)], found)
        self.assertEqual((1, 1, 0), self.counts)


if __name__ == "__main__":
    unittest.main()
