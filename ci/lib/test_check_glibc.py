"""Tests of check_glibc.py, on libraries that are linked here to stubs of a C library with versions of our choice."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
import zipfile
from unittest import mock

import check_glibc


def link(folder, name, version):
    """A library that needs one symbol of GLIBC_version."""
    def write(file, text):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as stream:
            stream.write(text)

    write("c.c", "void symbol(void) {}\n")
    write("c.map", f"GLIBC_{version} {{ symbol; }};\n")
    write("user.c", "void symbol(void);\nvoid use(void) { symbol(); }\n")
    flags = ["gcc", "-shared", "-fPIC", "-nostdlib"]
    subprocess.run([*flags, "-Wl,--version-script=c.map,-soname,libc.so.6", "c.c", "-o", "libstub.so"], check=True, cwd=folder)
    subprocess.run([*flags, "user.c", "libstub.so", "-o", name], check=True, cwd=folder)
    for file in ("c.c", "c.map", "user.c", "libstub.so"):
        os.remove(os.path.join(folder, file))


class CheckGlibc(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = work.name

    def check(self, *paths, stdin=""):
        with contextlib.redirect_stderr(io.StringIO()) as said, mock.patch("sys.stdin", io.StringIO(stdin)):
            status = check_glibc.main("2.28", list(paths))
        return status, said.getvalue()

    def test_what_is_old_enough_passes(self):
        link(self.folder, "liba.so", "2.28")
        self.assertEqual((0, ""), self.check(self.folder))

    def test_what_is_too_new_is_named_with_its_version(self):
        link(self.folder, "liba.so", "2.4")
        link(self.folder, "libb.so", "2.34")
        status, said = self.check(self.folder)
        self.assertEqual(1, status)
        self.assertIn("libb.so needs glibc 2.34", said)
        self.assertNotIn("liba.so", said)

    def test_versions_are_numbers(self):
        link(self.folder, "liba.so", "2.4")
        self.assertEqual((0, ""), self.check(self.folder))

    def test_a_library_inside_a_jar_is_seen(self):
        link(self.folder, "liba.so", "2.34")
        with zipfile.ZipFile(os.path.join(self.folder, "some.jar"), "w") as jar:
            jar.write(os.path.join(self.folder, "liba.so"), "native/libinside.so")
        os.remove(os.path.join(self.folder, "liba.so"))
        status, said = self.check(self.folder)
        self.assertEqual(1, status)
        self.assertIn("some.jar!/native/libinside.so needs glibc 2.34", said)

    def test_libraries_for_other_machines_are_not_ours(self):
        link(self.folder, "liba.so", "2.34")
        link(self.folder, "libb.so", "2.28")
        with open(os.path.join(self.folder, "liba.so"), "r+b") as library:
            library.seek(18)
            library.write((243).to_bytes(2, "little"))  # RISC-V
        self.assertEqual((0, ""), self.check(self.folder))

    def test_a_folder_without_native_code_is_an_error(self):
        status, said = self.check(self.folder)
        self.assertEqual(1, status)
        self.assertIn("no ELF file", said)

    def test_requirements_of_packages(self):
        self.assertEqual((0, ""), self.check("-", stdin="bash\nlibc.so.6(GLIBC_2.27)(64bit)\n"))
        status, said = self.check("-", stdin="libc.so.6(GLIBC_2.2.5)(64bit)\nlibc.so.6(GLIBC_2.34)(64bit)\n")
        self.assertEqual(1, status)
        self.assertIn("need glibc 2.34", said)
        self.assertEqual(1, self.check("-", stdin="bash\n")[0])


if __name__ == "__main__":
    unittest.main()
