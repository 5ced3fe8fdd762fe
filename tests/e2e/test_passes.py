"""Passes on request, the graph between them as text, profiles of a dynamic model."""
import struct

from harness import Case, main


class Passes(Case):
    def dumps(self, name="dumps"):
        folder = self.world.work / name
        return {p.name.split("-", 1)[1][:-4]: p.read_text() for p in sorted(folder.iterdir())}

    def test_dumps_of_every_state(self):
        model = self.world.zoo("resnet50", "--layers=1,1,1,1", "--width=8", "--image=32", "--classes=4")
        result = self.ok(self.world.compile(model, "--dump-passes=dumps"))
        self.assertTrue(self.summary(result).startswith("miss"))
        self.assertIn("not stored", result.err)
        dumps = self.dumps()
        self.assertEqual(list(dumps)[0], "import")
        self.assertEqual(list(dumps)[-1], "precision")
        self.assertIn("infer", dumps)
        self.assertRegex(dumps["import"], r"(?m)^graph ")
        self.assertRegex(dumps["infer"], r"(?m) = Conv2D\(.* -> y float32\[1,8,")
        self.assertRegex(dumps["precision"], r"(?m) = Conv2D\(.* as float16")
        for name, text in dumps.items():
            if name not in ("import", "infer", "precision"):
                self.assertRegex(text, r"(?m)^# \S+: ", name)  # what the pass did

    def test_dumps_of_explain(self):
        model = self.world.zoo("g1")
        self.ok(self.world.explain(model, "--dump_passes=dumps"))
        self.assertIn("import", self.dumps())

    def test_folder_that_cannot_be(self):
        model = self.world.zoo("g1")
        self.world.write("file", "")
        result = self.ok(self.world.compile(model, "--dump_passes=file/dumps"))
        self.assertIn("cannot make the folder", result.err)

    def test_passes_on_and_off(self):
        model = self.world.zoo("resnet50", "--layers=1,1,1,1", "--width=8", "--image=32", "--classes=4")
        self.ok(self.world.compile(model, "--dump_passes=plain"))
        self.ok(self.world.compile(model, "--passes=conv-bn,epilogue", "--dump_passes=more"))
        plain, more = self.dumps("plain"), self.dumps("more")
        self.assertNotIn("conv-bn", plain)
        if " = BatchNorm(" in plain["infer"]:
            self.assertIn("folded into filter and bias", more["conv-bn"])
        self.assertIn("could run together", more["epilogue"])

    def test_same_bytes_from_another_path_and_worker(self):
        args = ("--layers=1", "--width=16", "--heads=2", "--ffn=32", "--vocab=50", "--seq=8")
        model = self.world.zoo("bert-base", *args)
        self.ok(self.world.compile(model))
        other = self.world.work / "another folder" / "net.onnx"
        other.parent.mkdir()
        other.write_bytes((self.world.work / model).read_bytes())
        # with dumps nothing comes from the cache, and each job has a worker of its own
        for output in ("out/a", "out/b"):
            self.ok(self.world.compile(other, "--dump_passes=again", output=output))
            self.assertEqual(self.world.om(output).read_bytes(), self.world.om().read_bytes())

    def test_lowest_level_fuses_nothing(self):
        model = self.world.zoo("resnet50", "--layers=1,1,1,1", "--width=8", "--image=32", "--classes=4")
        self.ok(self.world.compile(model, "--passes=conv-bn,epilogue", "--oo_level=O1", "--dump_passes=low"))
        self.assertEqual([n for n in self.dumps("low") if n in ("conv-bn", "epilogue")], [])

    def test_constant_folding_switched_off(self):
        model = self.world.zoo("g4")
        self.ok(self.world.compile(model, "--oo_constant_folding=false", "--dump_passes=off"))
        self.assertNotIn("fold", self.dumps("off"))

    def test_unknown_pass(self):
        model = self.world.zoo("g1")
        self.fails(self.world.compile(model, "--passes=conv-batchnorm"), 2, "pass-unknown")

    def inout_records(self):
        data = self.world.om().read_bytes()
        count = struct.unpack_from("<I", data, 256)[0]
        body = 256 + 8 + 24 * count
        for i in range(count):
            kind, _, offset, size = struct.unpack_from("<IIQQ", data, 264 + 24 * i)
            if kind == 8:
                part, found = data[body + offset:body + offset + size], {}
                while part:
                    record, length = struct.unpack_from("<II", part)
                    found[record] = part[8:8 + length]
                    part = part[8 + length:]
                return found
        self.fail("no MODEL_INOUT_INFO")

    def test_batch_sizes_are_in_the_file(self):
        model = self.world.zoo("matmul", "--dynamic")
        self.ok(self.world.compile(model, "--input_shape=x:-1,16", "--dynamic_batch_size=1,2,8"))
        records = self.inout_records()
        self.assertEqual(records[2], struct.pack("<I3q", 3, 1, 2, 8))
        self.assertEqual(records[6], struct.pack("<II", 1, 1) + b"x")
        self.fails(self.world.compile(model, "--input_shape=x:-1,16", "--dynamic_batch_size=1,1",
                                      output="out/n"), 2, "profile-twice")

    def dtypes(self, model, batch, *flags):
        """Of every tensor of every op, by names; constants may be folded where sizes are known."""
        shape = ";".join(f"{name}:{batch},8" for name in ("input_ids", "attention_mask", "token_type_ids"))
        data = self.ok(self.world.explain(model, f"--input_shape={shape}", "--precision_mode_v2=mixed_float16", *flags,
                                          soc="Ascend910B1")).json["data"]
        return {op["name"]: [(t["name"], t["got"]) for t in op["inputs"] + op["outputs"]]
                for op in data["ops"] if op["type"] != "Const"}

    def test_profiles_are_judged_with_their_sizes(self):
        model = self.world.zoo("bert-base", "--layers=1", "--width=16", "--heads=2", "--ffn=32", "--vocab=50",
                               "--seq=8", "--dynamic")
        together = self.dtypes(model, -1, "--dynamic_batch_size=1,4")
        for batch in (1, 4):
            alone = self.dtypes(model, batch)
            self.assertGreater(len(alone), 30)
            self.assertEqual({name: together.get(name) for name in alone}, alone)
        # Open dims are another question to the tables; the test says nothing if they answer alike.
        self.assertNotEqual({name: self.dtypes(model, -1).get(name) for name in alone}, alone)

    def test_a_model_per_profile(self):
        model = self.world.zoo("matmul", "--dynamic")
        flags = ("--input_shape=x:-1,16", "--dynamic_batch_size=1,2,8")
        self.ok(self.world.compile(model, *flags))
        models = self.ok(self.world.omcc("inspect", self.world.om(), "--json")).json["data"]["models"]
        self.assertEqual([m["profile"] for m in models], [[], [1], [2], [8]])
        self.assertEqual([m["inputs"][0]["shape"] for m in models], [[-1, 16], [1, 16], [2, 16], [8, 16]])
        self.assertEqual([m["outputs"][0]["shape"][0] for m in models], [-1, 1, 2, 8])
        sizes = [m["memory_size"] for m in models]
        self.assertEqual(sizes[0], max(sizes))
        self.assertLess(sizes[1], sizes[3])
        self.assertEqual([m["weight_size"] > 0 for m in models], [True, False, False, False])
        # under another name the first model alone carries the name
        self.ok(self.world.compile(model, *flags, "--relabel", output="out/other"))
        renamed = self.ok(self.world.omcc("inspect", self.world.om("out/other"), "--json")).json["data"]["models"]
        self.assertEqual(renamed[0].pop("name"), "other")
        models[0].pop("name")
        self.assertEqual(renamed, models)

    def test_profile_that_the_model_does_not_take(self):
        model = self.world.zoo("bert-base", "--layers=1", "--width=16", "--heads=2", "--ffn=32", "--vocab=50",
                               "--seq=8", "--dynamic")
        names = ("input_ids", "attention_mask", "token_type_ids")
        result = self.world.compile(model, "--input_shape=" + ";".join(f"{n}:-1,-1" for n in names),
                                    "--dynamic_dims=1,8,1,8,1,8;1,9,1,9,1,9")
        self.fails(result, 2, "profile-conflict")

    def test_dims_are_in_the_file(self):
        model = self.world.zoo("matmul", "--dynamic")
        self.ok(self.world.compile(model, "--input_shape=x:-1,16", "--dynamic_dims=1;4"))
        self.assertEqual(self.inout_records()[4], struct.pack("<3I2q", 2, 1, 1, 1, 4))


if __name__ == "__main__":
    main()
