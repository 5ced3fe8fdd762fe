"""One thing of a request or of its compiler changes: exactly that part of the key is named, with both
values. Every kind of part, over the real programs; every single flag is in tests/unit/key."""
import shutil
import sys

import schemas
from harness import BINARY_DIR, SOC, Case, main, wait_until

# Content flags: file name, content, another content, and the line that only the other one has.
CONTENTS = {
    "keep_dtype": ("keep.cfg", "OpType::Relu\n", "OpType::Relu\n/b0/conv/Conv\n", "/b0/conv/Conv"),
    "customize_dtypes": ("custom.cfg", "OpType::Relu::InputDtype:float32,OutputDtype:float32\n",
                         "OpType::Relu::InputDtype:float16,OutputDtype:float16\n", "float16"),
    "modify_mixlist": ("mix.json", '{"black-list": {"to-add": ["Add"]}}', '{"black-list": {"to-add": ["Mul"]}}', "Mul"),
    "insert_op_conf": ("aipp.cfg", "aipp_op { aipp_mode: static input_format: RGB888_U8 }\n",
                       "aipp_op { aipp_mode: static input_format: YUV420SP_U8 }\n", None),
    "fusion_switch_file": ("fusion.cfg", "ConvBatchnormFusionPass:off\n", "ConvBatchnormFusionPass:on\n", "on"),
}
OPTIONS = {
    "input_shape": "images:2,3,8,8", "output_type": "FP16", "out_nodes": "/head/Gemm:0", "buffer_optimize": "off_optimize",
    "disable_reuse_memory": "1", "op_select_implmode": "high_performance", "enable_small_channel": "1",
    "deterministic": "1", "virtual_type": "1", "is_weight_clip": "0",
}
UNCACHED = {"op_debug_level": "1", "build_config": "x"}
NEUTRAL = {"log": "info", "op_compiler_cache_mode": "force", "display_model_info": "1"}


class Flips(Case):
    def setUp(self):
        super().setUp()
        self.toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", self.toolkit)
        operator = self.toolkit / "opp" / "vendors" / "x" / "op_impl.so"
        operator.parent.mkdir(parents=True)
        operator.write_bytes(b"operator")
        self.world.env["ASCEND_HOME_PATH"] = str(self.toolkit)
        self.model = self.world.zoo("g1")
        self.contents = {name: self.world.write(file, text) for name, (file, text, _, _) in CONTENTS.items()}

    def request(self, backend="atc", soc=SOC, model=None, contents=None, **options):
        files = self.contents if contents is None else contents
        words = [f"--model={model or self.model}", "--framework=5", f"--soc_version={soc}", f"--backend={backend}"]
        mixed = ["--precision_mode=allow_mix_precision"] if "modify_mixlist" in files else []
        return [*words, *mixed, *(f"--{k}={v}" for k, v in files.items()), *(f"--{k}={v}" for k, v in options.items())]

    def store(self, *words, n=1):
        result = self.ok(self.world.omcc(*words, f"--output=out/{n}", "--json"))
        self.assertEqual(result.json["data"]["stored"], "pending", str(result))
        wait_until(lambda: self.world.status()["cache"]["entries"] >= n, what="the stored result")

    def why(self, *words):
        return schemas.check(self, self.ok(self.world.omcc("why", "--json", "--", *words)), "why")["data"]

    def only(self, part, *words):
        """The one difference, which has two different values."""
        answer = self.why(*words)
        self.assertEqual([d["part"] for d in answer["differences"]], [part], answer)
        found, = answer["differences"]
        self.assertNotEqual(found["then"], found["now"])
        text = self.ok(self.world.omcc("why", "--", *words)).out
        self.assertIn("in 1 part:", text)
        self.assertIn(part, text)
        return found

    def test_request(self):
        base = self.request()
        self.store(*base)
        self.assertTrue(self.why(*base)["result"].startswith("cached"))
        named = 0
        for flag, (file, text, other, line) in CONTENTS.items():
            with self.subTest(flag):
                self.world.write(file, other)
                found = self.only(flag, *base)
                if line:
                    self.assertIn(line, found["now"])
                self.world.write(file, text)
                self.world.write("moved/" + file, text)
                moved = self.request(contents={**self.contents, flag: "moved/" + file})
                self.assertTrue(self.why(*moved)["result"].startswith("cached"), "its path is in the key")
                named += 1
        for flag, value in OPTIONS.items():
            with self.subTest(flag):
                self.assertEqual(self.only(flag, *self.request(**{flag: value}))["now"], value)
                named += 1
        self.assertEqual(self.only("soc_version", *self.request(soc="Ascend310P1"))["now"], "Ascend310P1")
        self.only("strict_lists", *self.request(strict_lists="true"))
        for flag, value in NEUTRAL.items():
            with self.subTest(flag):
                self.assertTrue(self.why(*self.request(**{flag: value}))["result"].startswith("cached"))
        for flag, value in UNCACHED.items():
            with self.subTest(flag):
                self.assertIn(f"a request with '--{flag}' is not cached", self.why(*self.request(**{flag: value}))["result"])
        print(f"figure flips-request named={named + 2} neutral={len(NEUTRAL)}", file=sys.stderr)

    def test_toolkit(self):
        base = self.request(contents={})
        self.store(*base)
        tree = self.toolkit / "opp" / "built-in" / "op_impl" / "ai_core" / "tbe" / "config"
        table = next(tree.rglob("*.json"))
        flips = {
            "backend:toolkit": self.toolkit / "compiler" / "version.info",
            "backend:opp": self.toolkit / "opp" / "version.info",
            "backend:op_tables": table,
            "backend:custom_ops": self.toolkit / "opp" / "vendors" / "x" / "op_impl.so",
            "backend:compiler": self.toolkit / "bin" / "atc.bin",
        }
        for part, path in flips.items():
            with self.subTest(part):
                old = path.read_bytes()
                stat = path.stat()
                path.write_bytes(old + b"another=1\n")
                self.only(part, *base)
                path.write_bytes(old)
                shutil.os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        print(f"figure flips-toolkit named={len(flips)}", file=sys.stderr)

    def test_weights(self):
        """One byte of the model's weights, and of data outside of it."""
        self.store(*self.request("builtin", contents={}))
        path = self.world.work / self.model
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1  # weights are most of the file
        other = self.world.write("other.onnx", bytes(data))
        result = self.ok(self.world.omcc(*self.request("builtin", model=other, contents={}), "--output=out/o", "--json"))
        reason, = result.json["data"]["miss_reasons"]
        self.assertTrue(reason.startswith("model: other content"), reason)
        external = self.world.zoo("external")
        base = self.request("builtin", model=external, contents={})
        self.store(*base, n=3)
        self.assertTrue(self.why(*base)["result"].startswith("cached"))
        path = self.world.work / f"{external}.data"
        data = bytearray(path.read_bytes())
        data[100] ^= 1
        path.write_bytes(data)
        self.only(f"external:{external}.data", *base)
        print("figure flips-weights named=2", file=sys.stderr)


if __name__ == "__main__":
    main()
