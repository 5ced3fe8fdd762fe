"""Files that claim more than they hold: each ends in a finding, soon, and in little memory.

The peak of the worker is what the kernel counted for it (the daemon's debug log has it), less what
a worker needs for a model of one op. A small multiple of the file's size is what structures
around short names cost; what is refused must stay below it, and what is legal may take a few times
what it writes on top.
"""
import os
import re
import subprocess
import sys

import hostile
import hostile_om
from harness import BIN, PATIENCE, SOC, Case, main, wait_until

ONNX, TENSORFLOW = 5, 3
# Whatever the size: lists of findings, tables of names, the sort.
FLOOR = 32 << 20
PER_BYTE = 48
# Sizes of tensors are nobody's mistake, however large: these are compiled.
LEGAL = {"expand-to-4-tb", "range-of-2-to-40", "one-hot-of-2-to-40", "million-attributes", "million-ints",
         "many-functions", "nested-values"}
OM_LEGAL = {"models-4096", "parts-over-each-other", "million-empty-graphs", "million-empty-attributes", "hundred-thousand-empty-inputs",
            "million-dims", "million-edges", "nested-functions", "hundred-thousand-of-one-name", "attributes-of-one-name",
            "name-of-16-mb", "names-that-are-no-text", "links-backwards", "inputs-of-no-size", "million-tasks"}
# Runs a command as a child of its own: what its own parent weighs must not count as its peak.
WEIGH = """
import resource, subprocess, sys
out = open(sys.argv[1], "wb")
status = subprocess.run(sys.argv[2:], stdout=out).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


class Hostile(Case):
    def setUp(self):
        super().setUp()
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("log_level: debug\n")
        self.world.zoo("relu")
        result, self.base = self.run_one("relu.onnx", ONNX)
        self.ok(result)
        self.pid = self.world.daemon_pid()

    def gone(self):
        return [int(n) for n in re.findall(r"worker_gone pid=\d+ rss=(\d+)", self.world.log())]

    def run_one(self, model, framework, output="out/m"):
        """The result, and the peak of the worker that served it."""
        before = len(self.gone())
        result = self.world.omcc(f"--model={model}", f"--framework={framework}", f"--soc_version={SOC}",
                                 f"--output={output}", "--backend=builtin", timeout=300)
        wait_until(lambda: len(self.gone()) > before, what="the end of the worker")
        return result, self.gone()[before]

    def check(self, framework, name, content):
        self.world.write("hostile", content)
        result, peak = self.run_one("hostile", framework, f"out/{name}")
        written = self.world.om(f"out/{name}")
        allowed = FLOOR + PER_BYTE * len(content)
        if name in LEGAL:
            self.ok(result)
            allowed += 4 * written.stat().st_size
        else:
            self.fails(result, 2)
            self.assertTrue(result.ids, str(result))
            self.assertFalse(written.exists())
        self.assertLess(peak - self.base, allowed, f"{name}: {len(content)} bytes")
        self.assertEqual(self.world.daemon_pid(), self.pid, "the daemon did not survive")
        os.unlink(self.world.work / "hostile")

    def test_onnx(self):
        for name, make in hostile.ONNX.items():
            with self.subTest(name):
                self.check(ONNX, name, make())

    def test_tensorflow(self):
        for name, make in hostile.TENSORFLOW.items():
            with self.subTest(name):
                self.check(TENSORFLOW, name, make())

    def test_what_is_told(self):
        for name, wanted in (("many-tensors", "model-too-rich"), ("sum-of-a-million", "model-malformed"),
                             ("chain-of-a-million", "model-malformed"), ("nested-ifs", "model-nesting"),
                             ("ring", "model-cycle"), ("name-of-16-mb", "model-malformed"), ("dims-overflow", "dims-bad"),
                             ("external-files", "external-too-many"), ("long-names-of-external-files", "external-too-many")):
            with self.subTest(name):
                self.world.write("hostile", hostile.ONNX[name]())
                self.fails(self.run_one("hostile", ONNX)[0], 2, wanted)


class Clients(Case):
    """What reads without a worker between: `omcc inspect` an .om file, `omcc explain` a report."""

    def weigh(self, *words):
        """Status, peak and output of a client."""
        out = self.world.root / "output"
        done = subprocess.run([sys.executable, "-c", WEIGH, out, BIN / "omcc", *words], cwd=self.world.work,
                              env=self.world.env, capture_output=True, text=True, timeout=10 * PATIENCE, check=True)
        status, peak = map(int, done.stdout.split())
        return status, peak, out.stat().st_size, done.stderr

    def test_inspect(self):
        worst = 0
        base = self.weigh("--version")[1]
        for name, make in hostile_om.FILES.items():
            content = make()
            self.world.write("hostile.om", content)
            # What is refused is refused before anything is shown.
            for words in (["--json"], ["--display"])[:1 + (name in OM_LEGAL)]:
                with self.subTest(name, words=words):
                    status, peak, told, err = self.weigh("inspect", *words, "hostile.om")
                    if name in OM_LEGAL:
                        self.assertEqual(status, 0, err)
                    else:
                        self.assertEqual(status, 2, err)
                        self.assertIn("[om-unreadable]", err)
                    self.assertLess(peak - base, FLOOR + PER_BYTE * len(content) + 2 * told,
                                    f"{len(content)} bytes, {told} of output")
                    worst = max(worst, peak - base)
        print(f"figure hostile .om files={len(hostile_om.FILES)} crashes=0 worst_peak_mib={worst >> 20}", file=sys.stderr)

    def test_explain(self):
        self.world.zoo("relu")
        about = ("--", f"--soc_version={SOC}", "--backend=builtin", f"--framework={ONNX}", "--output=out/m")
        status, base, _, err = self.weigh("explain", "--json", *about, "--model=relu.onnx")
        self.assertEqual(status, 0, err)
        worst = 0
        for name in ("report-of-30-mb", "million-attributes", "many-functions", "hundred-thousand-outputs",
                     "hundred-thousand-of-one-name", "external-files", "name-of-16-mb"):
            content = hostile.long_names(500, 60000) if name == "report-of-30-mb" else hostile.ONNX[name]()
            self.world.write("hostile", content)
            for words in (["--json"], []):
                with self.subTest(name, words=words):
                    status, peak, told, err = self.weigh("explain", *words, *about, "--model=hostile")
                    self.assertEqual(status, 0 if name in LEGAL or name == "report-of-30-mb" else 2, err)
                    self.assertLess(peak - base, FLOOR + PER_BYTE * len(content) + 2 * told,
                                    f"{len(content)} bytes, {told} of output")
                    worst = max(worst, peak - base)
        print(f"figure hostile explain models=7 crashes=0 worst_client_peak_mib={worst >> 20}", file=sys.stderr)

    def test_a_report_has_a_limit(self):
        """More than 256 MB to tell, honestly: every name is as long as a name may be."""
        self.world.write("hostile", hostile.long_names(4600, 60000))
        result = self.world.explain("hostile", timeout=10 * PATIENCE)
        self.fails(result, 2, "report-too-large")


if __name__ == "__main__":
    main()
