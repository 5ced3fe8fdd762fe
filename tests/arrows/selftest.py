#!/usr/bin/env python3
"""Puts wrong includes into a copy of the tree and demands that each is named.

  selftest.py SOURCE_DIR
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

# What is wrong, the folder whose first file gets it, the line, the target to build, whether the
# compiler lets it pass (None: either way), and what the checker must say.
CASES = [
    ("a module that is not listed", "daemon/flow", '#include "pool/pool.h"', "oc_flow", False,
     'includes "pool/pool.h": the arrow flow -> pool is not in the USES of flow'),
    ("a module behind a listed one", "daemon/backend/builtin", '#include "om/om.h"', "oc_builtin", False,
     'includes "om/om.h": the arrow builtin -> om is not in the USES of builtin '
     '(it is only to be reached through emit)'),
    ("uv.h in flow", "daemon/flow", "#include <uv.h>", "oc_flow", True,
     "includes <uv.h>: the arrow flow -> libuv (library) is not in the SYSTEM of flow"),
    ("uv.h in flow through a header that a macro names", "daemon/flow",
     "#define HIDDEN <uv.h>\n#include HIDDEN", "oc_flow", True,
     "includes <uv.h>: the arrow flow -> libuv (library) is not in the SYSTEM of flow"),
    ("a way out of the folder", "daemon/flow", '#include "../key/key.h"', "oc_flow", None,
     'includes "../key/key.h": no include climbs out of its folder'),
    ("another module's inner header", "proto/wire", '#include "base/finding_internal.h"', "oc_wire", True,
     "the inner header of base is only for base"),
    ("a banned function", "proto/wire",
     "#include <stdlib.h>\nint oc_wire_selftest(const char *s);\n"
     "int oc_wire_selftest(const char *s)\n{\n  return atoi(s) + (getenv(s) != 0);\n}", "oc_wire", True,
     "calls atoi(), which is banned"),
    ("an impure function", "proto/wire",
     "#include <stdlib.h>\nint oc_wire_selftest(const char *s);\n"
     "int oc_wire_selftest(const char *s)\n{\n  return getenv(s) != 0;\n}", "oc_wire", True,
     "calls getenv(), but wire is pure"),
]


def run(command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)


def must(command, cwd):
    done = run(command, cwd)
    if done.returncode:
        sys.exit("selftest: %s fails:\n%s" % (" ".join(command), done.stdout[-3000:]))
    return done


def copy_tree(source, target):
    """What the build reads, without what it writes."""
    skip = shutil.ignore_patterns("build", ".git", "node_modules", "__pycache__")
    shutil.copytree(source, target, ignore=skip, symlinks=True)


def check(tree, build):
    return run([sys.executable, "tests/arrows/arrows.py", ".", build, "--partial"], tree)


def play(tree, build, case):
    what, folder, line, target, compiles, sentence = case
    victim = sorted((tree / folder).glob("*.c"))[0]
    original = victim.read_text()
    victim.write_text(line + "\n" + original)
    built = run(["ninja", "-C", build, target], tree).returncode == 0
    done = check(tree, build)
    victim.write_text(original)
    must(["ninja", "-C", build, target], tree)
    if compiles not in (None, built):
        return "%s: the compiler %s it" % (what, "accepts" if built else "refuses")
    if done.returncode == 0 or sentence not in done.stdout:
        return "%s: not named; the checker said:\n%s" % (what, done.stdout)
    named = [l for l in done.stdout.splitlines() if sentence in l]
    print("%s:\n  %s" % (what, named[0]))
    return None


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        copy_tree(source, tree)
        build = "build/arrows"
        must(["cmake", "--preset", "dev", "-B", build, "-DOMCC_BUILD_TESTS=OFF"], tree)
        targets = sorted({case[3] for case in CASES})
        must(["ninja", "-C", build, *targets], tree)
        clean = check(tree, build)
        if clean.returncode:
            sys.exit("selftest: the tree itself is not clean:\n" + clean.stdout)
        bad = [text for text in (play(tree, build, case) for case in CASES) if text]
    for text in bad:
        print("selftest: " + text)
    print("selftest: %d wrong includes and calls, %d went unnoticed" % (len(CASES), len(bad)))
    sys.exit(1 if bad else 0)


main()
