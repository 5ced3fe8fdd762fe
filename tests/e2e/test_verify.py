"""After a run of the vendor's compiler the file is held against the prediction."""
import json
import os
import pathlib

from harness import BINARY_DIR, Case, main

SOC = "Ascend910B1"


class Verify(Case):
    environment = {"ASCEND_HOME_PATH": str(BINARY_DIR / "fake-atc")}

    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")

    def compile(self, ops, *args, **options):
        if ops is not None:
            path = self.world.work / "ops.json"
            path.write_text(json.dumps(ops))
            self.world.env["FAKE_OPMAP"] = str(path)
        return self.world.compile(self.model, *args, backend="atc", soc=SOC, **options)

    def test_fused(self):
        self.world.write("keep.cfg", "/b0/act/Relu\n")
        ops = [{"name": "/b0/conv/Conv", "type": "Conv2D", "dtype": "float16",
                "origins": ["/b0/conv/Conv", "/b0/act/Relu"]}]
        for expected in ("miss", "hit"):
            result = self.ok(self.compile(ops, "--keep_dtype=keep.cfg", "--json"))
            data = result.json["data"]
            self.assertEqual(data["result"], expected, result)
            found = [f for f in result.json["findings"] if f["id"] == "prediction-fused"]
            self.assertEqual(len(found), 1, str(result))
            self.assertIn("'/b0/act/Relu' was predicted in float32", found[0]["text"])
            self.assertIn("'/b0/conv/Conv'", found[0]["text"])
            self.assertEqual(found[0]["severity"], "warning")
        self.assertIn("verified", self.world.log())
        self.assertIn("agreed=1 differed=1", self.world.log())

    def test_differs(self):
        ops = [{"name": "/b0/act/Relu", "type": "Relu", "dtype": "float32"}]
        result = self.ok(self.compile(ops, "--json"))
        self.assertIn("prediction-differs", result.ids)
        self.assertNotIn("prediction-fused", result.ids)

    def test_agreement_is_counted(self):
        ops = [{"name": "/b0/act/Relu", "type": "Relu", "dtype": "float16"}]
        result = self.ok(self.compile(ops, "--json"))
        self.assertEqual([i for i in result.ids if i.startswith("prediction-")], ["prediction-agreed"], str(result)[:3000])
        self.assertIn("agreed=1 differed=0", self.world.log())


if __name__ == "__main__":
    main()
