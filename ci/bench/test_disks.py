"""Tests of disks that are limited."""

import os
import subprocess
import tempfile
import time
import unittest
from unittest import mock

import disks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROVIDE = 'HOWDAH_ROOT=$0; . "$HOWDAH_ROOT/ci/lib/faultfs.sh"; provide_faultfs "$1"'

class LimitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.places = disks.Places(folder.name, folder.name)

    def test_without_a_limit_nothing_stands_before_a_folder(self):
        for way in disks.WAYS:
            with disks.limited(way, 0, self.places) as places:
                self.assertEqual(self.places, places)

    def test_a_device_that_cannot_be_limited_is_an_error_that_says_what_to_do(self):
        with mock.patch.object(disks, "CGROUPS", os.path.join(self.places.scratch, "none")):
            with self.assertRaisesRegex(SystemExit, "cannot be limited.*--limit-by fuse"):
                with disks.limited("io.max", 1 << 20, self.places):
                    self.fail("it is not limited")

    def test_a_file_system_that_cannot_be_mounted_is_an_error_with_its_last_words(self):
        program = os.path.join(self.places.scratch, "program")
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho fuse: device not found >&2\nexit 1\n")
        os.chmod(program, 0o755)
        for which, words in ((program, "device not found"), (None, "no file system"), ("/nonexistent", "No such file")):
            with self.assertRaisesRegex(SystemExit, words):
                with disks.limited("fuse", 1 << 20, self.places, which):
                    self.fail("it is not limited")
        self.assertEqual(["program"], os.listdir(self.places.scratch))

    def test_each_place_has_a_folder_of_its_own_and_it_goes_in_the_end(self):
        program = os.path.join(self.places.scratch, "program")
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\ncat \"$2\" >\"$4/rules\"\n")
        os.chmod(program, 0o755)
        with mock.patch.object(disks.os.path, "ismount", return_value=True), mock.patch.object(disks, "unmounted", return_value=True):
            with disks.limited("fuse", 150 << 20, self.places, program) as places:
                self.assertNotEqual(places.scratch, places.shared)
                for folder in places:
                    with open(os.path.join(folder, "rules"), encoding="ascii") as file:
                        self.assertEqual("read pace 150\nwrite pace 150\n", file.read())
        self.assertEqual(["program"], os.listdir(self.places.scratch))

    def test_a_disk_behind_fuse_is_as_slow_as_it_is_told_and_goes_in_the_end(self):
        program = os.path.join(self.places.scratch, "faultfs")
        made = subprocess.run(["bash", "-c", PROVIDE, ROOT, program], check=False, stdout=subprocess.PIPE, text=True)
        if made.returncode:
            self.skipTest(made.stdout.strip())
        try:
            with disks.limited("fuse", 8 << 20, self.places, program) as places:
                started = time.monotonic()
                with open(os.path.join(places.scratch, "file"), "wb") as file:
                    file.write(bytes(4 << 20))
                    os.fsync(file.fileno())
                self.assertGreaterEqual(time.monotonic() - started, 0.45)
        except SystemExit as error:
            if "ermission denied" in str(error) or "not permitted" in str(error):
                self.skipTest("this system does not let us mount FUSE")
            raise
        self.assertEqual(["faultfs"], os.listdir(self.places.scratch))


if __name__ == "__main__":
    unittest.main()
