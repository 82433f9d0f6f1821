"""Tests that the documents are true: their links, the index, log lines, names of HiBD."""

import re
import unittest

import guide
import option_table

LEAST_ENTRIES = 40
ACCEPTED = option_table.UPGRADE + "/Options.java"


class LinksTest(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        self.assertEqual([bad for page in guide.pages() for bad in guide.bad_links(page)], [])

    def test_the_index_has_every_page_of_the_guide(self):
        index = set(re.findall(r"\]\(([a-z-]+\.md)", guide.text_of(guide.GUIDE / "README.md")))
        self.assertEqual(index, {page.name for page in guide.GUIDE.glob("*.md")} - {"README.md"})

    def test_anchors_are_as_viewers_make_them(self):
        self.assertEqual(guide.anchors_of("# A JDK 8\n\n## `x`: [the](y.md) *end*\n"), {"a-jdk-8", "x-the-end"})


class TroubleshootingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = list(guide.entries(guide.text_of(guide.GUIDE / "troubleshooting.md")))

    def test_each_line_is_one_that_the_programs_say(self):
        sources = list(guide.sources())
        missing = []
        for symptom, lines, _ in self.entries:
            for line in lines:
                pattern = guide.pattern_of(line)
                if not any(pattern.search(text) for _, text in sources):
                    missing.append(f"{symptom}: no source says: {line}")
        self.assertEqual(missing, [], "mend the page, docs/guide/troubleshooting.md, to say what the sources say")

    def test_each_entry_has_a_line_with_enough_fixed_words_and_a_way_out(self):
        self.assertGreaterEqual(len(self.entries), LEAST_ENTRIES)
        for symptom, lines, body in self.entries:
            self.assertTrue(lines, symptom)
            for line in lines:
                self.assertGreaterEqual(sum(map(len, guide.fixed_parts(line))), 12, symptom)
            self.assertRegex(body, r"Cause: |Remedy: ", symptom)

    def test_symptoms_differ(self):
        symptoms = [symptom for symptom, _, _ in self.entries]
        self.assertEqual(len(symptoms), len(set(symptoms)))

    def test_a_line_is_found_in_java_and_c_and_not_in_another_order(self):
        java = guide.said('log.warn("There is no option {} (from {}); "\n    + "the nearest is {}", key);')
        c = guide.said('hd_error(err, "port %u of " HD_KEY_PREFIX "x is \\"bad\\"; check "\n "it");')
        self.assertTrue(guide.pattern_of("There is no option <name> (from <file>); the nearest is <name>").search(java))
        self.assertTrue(guide.pattern_of('port <n> of hadoop.rdma.x is "bad"; check it').search(c))
        self.assertFalse(guide.pattern_of("the nearest is <name> There is no option").search(java))


class VariablesTest(unittest.TestCase):
    def test_variables_and_properties_are_read_by_something(self):
        text = guide.text_of(guide.GUIDE / "commands.md")
        names = re.findall(r"^\| `(?:-D)?(HOWDAH_\w+|io\.howdah\.[\w.]+)` \|", text, re.M)
        self.assertGreaterEqual(len(names), 8)
        sources = "".join(text for _, text in guide.sources())
        self.assertEqual([name for name in names if name not in sources], [])


class MemoryTest(unittest.TestCase):
    def test_the_limits_by_role_are_those_of_the_code(self):
        rows = re.findall(r"^\| (\w+).*? \| `(\d+[mg])` \|", guide.text_of(guide.GUIDE / "memory.md"), re.M)
        code = re.findall(r'^  (COMMAND|TASK|DAEMON)\("(\w+)"\)', option_table.read(option_table.UPGRADE + "/Role.java"), re.M)
        self.assertEqual({role.upper(): limit for role, limit in rows}, dict(code))


class HibdTest(unittest.TestCase):
    """The table of names of moving.md, and the code's."""

    @classmethod
    def setUpClass(cls):
        text = guide.text_of(guide.GUIDE / "moving.md")
        section = text[text.index("## From HiBD"):]
        section = section[:section.index("\n## ", 4)]
        cls.rows = {}
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if line.startswith("| `") and len(cells) == 3:
                for name in re.findall(r"`([^`]+)`", cells[0]):
                    cls.rows[name] = cells[1]
        source = option_table.read(ACCEPTED)
        cls.accepted = set(re.findall(r'ACCEPTED\.put\("([^"]+)"', source))
        cls.honoured = set()
        for key, others, *_ in option_table.options():
            cls.honoured |= {key, *others}
        for key, *_ in option_table.engine_options():
            cls.honoured |= {key, key.replace("hadoop.rdma.", "spark.shuffle.rdma.")}

    def test_names_that_are_honoured_are_options(self):
        honoured = {name for name, state in self.rows.items() if state == "honoured"}
        self.assertEqual(honoured - self.honoured, set())

    def test_names_without_effect_are_those_of_the_code(self):
        without = {name for name, state in self.rows.items() if state == "no effect, said once"}
        self.assertEqual(without, self.accepted)

    def test_names_that_nobody_reads_are_no_options(self):
        unread = {name for name, state in self.rows.items() if state == "not read"}
        self.assertEqual(unread & (self.honoured | self.accepted), set())
        self.assertTrue(unread)

    def test_every_state_is_one_of_these(self):
        self.assertEqual(set(self.rows.values()), {"honoured", "no effect, said once", "not read", "stock's"})


if __name__ == "__main__":
    unittest.main()
