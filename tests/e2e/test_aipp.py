"""--insert_op_conf: the input becomes an image, in explain and in the artifact."""
from harness import Case, main

STATIC = """aipp_op {
  aipp_mode: static
  input_format: %s
  src_image_size_w: %d
  src_image_size_h: %d
%s}
"""
CROP = "  crop: true\n  load_start_pos_w: 16\n  load_start_pos_h: 8\n  crop_size_w: 64\n  crop_size_h: 64\n"


class Aipp(Case):
    def model(self, *args):
        return self.world.zoo("resnet50", "--layers=1,1,1,1", "--width=8", "--image=64", "--classes=4", *args)

    def compile(self, text, *args, model=None, **options):
        self.world.write("aipp.cfg", text)
        return self.world.compile(model or self.model(), "--insert_op_conf=aipp.cfg", *args, **options)

    def inspect(self):
        return self.ok(self.world.omcc("inspect", self.world.om(), "--json")).json["data"]

    def test_formats(self):
        for name, shape in (("YUV420SP_U8", [1, 96, 64, 1]), ("RGB888_U8", [1, 64, 64, 3]),
                            ("XRGB8888_U8", [1, 64, 64, 4]), ("YUV400_U8", [1, 64, 64, 1])):
            with self.subTest(name):
                result = self.ok(self.compile(STATIC % (name, 64, 64, "")))
                self.assertIn("aipp-applied", result.ids)
                data = self.inspect()
                size = shape[0] * shape[1] * shape[2] * shape[3]
                self.assertEqual(data["inputs"], [{"name": "input", "dtype": "uint8", "shape": shape, "bytes": size}])
                op = next(o for o in data["ops"] if o["type"] == "Aipp")
                self.assertEqual(op["name"], "input_0_huawei_aipp")
                self.assertEqual(op["origin_names"], [])
                self.assertEqual(op["inputs"][0]["from"], "input:0")
                self.assertEqual(op["outputs"][0]["shape"], [1, 3, 64, 64])

    def test_explain_shows_the_image(self):
        self.world.write("aipp.cfg", STATIC % ("RGB888_U8", 96, 80, CROP))
        data = self.ok(self.world.explain(self.model(), "--insert_op_conf=aipp.cfg")).json["data"]
        ops = {o["name"]: o for o in data["ops"]}
        self.assertEqual(ops["input"]["outputs"][0]["got"], "uint8")
        self.assertEqual(ops["input"]["outputs"][0]["dims"], [1, 80, 96, 3])
        self.assertEqual(ops["input_0_huawei_aipp"]["inputs"][0]["got"], "uint8")
        self.assertEqual(ops["input_0_huawei_aipp"]["outputs"][0]["got"], "float16")

    def test_the_key_is_the_content(self):
        text = STATIC % ("RGB888_U8", 64, 64, "")
        self.assertTrue(self.summary(self.ok(self.compile(text))).startswith("miss"))
        self.world.write("other.cfg", text)
        again = self.world.compile(self.model(), "--insert_op_conf=other.cfg")
        self.assertTrue(self.summary(self.ok(again)).startswith("hit"))
        other = self.compile(text.replace("RGB888_U8", "XRGB8888_U8"))
        self.assertTrue(self.summary(self.ok(other)).startswith("miss"))

    def test_dynamic_block(self):
        self.ok(self.compile("aipp_op { aipp_mode: dynamic max_src_image_size: 20000 }"))
        inputs = {i["name"]: i for i in self.inspect()["inputs"]}
        self.assertEqual(inputs["input"]["shape"], [1, 20000])
        self.assertEqual(inputs["ascend_dynamic_aipp_data"]["bytes"], 160)

    def test_batch_sizes(self):
        self.ok(self.compile(STATIC % ("RGB888_U8", 64, 64, ""), "--dynamic_batch_size=1,4", model=self.model("--dynamic")))
        shapes = [m["inputs"][0]["shape"] for m in self.inspect()["models"]]
        self.assertEqual(shapes, [[-1, 64, 64, 3], [1, 64, 64, 3], [4, 64, 64, 3]])

    def test_mistakes(self):
        plain = STATIC % ("RGB888_U8", 64, 64, "%s")
        for text, args, wanted in (
                ("aipp_op { aipp_mode static }", [], "aipp-syntax"),
                (plain % "src_image_w: 3\n", [], "aipp-field"),
                (plain % "crop: yes\n", [], "aipp-value"),
                (plain % "crop: true load_start_pos_w: 1\n", [], "aipp-value"),
                (STATIC % ("YUV420SP_U8", 63, 64, ""), [], "aipp-value"),
                (STATIC % ("RAW10", 64, 64, ""), [], "aipp-value"),
                (STATIC % ("RGB888_U8", 64, 60, ""), [], "aipp-size"),
                (plain % "input_edge_idx: 0\n", [], "aipp-value"),
                (plain % "related_input_rank: 2\n", [], "aipp-input"),
                ((plain + plain) % ("", ""), [], "aipp-input"),
                ("aipp_op { aipp_mode: dynamic }", [], "aipp-value"),
                (plain % "", ["--input_fp16_nodes=input"], "aipp-fp16")):
            with self.subTest(text):
                self.fails(self.compile(text, *args), 2, wanted)


if __name__ == "__main__":
    main()
