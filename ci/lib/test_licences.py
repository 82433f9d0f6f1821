"""licences: the table and the papers of a small tree."""

import os
import tempfile
import unittest
import zipfile

import licences


class Licences(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        for path, names in (("a-1.0.jar", ["META-INF/LICENSE", "META-INF/LICENSE.class"]), ("hadoop-x-2.8.1.jar", [])):
            with zipfile.ZipFile(os.path.join(self.tree, path), "w") as archive:
                for name in names:
                    archive.writestr(name, "do as you like")

    def read(self, *path):
        with open(os.path.join(self.tree, "share", "licenses", *path), encoding="utf-8") as stream:
            return stream.read()

    def test_writes_the_table_and_the_papers(self):
        self.assertEqual([], licences.collect(self.tree, {"a": "MIT"}))
        self.assertEqual([["a", "1.0", "MIT", "a-1.0.jar"], ["hadoop-x", "2.8.1", "Apache-2.0", "hadoop-x-2.8.1.jar"]],
                         [line.split() for line in self.read("THIRD-PARTY").splitlines()])
        self.assertEqual("do as you like", self.read("a", "LICENSE"))
        self.assertEqual(["LICENSE"], os.listdir(os.path.join(self.tree, "share", "licenses", "a")))

    def test_names_what_the_list_lacks(self):
        self.assertEqual(["a"], licences.collect(self.tree, {}))

    def test_refuses_a_line_that_is_no_entry(self):
        bad = os.path.join(self.tree, "list")
        with open(bad, "w", encoding="utf-8") as stream:
            stream.write("# a list\nnothing\n")
        with self.assertRaisesRegex(SystemExit, ":2: not ARTIFACT"):
            licences.read_list(bad)


if __name__ == "__main__":
    unittest.main()
