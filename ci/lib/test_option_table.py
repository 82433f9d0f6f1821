"""Tests of option_table.py, and that docs/guide/options.md is what it makes of the sources."""

import re
import unittest

import option_table


class OptionTableTest(unittest.TestCase):
    """Java's and C's tables are read as the compilers read them."""

    def test_the_page_is_what_the_tables_say(self):
        self.assertEqual(option_table.PAGE.read_text(encoding="utf-8"), option_table.page(),
                         "docs/guide/options.md is not what the option tables say; run: make option-table")

    def test_no_option_is_missed(self):
        declared = len(re.findall(r"public static final Option<", option_table.read(option_table.UPGRADE + "/Options.java")))
        keys = [option[0] for option in option_table.options()]
        self.assertEqual(len(keys), declared + 3 * len(option_table.components()) + 1)
        self.assertEqual(len(set(keys)), len(keys))

    def test_no_option_of_the_engine_is_missed(self):
        table = option_table.read("native/src/config/options.def")
        declared = re.findall(r'^HD_(?:OPTION|CHOICE|TEXT)\("([^"]+)"', table, re.M)
        self.assertEqual([option[0] for option in option_table.engine_options()], ["hadoop.rdma." + name for name in declared])

    def test_no_row_of_the_tuning_table_and_no_counter_is_missed(self):
        self.assertEqual(len(list(option_table.tuning())), option_table.read("native/src/config/tuning.def").count("\nHD_TUNE("))
        names, suffixes, transports, peers = option_table.counters()
        table = option_table.read("native/src/stats/counters.def")
        self.assertEqual(len(names) + len(suffixes), len(re.findall(r'^ *HD_COUNTER\(.*"', table, re.M)))
        self.assertEqual(len(transports), table.count("\nHD_BY_TRANSPORT("))
        self.assertEqual(len(peers), table.count("\nHD_PEER_COUNTER("))

    def test_arguments(self):
        arguments, rest = option_table.split_arguments('"a, (b)", f(1, 2), 3 << 1).alias("c");')
        self.assertEqual(arguments, ['"a, (b)"', "f(1, 2)", "3 << 1"])
        self.assertEqual(rest, '.alias("c");')

    def test_numbers(self):
        self.assertEqual(option_table.number("512 << 10"), 524288)
        self.assertEqual(option_table.number("600_000"), 600000)
        self.assertEqual(option_table.number("1L << 60"), 1 << 60)
        self.assertEqual(option_table.number("Integer.MAX_VALUE"), 2**31 - 1)
        with self.assertRaises(SystemExit):
            option_table.number("Limits.MOST")

    def test_texts_of_several_literals(self):
        self.assertEqual(option_table.string('"one "\n      + "two \\"three\\""'), 'one two "three"')

    def test_sizes_and_times_are_as_a_user_writes_them(self):
        self.assertEqual([option_table.size(v) for v in (0, 1000, 524288, 1 << 40)], ["0", "1000", "512k", "1t"])
        self.assertEqual([option_table.millis(v) for v in (0, 10, 1000, 60000, 3600000)], ["0", "10ms", "1s", "1min", "1h"])

    def test_a_new_kind_of_option_is_refused_by_name(self):
        with self.assertRaisesRegex(SystemExit, "Option.colour"):
            option_table.declared("colour", ['"a"'])


if __name__ == "__main__":
    unittest.main()
