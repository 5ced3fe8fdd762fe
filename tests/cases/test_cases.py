"""Trouble that users of the vendor's compiler met with lists, modes and precision, one test per
case, named after its id; each with a small model of its own."""
import json

from harness import BINARY_DIR, Case, main
from wire import field

B1 = "Ascend910B1"
RELU, CONV = "/b0/act/Relu", "/b0/conv/Conv"


def tensorflow(*nodes):
    """A frozen GraphDef of float32 ops: (name, op, inputs...)."""
    kind = field(1, "dtype") + field(2, field(6, 1))
    shape = field(1, "shape") + field(2, field(7, field(2, field(1, 1)) + field(2, field(1, 64))))
    numbers = field(1, "T") + field(2, field(6, 1))
    turned = field(1, "transpose_b") + field(2, field(5, 1))
    body = b""
    for name, op, *inputs in nodes:
        attrs = field(5, kind) + field(5, shape) if op == "Placeholder" else field(5, numbers)
        attrs += field(5, turned) if op == "MatMul" else b""
        body += field(1, field(1, name) + field(2, op) + b"".join(field(3, i) for i in inputs) + attrs)
    return body


class Cases(Case):
    def explain(self, model, *words, soc=B1, status=0):
        result = self.world.explain(self.world.zoo(model), *words, soc=soc)
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        return result.json

    def ops(self, value):
        return {o["name"]: o for o in value["data"]["ops"]}

    def out(self, value, name):
        return self.ops(value)[name]["outputs"][0]["got"]

    def findings(self, value, *ids):
        return [f for f in value["findings"] if f["id"] in ids]

    def list(self, text, name="keep.cfg", flag="keep_dtype"):
        return f"--{flag}={self.world.write(name, text)}"

    def states(self, value):
        return {e["line"]: e["state"] for e in value["data"]["lists"]}

    # ---- B: overflow and accuracy

    def test_C10(self):
        value = self.explain("addn", "--precision_mode=force_fp16")
        self.assertEqual(self.out(value, "/middle/Sum"), "float16")
        value = self.explain("addn", "--precision_mode=force_fp16", self.list("/middle/Sum\n"))
        self.assertEqual(self.out(value, "/middle/Sum"), "float32")
        reason = self.ops(value)["/middle/Sum"]["reason"]
        self.assertEqual((reason["rule"], reason["file"], reason["line"]), ("keep", "keep.cfg", 1))
        for other in ("/first/Add", "/last/Relu"):
            self.assertEqual(self.out(value, other), "float16")

    def test_C11(self):
        value = self.explain("g3", "--precision_mode=force_fp16")
        found, = self.findings(value, "constant-out-of-fp16-range")
        for word in ("/gnn_layers.0/Mul_2", "1e+09"):
            self.assertIn(word, found["text"])
        self.assertIn("/gnn_layers.0/Mul_2", found["fix"])
        value = self.explain("g3", "--precision_mode=force_fp16", self.list("/gnn_layers.0/Mul_2\n"))
        self.assertFalse(self.findings(value, "constant-out-of-fp16-range"))
        self.assertEqual(self.out(value, "/gnn_layers.0/Mul_2"), "float32")

    def test_C13(self):
        value = self.explain("g1", self.list("OpType::InstanceNormalization\n"))
        found, = self.findings(value, "keep-framework-type")
        self.assertIn("OpType::InstanceNorm", found["fix"])
        self.assertEqual(self.states(value), {1: "unmatched"})
        value = self.explain("g1", self.list("OpType::InstanceNorm\n"))
        self.assertEqual([e["ops"] for e in value["data"]["lists"]], [1])

    def test_C15(self):
        """Square, as TensorFlow has it, and the Add behind it that follows; in ONNX the square is a Mul."""
        model = self.world.write("norm.pb", tensorflow(
            ("x", "Placeholder"), ("w", "Placeholder"), ("norm/MatMul", "MatMul", "x", "w"),
            ("norm/Square", "Square", "norm/MatMul"), ("norm/Add", "Add", "norm/Square", "x")))
        mix = self.list(json.dumps({"black-list": {"to-add": ["Square"]}}), "mix.json", "modify_mixlist")
        words = ["--json", "--backend=builtin", "--", f"--model={model}", "--framework=3", f"--soc_version={B1}",
                 "--precision_mode_v2=mixed_float16"]
        plain = self.ops(self.ok(self.world.omcc("explain", *words)).json)
        self.assertEqual(plain["norm/Square"]["outputs"][0]["got"], "float16")
        ops = self.ops(self.ok(self.world.omcc("explain", *words, mix)).json)
        square, add = ops["norm/Square"], ops["norm/Add"]
        self.assertEqual((square["type"], square["outputs"][0]["got"]), ("Square", "float32"))
        self.assertEqual(square["reason"]["rule"], "mixlist")
        self.assertIn("mix.json:1 Square: black list (user)", square["reason"]["text"])
        self.assertEqual((add["reason"]["rule"], add["outputs"][0]["got"]), ("gray", "float32"))
        self.assertIn("follows 'norm/Square'", add["reason"]["text"])
        value = self.explain("g2", "--precision_mode_v2=mixed_float16", mix)
        self.assertTrue(self.findings(value, "mixlist-unmatched"))
        mix = self.list(json.dumps({"black-list": {"to-add": ["Mul"]}}), "mix.json", "modify_mixlist")
        value = self.explain("g2", "--precision_mode_v2=mixed_float16", mix)
        self.assertEqual(self.out(value, "/norm/Mul"), "float32")
        self.assertIn(self.ops(value)["/norm/Mul"]["reason"]["rule"], ("mixlist", "black"))

    def test_C20(self):
        value = self.explain("g1", soc="Ascend310P3")
        self.assertEqual((value["data"]["mode"]["value"], value["data"]["mode"]["given"]), ("fp16", False))
        result = self.ok(self.world.omcc("explain", "--backend=builtin", "--", "--model=g1.onnx", "--framework=5",
                                         "--soc_version=Ascend310P3"))
        self.assertRegex(result.out + result.err, r"fp16 \(default\)")

    def test_C27(self):
        model = self.world.zoo("conv-overflow")
        first = self.ok(self.world.compile(model, soc=B1))
        self.assertRegex(first.err + first.out, r"1 (weight|value|element)|\[weights?-")
        second = self.ok(self.world.compile(model, "--is_weight_clip=1", soc=B1))
        self.assertTrue(self.summary(second).startswith("hit"), second)

    # ---- C: list files that do nothing

    def test_C28(self):
        value = self.explain("g1", self.list("/b0/conv/Con\n"))
        found, = self.findings(value, "keep-unmatched-near")
        self.assertEqual((found["line"], found["severity"]), (1, "warning"))
        self.assertIn(CONV, found["fix"])
        result = self.world.explain("g1.onnx", self.list("/b0/conv/Con\n"), "--strict-lists", soc=B1)
        self.fails(result, 2, "keep-unmatched-near")

    def test_C29(self):
        model = self.world.zoo("g1")
        lists = {"crlf": b"OpType::InstanceNorm\r\nOpType::Relu\r\nOpType::ReduceMean",
                 "lf": b"OpType::InstanceNorm\nOpType::Relu\nOpType::ReduceMean\n",
                 "cr": b"OpType::InstanceNorm\rOpType::Relu\rOpType::ReduceMean\r"}
        states = [self.states(self.explain("g1", self.list(text, f"{name}.cfg"))) for name, text in lists.items()]
        self.assertEqual(states[0], states[1])
        self.assertEqual(states[0], states[2])
        results = [self.summary(self.ok(self.world.compile(model, f"--keep_dtype={name}.cfg", soc=B1))).split()[0]
                   for name in lists]
        self.assertEqual(results, ["miss", "hit", "hit"])

    def test_C31(self):
        value = self.explain("g1", self.list("# note\nOpType::Relu\n"))
        self.assertEqual([(e["ops"], e["line"]) for e in value["data"]["lists"]], [(1, 2)])
        self.assertFalse([f for f in value["findings"] if f["id"].startswith("keep-unmatched")])

    def test_C32(self):
        texts = set()
        for line in ("Optype::Relu", "OpType:Relu", "optype::Relu", "OpType:: Relu"):
            self.world.zoo("g1")
            result = self.world.explain("g1.onnx", self.list(line + "\n"), soc=B1)
            found = [f for f in result.json["findings"] if f["flag"] == "keep_dtype" and f["line"] == 1]
            self.assertEqual(len(found), 1, str(result))
            self.assertIn("OpType::Relu", found[0]["fix"])
            texts.add(found[0]["text"])
        self.assertEqual(len(texts), 4)

    def test_C34(self):
        """The vendor's reader takes the form with one colon and no outputs; the name is what is wrong."""
        custom = self.list("/b1/norm/Mul/GroupNorm:InputDtype:float32\n", "custom.cfg", "customize_dtypes")
        value = self.explain("g1", custom)
        found, = self.findings(value, "customize-fused-name")
        self.assertEqual((found["file"], found["line"]), ("custom.cfg", 1))
        self.assertIn("/b1/norm/InstanceNormalization", found["text"])
        self.assertIn("<name>::InputDtype:<list>,OutputDtype:<list>", found["fix"])
        self.fails(self.world.explain("g1.onnx", custom, "--strict-lists", soc=B1), 2, "customize-fused-name")
        for line in ("/b1/norm/InstanceNormalization:float32\n", "/b1/norm/InstanceNormalization:InputDtype\n"):
            result = self.world.explain("g1.onnx", self.list(line, "custom.cfg", "customize_dtypes"), soc=B1)
            self.fails(result, 2, "customize-syntax")
            found, = self.findings(result.json, "customize-syntax")
            self.assertEqual((found["line"], found["code"]), (1, "E20101"))
            self.assertIn("<name>::InputDtype:", found["fix"])
        value = self.explain("g1", self.list("/b1/norm/Mul/GroupNorm\n"))
        found, = self.findings(value, "keep-name-scope")
        self.assertIn("/b1/norm/InstanceNormalization", found["fix"])

    def test_C37(self):
        self.world.env["ASCEND_HOME_PATH"] = str(BINARY_DIR / "fake-atc")
        path = self.world.work / "ops.json"
        path.write_text(json.dumps([{"name": CONV, "type": "Conv2D", "dtype": "float16", "origins": [CONV, RELU]}]))
        self.world.env["FAKE_OPMAP"] = str(path)
        custom = self.list(f"{RELU}:InputDtype:float32,OutputDtype:float32\n", "custom.cfg", "customize_dtypes")
        result = self.ok(self.world.compile(self.world.zoo("g1"), custom, "--json", backend="atc", soc=B1))
        found, = self.findings(result.json, "prediction-fused")
        self.assertIn(f"fused into '{CONV}'", found["text"])

    def test_C38(self):
        self.world.write("exceptionlist.cfg", "OpType::Relu\n")
        self.world.zoo("g1")
        result = self.world.explain("g1.onnx", "--keep_dtype", "execeptionlist.cfg", soc=B1)
        self.assertEqual(result.status, 2, str(result))
        self.assertIn("exceptionlist.cfg", str(result))
        two = [self.world.explain("g1.onnx", *words, soc=B1).json["data"]["ops"]
               for words in (["--keep_dtype", "exceptionlist.cfg"], ["--keep_dtype=exceptionlist.cfg"])]
        self.assertEqual(two[0], two[1])

    def test_C41(self):
        mix = self.list(json.dumps({"black-list": {"to-add": ["Relu"]}}), "m.json", "modify_mixlist")
        self.world.zoo("g1")
        for mode in ([], ["--precision_mode=force_fp16"]):
            result = self.world.explain("g1.onnx", mix, *mode, soc=B1)
            self.assertEqual(result.status, 2, str(result))
            found = [f for f in result.json["findings"] if f["code"] == "E10001"]
            self.assertTrue(found, str(result))
            for word in ("mixed_float16", "mixed_bfloat16", "allow_mix_precision"):
                self.assertIn(word, found[0]["text"] + found[0]["fix"])

    def test_C43(self):
        keep = self.list("OpType::Relu\n")
        custom = self.list("/last/Relu:InputDtype:float16,OutputDtype:float16\n", "c.cfg", "customize_dtypes")
        value = self.explain("addn", keep, custom)
        self.assertEqual(self.out(value, "/last/Relu"), "float16")
        reason = self.ops(value)["/last/Relu"]["reason"]
        self.assertEqual((reason["file"], reason["line"]), ("c.cfg", 1))
        self.assertTrue(self.findings(value, "keep-by-customize"))

    # ---- D: modes

    def test_C44(self):
        model = self.world.zoo("g1")
        for words, given in (([], False), (["--precision_mode=force_fp16"], True)):
            value = self.explain("g1", *words)
            self.assertEqual((value["data"]["mode"]["value"], value["data"]["mode"]["given"]), ("fp16", given))
        first = self.ok(self.world.compile(model, soc=B1))
        second = self.ok(self.world.compile(model, "--precision_mode=force_fp16", soc=B1))
        self.assertEqual([self.summary(r).split()[0] for r in (first, second)], ["miss", "hit"])

    def test_C45(self):
        plain, typed = self.explain("g1"), self.explain("g1", "--output_type=FP16")
        for value, wanted in ((plain, "float32"), (typed, "float16")):
            end = next(o for o in value["data"]["ops"] if o["type"] == "NetOutput")
            self.assertEqual(end["inputs"][0]["got"], wanted)
        for name in (CONV, RELU, "/b1/conv/Conv"):
            self.assertEqual(self.out(plain, name), self.out(typed, name))


if __name__ == "__main__":
    main()
