"""abi: the committed interface is that of the headers, and a change of it is refused."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import unittest

import abi

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "native" / "include"
SYMBOLS = abi.exported(ROOT / "native" / "src" / "api" / "howdah.map")


@unittest.skipUnless(shutil.which(os.environ.get("ABI_CC", "gcc")) and shutil.which("readelf"), "gcc or readelf is missing")
class AbiTest(unittest.TestCase):
    COMMITTED = ROOT / "native" / "abi.txt"

    def check(self, header=None, before=None, after=None, symbols=SYMBOLS):
        """Exit status and words of the check, with `before` replaced in a copy of a header."""
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(shutil.copytree(HEADERS, os.path.join(folder, "include")))
            if header:
                path = copy / "howdah" / header
                text = path.read_text(encoding="utf-8")
                self.assertEqual(1, text.count(before), before)
                path.write_text(text.replace(before, after), encoding="utf-8")
            words = io.StringIO()
            with contextlib.redirect_stderr(words):
                status = abi.check(abi.dump(str(copy), symbols), str(self.COMMITTED))
            return status, words.getvalue()

    def refused(self, *change, line, breaks=True):
        status, words = self.check(*change)
        self.assertEqual(1, status)
        self.assertIn(line, words.splitlines())
        self.assertIn("programs that were built before may not work" if breaks else "there is more than before", words)
        self.assertIn("ci/native --abi", words)

    def test_the_committed_one_is_that_of_the_headers(self):
        self.assertEqual((0, ""), self.check())

    def test_a_member_of_another_type_is_refused(self):
        self.refused("queue.h", "    int32_t status;", "    int64_t status;", line="+struct hd_event: 40 bytes")

    def test_members_that_change_places_are_refused(self):
        self.refused("queue.h", "    uint32_t type;\n    int32_t status;", "    int32_t status;\n    uint32_t type;",
                     line="+       0 int32_t status")

    def test_a_member_of_another_name_is_refused(self):
        self.refused("queue.h", "    int32_t status;", "    int32_t result;", line="-       4 int32_t status")

    def test_an_enumerator_with_another_value_is_refused(self):
        self.refused("engine.h", "HD_LOG_ERROR, HD_LOG_WARN,", "HD_LOG_ERROR, HD_LOG_NOTE, HD_LOG_WARN,",
                     line="+       2 HD_LOG_WARN")

    def test_a_parameter_of_another_type_is_refused(self):
        self.refused("engine.h", "uint64_t kind, size_t bytes);", "uint32_t kind, size_t bytes);",
                     line="+hd_size_record: void (hd_engine *, uint32_t, size_t)")

    def test_a_limit_of_another_value_is_refused(self):
        self.refused("link.h", "#define HD_UNREAD_MAX 8", "#define HD_UNREAD_MAX 16", line="+#define HD_UNREAD_MAX 16")

    def test_an_enumerator_more_is_told_as_one_more(self):
        self.refused("engine.h", "HD_LOG_DEBUG };", "HD_LOG_DEBUG, HD_LOG_TRACE };", line="+       4 HD_LOG_TRACE",
                     breaks=False)

    def test_a_function_that_goes_is_refused(self):
        status, words = self.check(symbols=[name for name in SYMBOLS if name != "hd_send"])
        self.assertEqual(1, status)
        self.assertIn("-hd_send: int (hd_stream *, const void *, size_t, int64_t)", words)


class FormsTest(unittest.TestCase):
    """What different versions of readelf write in front of a value."""

    def test_values(self):
        for line, value in ((" <62>   DW_AT_name        : (strp) (offset: 0x700): length", "length"),
                            (" <62>   DW_AT_name        : (indirect string, offset: 0x700): length", "length"),
                            (" <62>   DW_AT_name        : (string) length", "length"),
                            (" <62>   DW_AT_name        : length", "length"),
                            (" <62>   DW_AT_type        : (ref4) <0x29>, long int", "<0x29>, long int"),
                            (" <62>   DW_AT_type        : <0x29>", "<0x29>"),
                            (" <62>   DW_AT_byte_size   : (data1) 8", "8")):
            self.assertEqual(value, abi.ATTRIBUTE.match(line)[2], line)
