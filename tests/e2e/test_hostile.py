"""Files that claim more than they hold: each ends in a finding, soon, and in little memory.

The peak of the worker is what the kernel counted for it (the daemon's debug log has it), less what
a worker needs for a model of one op. A small multiple of the file's size is what structures
around short names cost; what is refused must stay below it, and what is legal may take a few times
what it writes on top.
"""
import os
import re

import hostile
from harness import SOC, Case, main, wait_until

ONNX, TENSORFLOW = 5, 3
# Whatever the size: lists of findings, tables of names, the sort.
FLOOR = 32 << 20
PER_BYTE = 48
# Sizes of tensors are nobody's mistake, however large: these are compiled.
LEGAL = {"expand-to-4-tb", "range-of-2-to-40", "one-hot-of-2-to-40", "million-attributes", "million-ints",
         "many-functions", "nested-values"}
# Refused by the daemon, which has no findings of its own about models.
SENTENCE = {"external-files"}


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
            self.assertTrue(result.ids or name in SENTENCE, str(result))
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
                             ("ring", "model-cycle"), ("name-of-16-mb", "model-malformed"), ("dims-overflow", "dims-bad")):
            with self.subTest(name):
                self.world.write("hostile", hostile.ONNX[name]())
                self.fails(self.run_one("hostile", ONNX)[0], 2, wanted)


if __name__ == "__main__":
    main()
