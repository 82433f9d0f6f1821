"""check_links: what it finds between small jars that javac makes for it."""

import os
import shutil
import subprocess
import tempfile
import unittest

import check_links


@unittest.skipUnless(shutil.which("javac"), "needs javac")
class CheckLinks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.tree = os.path.join(folder.name, "tree")
        self.exceptions = os.path.join(folder.name, "exceptions")
        os.makedirs(self.tree)
        self.allow("")

    def jar(self, name, classpath="", **sources):
        """Compiles sources (class name -> text) into a jar; into the tree unless the name begins with old."""
        work = tempfile.mkdtemp(dir=self.folder)
        for cls, text in sources.items():
            with open(os.path.join(work, cls + ".java"), "w", encoding="utf-8") as stream:
                stream.write(text)
        files = [os.path.join(work, cls + ".java") for cls in sources]
        subprocess.run(["javac", "-nowarn", "-cp", classpath or work, "-d", work, *files], check=True, capture_output=True)
        path = os.path.join(self.folder if name.startswith("old") else self.tree, name)
        subprocess.run(["jar", "cf", path, "-C", work, "."], check=True)
        return path

    def allow(self, text):
        with open(self.exceptions, "w", encoding="utf-8") as stream:
            stream.write(text)

    def problems(self):
        return check_links.problems(self.tree, self.exceptions)

    def replace(self, new, old="class Lib extends Base { static int f; void m() {} }"):
        """A caller compiled against the old library beside the new library."""
        base = "class Base { void inherited() {} }"
        before = self.jar("old-1.0.jar", Lib=old, Base=base)
        use = "class Use { void u(Lib l) { l.m(); l.inherited(); l.hashCode(); Lib.f = 1; new java.util.ArrayList<Lib>().size(); } }"
        self.jar("use-1.0.jar", before, Use=use)
        self.jar("lib-2.0.jar", Lib=new, Base=base)

    def test_is_content_when_all_is_there(self):
        self.replace("class Lib extends Base { static int f; void m() {} void more() {} }")
        self.assertEqual([], self.problems())

    def test_finds_a_method_that_went(self):
        self.replace("class Lib extends Base { static int f; }")
        self.assertEqual(["use lib: Use uses Lib.m()V, which is not there"], self.problems())

    def test_finds_a_changed_type(self):
        self.replace("class Lib extends Base { static int f; int m() { return 1; } }")
        self.assertEqual(["use lib: Use uses Lib.m()V, which is not there"], self.problems())

    def test_finds_a_field_and_an_ancestor_that_went(self):
        self.replace("class Lib { void m() {} }")
        self.assertEqual(
            ["use lib: Use uses Lib.fI, which is not there", "use lib: Use uses Lib.inherited()V, which is not there"],
            self.problems(),
        )

    def test_heeds_an_exception_and_refuses_a_stale_one(self):
        self.replace("class Lib extends Base { static int f; }")
        self.allow("use lib: never called\nuse other: once\n")
        self.assertEqual([f"{self.exceptions}: nothing needs 'use other' any more"], self.problems())


if __name__ == "__main__":
    unittest.main()
