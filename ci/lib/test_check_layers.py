"""check_layers: what it finds in small trees."""

import os
import tempfile
import unittest

import check_layers

ROWS = "high  top\nlow   bottom part/\n"


class CheckLayersTest(unittest.TestCase):
    def check(self, rows=ROWS, **files):
        """The messages for a tree; a file's name has __ for its slash and _h or _c for its ending."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"top_c": "", "bottom_c": "", "part__one_c": "", **files}.items():
                path = os.path.join(folder, name.replace("__", "/")[:-2] + "." + name[-1])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text)
            return check_layers.check(rows, folder)

    TOP = "int hd_top(int a)\n{\n    return hd_bottom(a);\n}\n"
    BOTTOM = "int hd_bottom(int a)\n{\n    return a;\n}\n"

    def test_calls_down_and_within_a_row_are_right(self):
        self.assertEqual([], self.check(top_c=self.TOP, bottom_c=self.BOTTOM, part__one_c="void hd_one(void)\n{\n    hd_bottom(1);\n}\n"))

    def test_a_call_up_is_named(self):
        self.assertEqual(["part/ uses top, which is above it: hd_top"],
                         self.check(top_c=self.TOP, part__one_c="static int one(void)\n{\n    return hd_top(1);\n}\n"))

    def test_so_are_a_pointer_and_an_include(self):
        self.assertEqual(["bottom uses top, which is above it: hd_top, its header"],
                         self.check(top_c=self.TOP, top_h="int hd_top(int a);\n",
                                    bottom_c='#include "top.h"\nstatic int (*up)(int) = hd_top;\n'))

    def test_comments_texts_and_static_functions_are_no_uses(self):
        self.assertEqual([], self.check(top_c="static int hd_hidden(void)\n{\n    return 1;\n}\n" + self.TOP,
                                        bottom_c='/* hd_top */ // hd_top\nconst char *a = "hd_top";\nint hd_hidden(void);\n'))

    def test_what_is_known_passes_until_it_is_gone(self):
        rows = ROWS + "known:\nbottom -> top\n"
        self.assertEqual([], self.check(rows, top_c=self.TOP, bottom_c="static int b(void)\n{\n    return hd_top(1);\n}\n"))
        self.assertEqual(["known: bottom -> top is no more; take it off the list"], self.check(rows, top_c=self.TOP))

    def test_a_file_without_a_row_and_a_row_without_its_file(self):
        self.assertEqual(["other is in no row", "gone is in a row, and not there"],
                         self.check(ROWS + "last  gone\n", other_c=""))


if __name__ == "__main__":
    unittest.main()
