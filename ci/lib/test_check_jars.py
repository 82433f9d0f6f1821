"""check_jars: what it finds in small trees made for it."""

import os
import tempfile
import unittest
import zipfile

import check_jars


class CheckJars(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = os.path.join(folder.name, "tree")
        self.exceptions = os.path.join(folder.name, "exceptions")
        os.makedirs(self.tree)
        self.allow("")

    def jar(self, path, **classes):
        path = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in classes.items():
                archive.writestr(f"org/x/{name}.class", content)
        return path

    def allow(self, text):
        with open(self.exceptions, "w", encoding="utf-8") as stream:
            stream.write(text)

    def problems(self):
        return check_jars.problems(self.tree, self.exceptions)

    def test_is_content_with_different_jars(self):
        self.jar("a/one-1.0.jar", A="1")
        self.jar("b/two-1.0.jar", B="1")
        self.assertEqual([], self.problems())

    def test_does_not_take_a_link_for_a_second_jar(self):
        os.makedirs(os.path.join(self.tree, "b"))
        os.symlink(self.jar("a/one-1.0.jar", A="1"), os.path.join(self.tree, "b", "one-1.0.jar"))
        self.assertEqual([], self.problems())

    def test_finds_a_jar_that_is_there_twice(self):
        self.jar("a/one-1.0.jar", A="1")
        self.jar("b/one-1.0.jar", A="1")
        self.assertEqual(["one jar stands in the tree twice: a/one-1.0.jar b/one-1.0.jar"], self.problems())

    def test_finds_an_artifact_in_two_versions(self):
        self.jar("one-1.0.jar", A="1")
        self.jar("one-1.1-howdah1.jar", B="1")
        self.assertEqual(["one is there in several versions: one-1.0.jar one-1.1-howdah1.jar"], self.problems())

    def test_tells_a_tests_jar_from_the_jar(self):
        self.jar("one-1.0-howdah1.jar", A="1")
        self.jar("one-1.0-tests.jar", B="1")
        self.assertEqual([], self.problems())

    def test_finds_classes_that_differ(self):
        self.jar("one-1.0.jar", A="1", B="1", C="1")
        self.jar("two-1.0.jar", A="2", B="1", C="2")
        self.assertEqual(["one-1.0.jar and two-1.0.jar differ in 2 classes, such as org/x/A.class"], self.problems())

    def test_lets_the_same_class_pass(self):
        self.jar("one-1.0.jar", A="1")
        self.jar("two-1.0.jar", A="1", B="2")
        self.assertEqual([], self.problems())

    def test_heeds_exceptions(self):
        self.jar("one-1.0.jar", A="1")
        self.jar("one-2.0.jar", A="2")
        self.allow("# known\nversions one: two APIs  # really\nclasses one one: never on one class path\n")
        self.assertEqual([], self.problems())

    def test_refuses_a_stale_exception(self):
        self.jar("one-1.0.jar", A="1")
        self.allow("classes one two: once upon a time\n")
        self.assertEqual([f"{self.exceptions}: nothing needs 'classes one two' any more"], self.problems())

    def test_refuses_an_exception_without_a_reason(self):
        self.jar("one-1.0.jar", A="1")
        self.allow("\nversions one:\n")
        with self.assertRaisesRegex(SystemExit, ":2: an exception needs a reason"):
            self.problems()

    def test_refuses_a_tree_without_jars(self):
        self.assertEqual([f"{self.tree} holds no jar"], self.problems())


if __name__ == "__main__":
    unittest.main()
