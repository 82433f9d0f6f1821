"""Tests of overlay_jar.py on jars made by javac."""

import os
import subprocess
import tempfile
import unittest
import zipfile

import classfile
import overlay_jar


def compile_java(folder, **sources):
    """Compiles NAME=text into folder/classes, keeping the sources in folder/sources/p/."""
    os.makedirs(os.path.join(folder, "sources/p"))
    os.makedirs(os.path.join(folder, "classes"))
    paths = []
    for name, text in sources.items():
        paths.append(os.path.join(folder, "sources/p", name + ".java"))
        with open(paths[-1], "w") as file:
            file.write("package p; " + text)
    subprocess.run(["javac", "-d", os.path.join(folder, "classes"), *paths], check=True)


class OverlayTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.at = lambda *parts: os.path.join(holder.name, *parts)
        compile_java(
            self.at("old"),
            A="class A { Object a = new Object() { }; Object b = new Object() { }; class Inner { } }",
            B="class B { long l = 5L; double d = 7.5; }",
        )
        with zipfile.ZipFile(self.at("official.jar"), "w") as jar:
            jar.writestr("some.resource", "as it was")
            for name in overlay_jar.files_below(self.at("old/classes")):
                jar.write(self.at("old/classes", name), name)
        os.makedirs(self.at("module_2.11"))
        with open(self.at("module_2.11/0001-x.patch"), "w") as file:
            file.write("x")

    def overlay(self, new, output="result.jar"):
        overlay_jar.overlay(
            self.at("official.jar"),
            self.at(new, "sources"),
            self.at(new, "classes"),
            self.at("module_2.11"),
            "-howdah1",
            self.at(output),
        )
        return zipfile.ZipFile(self.at(output))

    def test_replaces_all_of_a_touched_file_and_nothing_else(self):
        compile_java(self.at("new"), A="class A { Object a = new Object() { }; }")
        with self.overlay("new") as jar, zipfile.ZipFile(self.at("official.jar")) as old:
            names = [name for name in jar.namelist() if name.endswith(".class")]
            self.assertEqual(["p/A$1.class", "p/A.class", "p/B.class"], sorted(names))
            self.assertEqual(old.read("p/B.class"), jar.read("p/B.class"))
            self.assertNotEqual(old.read("p/A.class"), jar.read("p/A.class"))
            self.assertEqual(b"as it was", jar.read("some.resource"))

    def test_says_what_it_is(self):
        compile_java(self.at("new"), A="class A { }")
        with self.overlay("new") as jar:
            text = jar.read("META-INF/howdah/module.properties").decode()
        self.assertIn("howdah.suffix=-howdah1\n", text)
        self.assertIn("howdah.patches=0001-x.patch\n", text)

    def test_same_input_gives_same_bytes(self):
        compile_java(self.at("new"), A="class A { }")
        self.overlay("new", "one.jar").close()
        self.overlay("new", "two.jar").close()
        with open(self.at("one.jar"), "rb") as one, open(self.at("two.jar"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_refuses_classes_of_untouched_sources(self):
        compile_java(self.at("new"), A="class A { }", C="class C { }")
        os.remove(self.at("new/sources/p/C.java"))
        with self.assertRaisesRegex(overlay_jar.OverlayError, "C.class does not come from a touched"):
            self.overlay("new")

    def test_refuses_a_source_that_gave_no_class(self):
        compile_java(self.at("new"), A="class A { }")
        open(self.at("new/sources/p/D.java"), "w").close()
        with self.assertRaisesRegex(overlay_jar.OverlayError, "no class came out of p/D.java"):
            self.overlay("new")

    def test_check_sees_a_changed_entry(self):
        with zipfile.ZipFile(self.at("official.jar")) as old, zipfile.ZipFile(self.at("bad.jar"), "w") as bad:
            for name in old.namelist():
                bad.writestr(name, old.read(name) if name != "some.resource" else "not as it was")
        with self.assertRaisesRegex(overlay_jar.OverlayError, "must not: some.resource$"):
            overlay_jar.check_jar(self.at("bad.jar"), self.at("official.jar"), set(), {})

    def test_whole_module_misses_a_class(self):
        compile_java(self.at("new"), A="class A { }", B="class B { }")
        missing, new = overlay_jar.compare_whole(
            self.at("official.jar"), self.at("new/sources"), self.at("new/classes")
        )
        self.assertEqual(["p/A$1.class", "p/A$2.class", "p/A$Inner.class"], missing)
        self.assertEqual([], new)


class ClassFileTest(unittest.TestCase):
    def test_refuses_what_is_no_class_file(self):
        with self.assertRaises(ValueError):
            classfile.source_file(b"PK\3\4 not a class")


if __name__ == "__main__":
    unittest.main()
