"""omcc explain: the answer by name for ops that behave differently on two chips."""
import onnx_file
import schemas
from harness import SOC, Case, main

B1 = "Ascend910B1"


class Explain(Case):
    def explain(self, model, *words, status=0, **options):
        result = self.world.explain(model, *words, **options)
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        return schemas.check(self, result, "explain")

    def op(self, value, name=None, type=None):
        found = [o for o in value["data"]["ops"] if name in (None, o["name"]) and type in (None, o["type"])]
        self.assertEqual(len(found), 1, [(o["name"], o["type"]) for o in value["data"]["ops"]])
        return found[0]

    def out(self, op):
        return [t["got"] for t in op["outputs"]]

    def keep(self, *lines):
        return "--keep_dtype=" + self.world.write("keep.cfg", "".join(f"{l}\n" for l in lines))

    def test_relu_kept_in_float32(self):
        model = self.world.zoo("g1")
        value = self.explain(model, self.keep("/b0/act/Relu"))
        op = self.op(value, "/b0/act/Relu")
        self.assertTrue(op["kept"])
        self.assertEqual((self.out(op), op["engine"]), (["float32"], "aicore"))
        self.assertEqual((op["reason"]["rule"], op["reason"]["file"], op["reason"]["line"]),
                         ("keep", "keep.cfg", 1))
        self.assertEqual(op["reason"]["text"], "keep.cfg:1 /b0/act/Relu")
        for other in ("/b0/conv/Conv", "/b1/conv/Conv"):
            self.assertEqual(self.out(self.op(value, other)), ["float16"])
        self.assertEqual(value["data"]["lists"], [{"flag": "keep_dtype", "file": "keep.cfg", "line": 1,
                                                   "text": "/b0/act/Relu", "state": "used", "ops": 1,
                                                   "kept": 1, "casts_added": 2, "bytes_added": 1024,
                                                   "moved": 0}])
        self.assertGreater(value["data"]["casts"]["added"], 0)

    def test_a_refused_list_has_its_place_and_no_report(self):
        model = self.world.zoo("g1")
        aipp = "aipp_op {\n  aipp_mode: static\n  crop: yes\n}\n"
        for flag, text, wanted in (
                ("customize_dtypes", "/b0/act/Relu::InputDtype:float16\nx:InputDtype:fp32\n",
                 (("customize-dtype", 2), ("customize-syntax", 2))),
                ("modify_mixlist", '{"black-list":\n{"add": []}}', (("mixlist-shape", 2),)),
                ("modify_mixlist", '{"black-list":\n{"to-add": ["Relu"]}, "white-list": {"to-add": ["Relu"]}}',
                 (("mixlist-conflict", 2),)),
                ("modify_mixlist", "{", (("mixlist-json", None),)),
                ("op_precision_mode", "[ByOpType]\nRelu\n", (("impl-mode-line", 2),)),
                ("keep_dtype", "/b0/act/Relu\nOpType::relu\n", (("keep-bad-type", 2),)),
                ("insert_op_conf", aipp, (("aipp-value", 3),))):
            with self.subTest(flag, text=text):
                self.world.write("list", text)
                words = [model, f"--{flag}=list"]
                if flag == "modify_mixlist":
                    words.append("--precision_mode_v2=mixed_float16")
                value = self.explain(*words, status=2)
                self.assertEqual([(f["id"], f["file"], f["line"]) for f in value["findings"]
                                  if f["severity"] == "error"], [(i, "list", n) for i, n in wanted])
                self.assertEqual(value["data"], {})
                result = self.world.compile(*words)
                self.fails(result, 2, wanted[0][0])
                self.assertNotIn("GETS", result.err)

    def test_names_are_whole_in_a_pipe_and_keep_their_end_on_a_terminal(self):
        words = ["explain", "--backend=builtin", "--", f"--model={self.world.zoo('g1')}", "--framework=5",
                 f"--soc_version={SOC}"]
        plain = self.ok(self.world.omcc(*words))
        self.assertRegex(plain.out, r"(?m)^PartitionedCall_/head/Gemm_MatMulV2_3 +MatMulV2 .*mode fp16 \(default\)$")
        narrow = self.ok(self.world.omcc(*words, env={"COLUMNS": "72"}))
        self.assertRegex(narrow.out, r"(?m)^Parti\.\.\.\S*MatMulV2_3 +MatMulV2 ")

    def test_quiet_leaves_out_notes(self):
        words = ["--backend=builtin", "--", f"--model={self.world.zoo('g1')}", "--framework=5",
                 f"--soc_version={SOC}", self.keep("OpType::Relu", "nothing")]
        self.assertIn("mode-default", self.world.omcc("explain", *words).ids)
        self.assertEqual(self.world.omcc("explain", "--quiet", *words).ids, ["keep-unmatched"])

    def test_bfloat16_sign_raised(self):
        model = self.world.zoo("sign-bf16")
        value = self.explain(model, self.keep("OpType::Sign"))
        op = self.op(value, type="Sign")
        self.assertEqual([t["orig"] for t in op["outputs"]], ["bfloat16"])
        self.assertEqual(self.out(op), ["float32"])

    def test_maxpool_moves_to_aicpu(self):
        model = self.world.zoo("maxpool")
        value = self.explain(model, self.keep("OpType::MaxPoolV3"))
        ops = [o for o in value["data"]["ops"] if o["source_type"] == "MaxPool"]
        self.assertEqual([(o["engine"], self.out(o)[0]) for o in ops], [("aicpu", "float32")])
        self.assertIn("warning", [f["severity"] for f in value["findings"]])

    def test_the_chain_of_the_option_page(self):
        """A kept op gets its own dtype, else a higher precision, else AI CPU, else an error: on two chips."""
        window = onnx_file.ints("kernel_shape", 2, 2) + onnx_file.ints("strides", 2, 2)
        f32, picture, half = onnx_file.F32, ("x", 1, (1, 8, 8, 8)), ("y", 1, (1, 8, 4, 4))
        files = {"pool.onnx": onnx_file.one_op("AveragePool", [picture], half, window),
                 "roi.onnx": onnx_file.one_op("MaxRoiPool", [picture, ("rois", f32, (2, 5))], ("y", f32, (2, 8, 2, 2)),
                                              onnx_file.ints("pooled_shape", 2, 2))}
        files["celu.onnx"] = onnx_file.one_op("Celu", [("x", onnx_file.BF16, (4,))], ("y", onnx_file.BF16, (4,)))
        for name, data in files.items():
            self.world.write(name, data)
        relu, sign, conv = (self.world.zoo(kind) for kind in ("relu", "sign-bf16", "conv"))
        chains = {"Ascend910B1": (relu, "celu.onnx", "pool.onnx", "roi.onnx"), SOC: (relu, sign, "pool.onnx", conv)}
        steps = (("float32", "float32", "aicore"), ("bfloat16", "float32", "aicore"), ("float32", "float32", "aicpu"),
                 ("float32", "float32", "none"))
        for soc, models in chains.items():
            for model, (orig, got, engine) in zip(models, steps):
                value = self.explain(model, "--precision_mode=force_fp16", soc=soc)
                op, = [o for o in value["data"]["ops"] if o["engine"] not in ("graph", "framework")]
                value = self.explain(model, "--precision_mode=force_fp16", self.keep(f"OpType::{op['type']}"),
                                     status=2 if engine == "none" else 0, soc=soc)
                op = self.op(value, op["name"])
                self.assertEqual((op["outputs"][0]["orig"], op["outputs"][0]["got"], op["engine"]),
                                 (orig, got, engine), f"{soc} {model}")
                wanted = {"aicpu": "aicpu-fallback", "none": "no-engine"}.get(engine)
                self.assertEqual(wanted in [f["id"] for f in value["findings"]], wanted is not None, f"{soc} {model}")

    def test_conv_without_an_engine(self):
        model = self.world.zoo("conv")
        value = self.explain(model, self.keep("OpType::Conv2D"), status=2)
        self.assertEqual(value["code"], "request")
        self.assertFalse(value["data"]["resolved"])
        self.assertEqual(self.op(value, type="Conv2D")["engine"], "none")
        found = [f for f in value["findings"] if f["code"] == "EZ3003"]
        self.assertTrue(found, value["findings"])
        text = found[0]["text"]
        for word in ("Conv2D", SOC, "float32"):
            self.assertIn(word, text)
        self.assertEqual((found[0]["file"], found[0]["line"]), ("keep.cfg", 1))
        # The same line stops the compile, with the table still printed and no file.
        result = self.fails(self.world.compile(model, self.keep("OpType::Conv2D")), 2)
        self.assertIn("OP  ", result.err)
        self.assertIn("EZ3003", result.err)
        self.no_leftovers()

    def test_conv_kept_on_910b1(self):
        model = self.world.zoo("conv")
        value = self.explain(model, self.keep("OpType::Conv2D"), soc=B1)
        self.assertEqual(self.out(self.op(value, type="Conv2D")), ["float32"])

    def test_ir_types_not_framework_types(self):
        model = self.world.zoo("softmax")
        value = self.explain(model, self.keep("OpType::SoftmaxV2"), soc=B1)
        op = self.op(value, type="SoftmaxV2")
        self.assertTrue(op["kept"])
        self.assertEqual(self.out(op), ["float32"])
        value = self.explain(model, self.keep("OpType::Softmax"), soc=B1)
        self.assertFalse(self.op(value, type="SoftmaxV2")["kept"])
        found = [f for f in value["findings"] if f["file"] == "keep.cfg"]
        self.assertEqual(len(found), 1, value["findings"])
        self.assertIn("OpType::SoftmaxV2", found[0]["fix"])
        self.assertEqual(value["data"]["lists"][0]["state"], "unmatched")

    def test_origin_makes_the_list_void(self):
        model = self.world.zoo("g1")
        value = self.explain(model, "--precision_mode_v2=origin", self.keep("OpType::Relu"), soc=B1)
        self.assertTrue(value["data"]["resolved"])
        self.assertEqual(value["data"]["mode"], {"value": "origin", "given": True})
        self.assertEqual([l["state"] for l in value["data"]["lists"]], ["void"])
        for op in value["data"]["ops"]:
            for t in op["outputs"]:
                self.assertEqual(t["got"], t["orig"], op["name"])

    def test_default_mode_is_said(self):
        model = self.world.zoo("g1")
        value = self.explain(model)
        self.assertEqual(value["data"]["mode"], {"value": "fp16", "given": False})
        given = self.explain(model, "--precision_mode=force_fp16")
        self.assertEqual(given["data"]["mode"], {"value": "fp16", "given": True})
        text = self.world.omcc("explain", "--backend=builtin", "--", f"--model={model}",
                               "--framework=5", f"--soc_version={SOC}").out
        self.assertIn("precision mode: fp16 (default)", text)
        self.assertRegex(text, r"inputs and outputs: float32; [0-9]+ of [0-9]+ ops compute in float16")
        self.assertIn("OP  ", text)
        self.assertNotIn("\033", text)

    def test_dynamic_model_gets_a_shape_line(self):
        model = self.world.zoo("g4")
        value = self.explain(model)
        self.assertRegex(value["data"]["input_shape_hint"], r"^x:")

    def test_strict_lists(self):
        model = self.world.zoo("g1")
        line = self.keep("/b0/conv/Con")
        self.explain(model, line)
        self.fails(self.world.compile(model, line, "--strict-lists"), 2)
        self.no_leftovers()
        result = self.ok(self.world.compile(model, line))
        self.assertIn("keep.cfg:1", result.err)
        self.assertIn("/b0/conv/Conv", result.err)

    def test_unknown_soc(self):
        model = self.world.zoo("relu")
        value = self.explain(model, soc="Ascend310P4", status=2)
        self.assertEqual([f["id"] for f in value["findings"]], ["soc-unknown"])
        self.assertIn("Ascend310P", value["findings"][0]["fix"])
        self.fails(self.world.compile(model, soc="Ascend310P4"), 2, "soc-unknown")

    def test_flags_that_builtin_judges(self):
        model = self.world.zoo("relu")
        for words, wanted in ((["--keep_dtpye=x"], "flag-unknown"),
                              (["--precision_mode_v2=fp61"], "flag-bad-word"),
                              (["--external_weight=1"], "flag-refused"),
                              (["--mode=3"], "flag-mode-refused")):
            with self.subTest(words):
                self.fails(self.world.compile(model, *words), 2, wanted)
        result = self.fails(self.world.compile(model, "--keep_dtpye=x"), 2)
        self.assertIn("did you mean '--keep_dtype'", result.err)
        result = self.ok(self.world.compile(model, "--buffer_optimize=off_optimize"))
        self.assertIn("flag-no-effect", result.ids)


if __name__ == "__main__":
    main()
