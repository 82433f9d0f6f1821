"""Tests of java_options.py."""

import pathlib
import unittest

import java_options

COMMITTED = pathlib.Path(__file__).parents[2] / "java/engine/src/main/java/io/howdah/engine/EngineOption.java"

OPTION = {"key": "hadoop.rdma.chunk.size", "env": "HOWDAH_CHUNK_SIZE", "type": "size", "default": "512k",
          "range": "4k .. 64m", "help": "Piece in which data moves."}


class JavaOptionsTest(unittest.TestCase):
    """One option becomes one constant."""

    def test_constant(self):
        self.assertEqual(java_options.constant(OPTION), [
            "  /** Piece in which data moves. */",
            '  CHUNK_SIZE("hadoop.rdma.chunk.size", "size", "512k", "4k .. 64m")'])

    def test_long_help_is_wrapped_and_escaped(self):
        lines = java_options.constant(dict(OPTION, help="if a < b & c " * 30))
        self.assertEqual(lines[0], "  /**")
        self.assertEqual(lines[-2], "   */")
        self.assertTrue(all(len(line) <= 120 for line in lines))
        self.assertIn("a &lt; b &amp; c", lines[1])
        self.assertEqual(" ".join(line[5:] for line in lines[1:-2]), ("if a &lt; b &amp; c " * 30).strip())

    def test_quotes_stay_within_the_literal(self):
        self.assertIn('"a\\"b"', java_options.constant(dict(OPTION, default='a"b'))[1])

    def test_a_variable_that_java_would_name_otherwise_is_refused(self):
        with self.assertRaises(SystemExit):
            java_options.constant(dict(OPTION, env="HOWDAH_CHUNKS"))

    def test_the_committed_file_is_of_this_program(self):
        """Its options are compared by EngineOptionTest, with the library's; what is around them here."""
        text = COMMITTED.read_text(encoding="utf-8")
        self.assertTrue(text.startswith(java_options.HEAD))
        self.assertTrue(text.endswith(";\n" + java_options.TAIL))


if __name__ == "__main__":
    unittest.main()
