"""Tables from elsewhere, risk analysis and bad lists, through the real programs."""
import json
import pathlib
import shutil

from harness import BINARY_DIR, SOC, Case, main

B1 = "Ascend910B1"
EXTRA = "schema: omcc/soc/1\nid: ascend310p\nops:\n  Relu:\n    in: x f32\n    out: y =\n"
INFO = {"Relu": {"input0": {"name": "x", "dtype": "float16,float", "format": "ND,ND", "paramType": "required"},
                 "output0": {"name": "y", "dtype": "float16,float", "format": "ND,ND", "paramType": "required"},
                 "precision_reduce": {"flag": "true"}}}


class Tables(Case):
    def relu(self, *words, **options):
        result = self.world.explain(self.world.zoo("relu"), *words, **options)
        value = result.json
        return value, next(o for o in value["data"]["ops"] if o["type"] == "Relu")

    def settings(self, text):
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text(text)

    def test_extra_table(self):
        folder = self.world.root / "tables"
        folder.mkdir()
        (folder / "mine.yaml").write_text(EXTRA)
        self.settings(f"tables_extra: {folder}\n")
        value, relu = self.relu()
        self.assertEqual(relu["outputs"][0]["got"], "float32")
        self.assertEqual(relu["sure"], "exact")
        self.assertIn("extra/mine.yaml", value["data"]["table"]["source"])

    def test_unknown_op_is_a_row(self):
        model = self.world.zoo("g5")
        value = self.ok(self.world.explain(model, soc=B1)).json
        op, = [o for o in value["data"]["ops"] if o["type"] == "Scramble"]
        self.assertEqual((op["reason"]["rule"], op["sure"], op["engine"]), ("unknown", "open", "none"))
        severities = {f["id"]: f["severity"] for f in value["findings"]}
        self.assertEqual((severities["op-unknown"], severities["op-not-tabled"]), ("warning", "warning"))
        self.assertTrue(value["data"]["resolved"])
        self.fails(self.world.compile(model, soc=B1), 2, "op-unknown", "no-engine-type")

    def test_custom_op_in_a_table_of_the_users_own(self):
        folder = self.world.root / "tables"
        folder.mkdir()
        (folder / "mine.yaml").write_text("schema: omcc/soc/1\nid: ascend910b\nops:\n  Scramble:\n"
                                          "    in: x f16 f32\n    out: y =\n")
        self.settings(f"tables_extra: {folder}\n")
        model = self.world.zoo("g5")
        for words, wanted in (([], "float16"), (["--precision_mode_v2=origin"], "float32"),
                              (["--keep_dtype=" + self.world.write("k.cfg", "OpType::Scramble\n")], "float32")):
            value = self.ok(self.world.explain(model, *words, soc=B1)).json
            op, = [o for o in value["data"]["ops"] if o["type"] == "Scramble"]
            self.assertEqual((op["outputs"][0]["got"], op["engine"], op["sure"]), (wanted, "aicore", "exact"))

    def refused(self, name, line, why):
        """Explain, compile and lint end with status 2 and the one finding; nothing is resolved."""
        model = self.world.zoo("relu")
        for result in (self.world.explain(model), self.world.compile(model, "--json"),
                       self.world.omcc("lint-lists", "--json", "--", f"--model={model}", "--framework=5",
                                       f"--soc_version={SOC}", "--keep_dtype=" + self.world.write("k", "OpType::Relu"))):
            self.fails(result, 2, "table-bad")
            found, = [f for f in result.json["findings"] if f["id"] == "table-bad"]
            self.assertTrue(found["file"].endswith(name), found)
            self.assertEqual(found["line"], line)
            self.assertIn(why, found["text"])
            self.assertNotIn("ops", result.json["data"])
        self.no_leftovers()
        self.assertEqual(self.world.omcc("explain", "--list-socs").status, 2)
        self.world.omcc("daemon", "stop")

    def test_bad_tables_of_the_user(self):
        folder = self.world.root / "tables"
        folder.mkdir()
        self.settings(f"tables_extra: {folder}\n")
        for more, line, why in (("  Abs:\n    in: x f16 f17\n", 8, "'f17' is not a dtype"),
                                ("  Abs:\n    in: [x f16 f32, z f16]\n", 8, "rows of 2 and of 1 columns"),
                                ("  Abs:\n    in: x f16\n  Relu:\n    in: x f16\n", 9, "twice"),
                                ("  Abs: [\n", None, "")):
            (folder / "mine.yaml").write_text(EXTRA + more)
            with self.subTest(more):
                if line:
                    self.refused(str(folder / "mine.yaml"), line, why)
                else:
                    self.fails(self.world.explain(self.world.zoo("relu")), 2, "table-bad")
        (folder / "mine.yaml").write_text(EXTRA)
        self.world.omcc("daemon", "stop")
        self.ok(self.world.explain("relu.onnx"))

    def test_bad_tables_of_a_toolkit(self):
        kit = self.world.root / "cann"
        shutil.copytree(BINARY_DIR / "fake-atc", kit)
        self.world.env["ASCEND_HOME_PATH"] = str(kit)
        path = kit / "opp/built-in/op_impl/ai_core/tbe/config/ascend310p/aic-ascend310p-ops-info.json"
        good = json.dumps(INFO)[1:-1]
        uneven = good.replace("Relu", "Abs").replace('"float16,float", "format"', '"float16", "format"', 1)
        unknown = good.replace("Relu", "Abs").replace("float16,float", "float16,float99")
        for more, why in ((uneven, "different lengths"), (unknown, "not known here"), (good, "twice")):
            path.write_text("{\n" + good + ",\n" + more + "}\n")
            with self.subTest(why):
                self.refused(path.name, 3, why)

    def test_toolkit_table(self):
        kit = self.world.root / "cann"
        shutil.copytree(BINARY_DIR / "fake-atc", kit)
        config = kit / "opp/built-in/op_impl/ai_core/tbe/config/ascend310p"
        (config / "aic-ascend310p-ops-info.json").write_text(json.dumps(INFO))
        self.world.env["ASCEND_HOME_PATH"] = str(kit)
        value, relu = self.relu()
        self.assertEqual(relu["sure"], "exact")
        self.assertIn("toolkit/ascend310p/aic-ascend310p-ops-info.json", value["data"]["table"]["source"])

    def test_risk(self):
        model = self.world.zoo("hz-mask")
        plain = self.ok(self.world.explain(model, soc=B1))
        self.assertFalse([i for i in plain.ids if i.startswith("risk-")], plain)
        found = self.ok(self.world.omcc("explain", "--json", "--risk", "--backend=builtin", "--", f"--model={model}",
                                        "--framework=5", f"--soc_version={B1}")).json["findings"]
        overflow = [f for f in found if f["id"] == "risk-overflow"]
        self.assertTrue(any("hot_add" in f["fix"] for f in overflow), found)

    def test_many_lines(self):
        model = self.world.zoo("g1")
        self.world.write("keep.cfg", "".join(f"nobody{i}\n" for i in range(1_000_000)))
        findings = self.ok(self.world.explain(model, "--keep_dtype=keep.cfg", timeout=300)).json["findings"]
        self.assertLessEqual(len(findings), 210)
        capped = [f for f in findings if f["id"] == "findings-capped"]
        self.assertTrue(any("999900" in f["text"] for f in capped), capped)

    def test_bad_bytes(self):
        model = self.world.zoo("g1")
        cases = {"long.cfg": b"x" * (1 << 20) + b"\nOpType::Relu\n", "nul.cfg": b"a\0b\nOpType::Relu\n",
                 "utf8.cfg": b"\xff\xfe\xfa\nOpType::Relu\n"}
        for name, text in cases.items():
            self.world.write(name, text)
            result = self.world.explain(model, f"--keep_dtype={name}")
            self.assertIn(result.status, (0, 2), str(result)[:2000])
            found = [f for f in result.json["findings"] if f["flag"] == "keep_dtype" and f["line"] == 1]
            self.assertTrue(found, name)

    def test_bad_mixlists(self):
        model = self.world.zoo("g1")
        cases = ['{"black-list": {"to-add": ["Relu"]}, "black-list": {"to-add": ["Abs"]}}',
                 '{"black-list": {"to-add": "Relu"}}', '{"black-list": []}', '[]', '{"black-list": {"to-add": [1]}}',
                 '{"black-list": {"to-add": ["Relu"]}, "white-list": {"to-add": ["Relu"]}}', '{"black-list": {']
        for i, text in enumerate(cases):
            self.world.write("mix.json", text)
            result = self.world.explain(model, "--precision_mode_v2=mixed_float16", "--modify_mixlist=mix.json",
                                        soc=B1)
            found = [f for f in result.json["findings"] if f["flag"] == "modify_mixlist"]
            self.assertTrue(found, f"{i} {text}\n{result}"[:2000])
            if i:
                self.assertEqual(result.status, 2, text)


if __name__ == "__main__":
    main()
