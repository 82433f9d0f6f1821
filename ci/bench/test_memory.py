"""Tests of what keeps a virtual machine's memory."""

import os
import re
import tempfile
import unittest
from unittest import mock

import memory


def features(*numbers):
    return "".join("1" if bit in numbers else "0" for bit in range(64))


class MemoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text + "\n")
        return path

    def test_a_balloon_says_whether_it_reports_free_pages(self):
        self.assertFalse(memory.reports_free_pages(os.path.join(self.folder, "none")))
        self.assertFalse(memory.reports_free_pages(self.file("a", features(0, 1, 32))))
        self.assertTrue(memory.reports_free_pages(self.file("b", features(1, 5, 32))))

    def test_available_memory_is_read_in_bytes(self):
        path = self.file("meminfo", "MemTotal:       24684084 kB\nMemFree:        1024 kB\nMemAvailable:   2048 kB")
        self.assertEqual(memory.available_bytes(path), 2 << 20)

    def test_a_container_may_have_less_than_is_free(self):
        used = self.file("used", "100")
        self.assertEqual(memory.allowed_bytes([(self.file("limit", "5100"), used)]), 5000)
        self.assertGreater(memory.allowed_bytes([(self.file("none", "max"), used), ("/nowhere", used)]), 1 << 60)
        with mock.patch.object(memory, "allowed_bytes", return_value=memory.RESERVE):
            self.assertEqual(memory.Kept("yes").megabytes, 0)

    def test_nothing_is_kept_where_nobody_would_take_it_or_little_is_free(self):
        with mock.patch.object(memory, "reports_free_pages", return_value=False):
            self.assertEqual(memory.Kept("auto").megabytes, 0)
        with mock.patch.object(memory, "available_bytes", return_value=memory.RESERVE):
            self.assertEqual(memory.Kept("yes").megabytes, 0)
        self.assertEqual(memory.Kept("no").conditions(), {"memory_kept_mb": 0})

    def test_of_what_is_kept_a_page_in_each_block_stays(self):
        with mock.patch.object(memory, "available_bytes", return_value=memory.RESERVE + 8 * memory.BLOCK):
            kept = memory.Kept("yes")
        self.assertEqual(kept.megabytes, 16)
        with open("/proc/self/smaps") as file:
            sizes = re.findall(r"^Size:\s+(\d+) kB$.*?^Rss:\s+(\d+) kB$", file.read(), re.M | re.S)
        self.assertIn(("16384", str(8 * memory.PAGE >> 10)), sizes)
        kept.area.close()


if __name__ == "__main__":
    unittest.main()
