"""The flag table against the vendor's flags: every one is there, with its type, its default and
what it does to a key. A flag that is neutral must say why."""
import importlib.util
import os
import pathlib
import unittest

ROOT = pathlib.Path(os.environ["OMCC_SOURCE_DIR"])
KEYS = {"value": "value", "content": "content", "name": "name", "none": "neutral", "reject": "reject"}
PATHS = {"": [""], "file": ["file", "list"], "file+siblings": ["file"], "file+named": ["file"], "dir": ["dir"],
         "out-file": ["out"], "out-dir": ["out"], "out-prefix": ["out"]}


def table():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return {row["name"]: row for row in generate.flags("atc")}


class Table(unittest.TestCase):
    def test_every_flag_of_the_vendor(self):
        ours = table()
        text = (pathlib.Path(__file__).parent / "vendor_flags.tsv").read_text()
        vendor = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(vendor), 90)
        self.assertEqual(set(ours), {row[0] for row in vendor})
        for name, kind, default, key, path in vendor:
            with self.subTest(name):
                row = ours[name]
                self.assertEqual(row["type"], kind)
                if default != "*":
                    self.assertEqual(row.get("normal", ""), default)
                self.assertEqual(row["key"], KEYS[key])
                self.assertIn(row.get("path", ""), PATHS[path])
                self.assertIn(row["builtin"], ("effect", "none", "refuse"))
                self.assertEqual(bool(row.get("because")), row["key"] == "neutral")


if __name__ == "__main__":
    unittest.main()
