"""Every id of the register is raised by product code and expected by some test.

A test expects an id when it holds it as a word of a string ("keep-unmatched:subject") or as
the enumerator OC_FINDING_KEEP_UNMATCHED. That is a promise of the tests' text, not a
trace of a run: an id in a test is there because something compares it with what came out.
Ids that only the product mentions, or only the register, fail here.
"""
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ["OMCC_SOURCE_DIR"])
REGISTER = ROOT / "schema" / "findings.yaml"


def words(folders, endings):
    found = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in endings and path != pathlib.Path(__file__).resolve():
                text = path.read_text(errors="replace")
                found |= set(re.findall(r"[\"'`\s]([a-z0-9]+(?:-[a-z0-9]+)+)(?=[\"'`:\s])", text))
                found |= {m.lower().replace("_", "-") for m in re.findall(r"OC_FINDING_([A-Z0-9_]+)", text)}
    return found


class Findings(unittest.TestCase):
    def setUp(self):
        self.ids = re.findall(r"^- id: ([a-z0-9-]+)$", REGISTER.read_text(), re.M)
        self.assertGreater(len(self.ids), 50)

    def test_ids_are_unique(self):
        self.assertEqual(sorted(self.ids), sorted(set(self.ids)))

    def test_each_is_raised(self):
        raised = words(["proto", "client", "daemon"], {".c", ".h"})
        self.assertEqual([i for i in self.ids if i not in raised], [])

    def test_each_is_tested(self):
        tested = words(["tests"], {".c", ".py", ".mjs", ".txt"})
        self.assertEqual([i for i in self.ids if i not in tested], [])

    def test_texts_follow_the_house(self):
        for text in re.findall(r"^  (?:text|fix): \"(.*)\"$", REGISTER.read_text(), re.M):
            self.assertFalse(text.endswith("."), text)
            self.assertFalse(re.match(r"[A-Z][a-z]", text), text)


if __name__ == "__main__":
    unittest.main(verbosity=1)
