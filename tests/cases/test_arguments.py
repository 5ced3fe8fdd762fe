"""Trouble that users of the vendor's compiler met with its arguments and error codes, one test per case, named
after its id."""
import pathlib
import shutil

from harness import BINARY_DIR, SOC, Case, main


class Arguments(Case):
    def atc(self, *words):
        return self.world.omcc("--backend=builtin", *words)

    def flags(self, model, *words):
        return [f"--model={model}", "--framework=5", f"--soc_version={SOC}", "--output=out/m", *words]

    def finding(self, result, wanted):
        found, = [f for f in result.json["findings"] if f["id"] == wanted]
        return found

    def test_C51(self):
        kit = self.world.root / "cann"
        shutil.copytree(BINARY_DIR / "fake-atc", kit)
        shutil.rmtree(kit / "opp", ignore_errors=True)
        self.world.env["ASCEND_HOME_PATH"] = str(kit)
        result = self.world.compile(self.world.zoo("relu"), "--json", backend="atc")
        self.assertEqual((result.status, result.json["code"]), (4, "environment"), str(result))
        self.assertIn("opp", result.json["message"])
        self.no_leftovers()

    def test_C52(self):
        """builtin takes a dynamic model as it is and prints the line."""
        result = self.ok(self.atc(*self.flags(self.world.zoo("g4"), "--json")))
        self.assertIn('--input_shape="x:<d0>,3,48,<d3>"', self.finding(result, "input-dynamic")["fix"])

    def test_C53(self):
        result = self.atc(*self.flags(self.world.zoo("g1"), "--input_shape=image:1,3,8,8", "--json"))
        self.fails(result, 2, "input-shape-name")
        found = self.finding(result, "input-shape-name")
        self.assertEqual(found["code"], "E10016")
        self.assertIn("inputs: images", found["text"])
        self.assertIn("images", found["fix"])

    def test_C54(self):
        """One warning for the model, whatever the number of its ops; the run goes on."""
        result = self.ok(self.atc(*self.flags(self.world.zoo("g6"), "--json")))
        found = self.finding(result, "opset-new")
        self.assertEqual(found["severity"], "warning")
        for word in ("19", "18"):
            self.assertIn(word, found["text"] + found["fix"])

    def test_C56(self):
        kit = self.world.root / "cann"
        shutil.copytree(BINARY_DIR / "fake-atc", kit)
        text = self.world.root / "text"
        text.write_text("EE1001: [PID: 7] 2025-01-01-00:00:00.000.000 The argument is invalid.\n")
        (kit / "fake-atc.conf").write_text(f"FAKE_EXIT=255\nFAKE_STDOUT={text}\n")
        self.world.env["ASCEND_HOME_PATH"] = str(kit)
        result = self.fails(self.world.compile(self.world.zoo("relu"), backend="atc"), 3)
        self.assertIn("FAILED", result.err.splitlines()[-1])
        self.assertNotIn("success", result.out.lower())
        self.no_leftovers()

    def test_C58(self):
        result = self.atc("--model=g1.onnx", "--framework=5", f"--soc_version={SOC}",
                          "--input_shape=images:1,3,8,8--output=o")
        self.fails(result, 2, "flag-joined")
        self.assertIn("missing space before '--output'", result.err)

    def test_C59(self):
        model = self.world.zoo("g1")
        result = self.fails(self.atc(*self.flags(model + " ")), 2, "flag-blank-end")
        self.assertIn("the value of '--model' ends with a blank", result.err)
        self.assertIn("backslash", result.err)

    def test_C61(self):
        model = self.world.zoo("g1")
        result = self.fails(self.atc("--model=", model, *self.flags(model)[1:]), 2, "flag-empty")
        self.assertIn("empty value for '--model'", result.err)
        self.assertFalse(pathlib.Path(self.world.work, "out").exists())


if __name__ == "__main__":
    main()
