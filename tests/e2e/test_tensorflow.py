"""Frozen TensorFlow graphs: the keep_dtype page's own example, cuts, and what is no frozen graph."""
import shutil

import schemas
from harness import BINARY_DIR, Case, main

B1 = "Ascend910B1"
# Comments and lines as the page of the option shows them.
EXAMPLE = """# 以下为保持原始精度的算子名称
fp32_vars/Relu
# 以下为保持原始精度的算子类型
OpType::Relu
"""
SMALL = ("--layers", "1,1,1,1", "--width", "16", "--image", "64", "--classes", "10")


class TensorFlow(Case):
    def resnet(self, *options):
        return self.world.zoo("tf-resnet50", *options, name="resnet50_tensorflow.pb")

    def explain(self, model, *words, status=0, soc=B1):
        result = self.world.omcc("explain", "--json", "--backend=builtin", "--", f"--model={model}",
                                 "--framework=3", f"--soc_version={soc}", *words)
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        return schemas.check(self, result, "explain")

    def test_the_example_of_the_page(self):
        model = self.resnet()
        self.world.write("exceptionlist.cfg", EXAMPLE)
        value = self.explain(model, "--precision_mode=force_fp16", "--keep_dtype=exceptionlist.cfg")
        ops = value["data"]["ops"]
        relus = [o for o in ops if o["type"] == "Relu"]
        self.assertEqual(sorted(o["name"] for o in relus),
                         sorted(["fp32_vars/Relu"] + [f"fp32_vars/Relu_{i}" for i in range(1, 49)]))
        for op in ops:
            if op["engine"] != "aicore":
                continue
            want = "float32" if op["type"] == "Relu" else "float16"
            self.assertEqual(op["outputs"][0]["got"], want, op["name"])
            self.assertEqual(op["kept"], op["type"] == "Relu", op["name"])
        self.assertEqual([(l["line"], l["text"], l["state"], l["ops"]) for l in value["data"]["lists"]],
                         [(2, "fp32_vars/Relu", "redundant", 1), (4, "OpType::Relu", "used", 49)])
        found = [f for f in value["findings"] if f["id"] == "keep-redundant"]
        self.assertEqual([(f["file"], f["line"]) for f in found], [("exceptionlist.cfg", 2)])

    def test_compile_twice(self):
        model = self.resnet(*SMALL)
        self.world.write("exceptionlist.cfg", EXAMPLE)
        for name in ("out/a", "out/b"):
            self.ok(self.world.omcc(f"--model={model}", "--framework=3", f"--soc_version={B1}",
                                    f"--output={name}", "--backend=builtin",
                                    "--precision_mode=force_fp16", "--keep_dtype=exceptionlist.cfg"))
        self.assertEqual(self.world.om("out/a").read_bytes(), self.world.om("out/b").read_bytes())

    def test_cut_at_both_ends(self):
        model = self.resnet(*SMALL)
        value = self.explain(model, "--out_nodes=fp32_vars/Relu_1:0",
                             "--input_shape=fp32_vars/max_pooling2d/MaxPool:1,16,16,16")
        ops = {o["name"]: o for o in value["data"]["ops"]}
        self.assertEqual(ops["fp32_vars/max_pooling2d/MaxPool"]["type"], "Data")
        self.assertIn("fp32_vars/Relu_1", ops)
        self.assertNotIn("fp32_vars/Relu", ops)
        self.assertNotIn("fp32_vars/Relu_2", ops)
        value = self.explain(model, "--out_nodes=fp32_vars/Relu_1", status=2)
        self.assertIn("out-node-unknown", [f["id"] for f in value["findings"]])

    def test_what_is_no_frozen_graph(self):
        saved = b"\x08\x01\x12\x04\x0a\x02\x0a\x00"
        for name, content, wanted in (("saved_model.pb", saved, "tf-saved-model"),
                                      ("graph.pbtxt", b"node {\n  name: \"x\"\n}\n", "tf-text"),
                                      ("cut.pb", b"\x0a\x7f", "model-malformed")):
            with self.subTest(name):
                self.world.write(name, content)
                value = self.explain(name, status=2)
                self.assertIn(wanted, [f["id"] for f in value["findings"]])

    def test_formats_that_builtin_does_not_read(self):
        self.world.write("net.caffemodel", b"\x0a\x03net")
        self.world.write("net.prototxt", b"name: \"net\"\n")
        for words, wanted in (
                (("--model=net.prototxt", "--weight=net.caffemodel", "--framework=0"), "flag-refused"),
                (("--model=net.caffemodel", "--framework=1"), "framework-needs-atc")):
            with self.subTest(words):
                result = self.world.omcc(*words, f"--soc_version={B1}", "--output=out/m",
                                         "--backend=builtin")
                self.fails(result, 2, wanted)
                self.assertIn("--backend=atc", result.err)

    def test_the_cache_serves_formats_that_only_atc_reads(self):
        toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", toolkit)
        runs = self.world.root / "runs"
        (toolkit / "fake-atc.conf").write_text(f"FAKE_COUNT_FILE={runs}\n")
        self.world.env["ASCEND_HOME_PATH"] = str(toolkit)
        self.world.write("net.caffemodel", b"\x0a\x03net")
        self.world.write("net.prototxt", b"name: \"net\"\n")
        self.world.write("net.air", b"\x0a\x03air")
        caffe = ("--model=net.prototxt", "--weight=net.caffemodel", "--framework=0")
        air = ("--model=net.air", "--framework=1")
        for words, wanted in ((caffe, "miss"), (caffe, "hit"), (air, "miss"), (air, "hit")):
            result = self.ok(self.world.omcc(*words, f"--soc_version={B1}", "--output=out/m"))
            self.assertTrue(self.summary(result).startswith(wanted), f"{words}\n{result}")
        self.world.write("net.caffemodel", b"\x0a\x03new")
        result = self.ok(self.world.omcc(*caffe, f"--soc_version={B1}", "--output=out/m"))
        self.assertTrue(self.summary(result).startswith("miss"), result)
        self.assertEqual(runs.read_text().count("run"), 3)


if __name__ == "__main__":
    main()
