"""Models that are wrong: a finding, exit 2, no file, and a daemon that goes on."""
import os
import signal

from harness import SOC, Case, main


class BadModels(Case):
    def setUp(self):
        super().setUp()
        self.world.zoo("relu")

    def refused(self, model, *ids):
        pid = self.world.daemon_pid()
        result = self.fails(self.world.compile(model, output="out/bad"), 2, *ids)
        self.assertTrue(result.ids, str(result))
        self.no_leftovers(allowed=("good.om", "m.om"))
        if pid:
            self.assertEqual(self.world.daemon_pid(), pid, "the daemon did not survive")
        return result

    def still_works(self):
        self.ok(self.world.compile("relu.onnx", output="out/good"))

    def test_bytes_that_are_no_model(self):
        content = (self.world.work / self.world.zoo("g1")).read_bytes()
        self.world.write("empty.onnx", "")
        self.world.write("random.onnx", os.urandom(5000))
        self.world.write("text.onnx", "this is no model\n" * 100)
        for cut in (1, 10, len(content) // 2, len(content) - 3):
            self.world.write(f"cut{cut}.onnx", content[:cut])
        self.still_works()
        for name in sorted(os.listdir(self.world.work)):
            if name.startswith(("empty", "random", "text", "cut")):
                with self.subTest(name):
                    self.refused(name)
        self.still_works()

    def test_graphs_that_are_wrong(self):
        self.still_works()
        for kind in ("cycle", "missing-input", "duplicate-output", "negative-dim", "huge-dims",
                     "short-weight", "deep", "external-outside", "external-absolute",
                     "external-missing", "external-past-end", "external-overflow",
                     "duplicate-names", "no-outputs"):
            with self.subTest(kind):
                self.refused(self.world.zoo(kind))
        self.still_works()

    def test_legal_oddities(self):
        for kind in ("unsorted",):
            with self.subTest(kind):
                self.ok(self.world.compile(self.world.zoo(kind), output=f"out/{kind}"))

    def test_unknown_op(self):
        self.refused(self.world.zoo("unknown-op"))
        self.refused(self.world.zoo("g5"))

    def test_external_data(self):
        model = self.world.zoo("external")
        first = self.ok(self.world.compile(model))
        self.assertTrue(self.summary(first).startswith("miss"))
        again = self.ok(self.world.compile(model))
        self.assertTrue(self.summary(again).startswith("hit"))
        # One sign in the data makes another model.
        path = next(p for p in self.world.work.iterdir() if p.name.endswith(".data"))
        content = bytearray(path.read_bytes())
        content[7] ^= 0x80
        path.write_bytes(content)
        changed = self.ok(self.world.compile(model))
        self.assertTrue(self.summary(changed).startswith("miss"))
        # Through a link the model's own folder counts.
        os.mkdir(self.world.work / "elsewhere")
        os.symlink(f"../{model}", self.world.work / "elsewhere" / "link.onnx")
        linked = self.ok(self.world.compile("elsewhere/link.onnx"))
        self.assertTrue(self.summary(linked).startswith("hit"))
        path.unlink()
        result = self.refused(model)
        self.assertIn(path.name, result.err)

    def test_truncated_while_it_is_read(self):
        model = self.world.zoo("bert-base", "--layers", "2")
        proc = self.world.start(f"--model={model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/bad", "--backend=builtin",
                                env={"OMCC_STOP_AT": "after-import"})
        pid = self.world.wait_stopped("omcc-worker")
        os.truncate(self.world.work / model, 1000)
        os.kill(pid, signal.SIGCONT)
        result = self.fails(self.world.finish(proc), 2)
        self.assertIn("changed", result.err)
        self.no_leftovers()
        self.still_works()


if __name__ == "__main__":
    main()
