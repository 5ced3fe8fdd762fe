#!/usr/bin/env python3
"""The register of findings against the sources, the tests and the page.

  check_findings.py SOURCE_DIR FINDINGS_GEN

Every id must be raised by the program and expected by name in some test; docs/findings.md must
be what the register gives, in both languages; the generator must refuse what is wrong in a register.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

WRONG = [
    ("an id twice", "- {id: a, severity: note, text: t, example: e}\n" * 2),
    ("no severity", "- {id: a, text: t, example: e}\n"),
    ("a severity nobody knows", "- {id: a, severity: fatal, text: t, example: e}\n"),
    ("a full stop", "- {id: a, severity: note, text: 'ends so.', example: e}\n"),
    ("no text", "- {id: a, severity: note, example: e}\n"),
    ("no example", "- {id: a, severity: note, text: t}\n"),
    ("an unknown field", "- {id: a, severity: note, text: t, example: e, colour: red}\n"),
    ("an id with a capital", "- {id: Ab, severity: note, text: t, example: e}\n"),
    ("nothing", "[]\n"),
    ("no list", "{}\n"),
    ("bad YAML", "- {id: a\n"),
]


def texts(folder, suffixes):
    return {p: p.read_text(errors="replace") for p in sorted(folder.rglob("*"))
            if p.is_file() and p.suffix in suffixes and "node_modules" not in p.parts}


def words(of):
    """Every identifier and kebab-case word, once: one pass, however many ids there are."""
    return {w for t in of.values() for w in re.findall(r"[A-Za-z0-9_-]+", t)}


def fields(block):
    """The quoted fields of one entry."""
    return dict(re.findall(r'^  ([a-z_]+): "((?:[^"\\\\]|\\\\.)*)"', block, re.MULTILINE))


def names(text):
    return set(re.findall(r"\{([a-z_0-9]+)\}", text))


def chinese(register):
    """Every text and fix has its Chinese twin, which speaks of the same arguments."""
    found = []
    for block in re.split(r"^(?=- id: )", register, flags=re.MULTILINE)[1:]:
        name, f = re.match(r"- id: (\S+)", block).group(1), fields(block)
        for key in ("text", "fix"):
            ours, theirs = f.get(key, ""), f.get(key + "_zh", "")
            if bool(ours) != bool(theirs):
                found.append("'%s': %s and %s_zh must both be there" % (name, key, key))
            elif names(ours) != names(theirs):
                found.append("'%s': %s and %s_zh have different arguments: %s" % (
                    name, key, key, ", ".join(sorted(names(ours) ^ names(theirs)))))
            # A Chinese text that is only arguments and commands may have no Chinese character.
            elif key == "text" and not re.search("[\u4e00-\u9fff]", theirs):
                found.append("'%s': text_zh is not Chinese" % name)
            elif theirs.endswith(("。", ".")):
                found.append("'%s': %s_zh ends with a full stop" % (name, key))
    return found


def main():
    source, generator = pathlib.Path(sys.argv[1]), sys.argv[2]
    register = (source / "schema/findings.yaml").read_text()
    ids = re.findall(r"^- id: ([a-z0-9-]+)$", register, re.MULTILINE)
    program = set()
    for folder in ("proto", "client", "daemon"):
        program |= words(texts(source / folder, {".c", ".h"}))
    tests = words({p: t for p, t in texts(source / "tests", {".c", ".py", ".sh", ".mjs", ".yaml"}).items()
                   if p.name != "check_findings.py"})
    complaints = chinese(register)
    for name in ids:
        constant = "OC_FINDING_" + name.upper().replace("-", "_")
        if not program & {constant, name}:
            complaints.append("'%s' is raised nowhere" % name)
        if not tests & {constant, name}:
            complaints.append("'%s' is expected by no test" % name)

    with tempfile.TemporaryDirectory() as folder:
        out = [str(pathlib.Path(folder) / name) for name in ("ids.h", "table.c", "findings.md")]
        subprocess.run([generator, str(source / "schema/findings.yaml"), *out], check=True)
        page = source / "docs/findings.md"
        if not page.exists() or page.read_text() != pathlib.Path(out[2]).read_text():
            complaints.append("docs/findings.md is not what the register gives: build the target docs-findings")
        for what, text in WRONG:
            bad = pathlib.Path(folder) / "bad.yaml"
            bad.write_text("findings:\n" + text)
            done = subprocess.run([generator, str(bad), *out], stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode == 0 or "findings.yaml:" not in done.stderr:
                complaints.append("the generator accepts a register with %s" % what)
    for text in complaints:
        print("findings: " + text)
    print("findings: %d ids, %d complaints" % (len(ids), len(complaints)))
    sys.exit(1 if complaints or not ids else 0)


main()
