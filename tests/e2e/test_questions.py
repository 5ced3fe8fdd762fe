"""What explain, ops, lint-lists and inspect answer beyond the table: rows, one op, two requests,
locks, names, targets, lists against a file. Exit statuses included."""
import json
import os

import schemas
from harness import BINARY_DIR, SOC, Case, main

B1 = "Ascend910B1"


class Question(Case):
    def flags(self, model, *more, soc=SOC):
        return [f"--model={model}", "--framework=5", f"--soc_version={soc}", *more]

    def keep(self, *lines, name="keep.cfg"):
        return "--keep_dtype=" + self.world.write(name, "".join(f"{l}\n" for l in lines))

    def json(self, schema, *words, status=0):
        result = self.world.omcc(*words)
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        return schemas.check(self, result, schema)


class Rows(Question):
    def test_filter_shows_rows_and_counts_all(self):
        model = self.world.zoo("g1")
        value = self.json("explain", "explain", "--json", "--filter=type=Conv2D", "--", *self.flags(model))
        self.assertEqual({o["type"] for o in value["data"]["ops"]}, {"Conv2D"})
        self.assertEqual(len(value["data"]["ops"]), 2)
        whole = self.json("explain", "explain", "--json", "--", *self.flags(model))
        self.assertEqual(value["data"]["summary"], whole["data"]["summary"])
        self.assertEqual(sum(whole["data"]["summary"]["dtypes"].values()),
                         sum(o["engine"] != "graph" for o in whole["data"]["ops"]))
        text = self.ok(self.world.omcc("explain", "--filter=Relu", "--", *self.flags(model))).out
        self.assertIn("/b0/act/Relu", text)
        self.assertNotIn("/b0/conv/Conv", text)

    def test_bad_filter(self):
        result = self.world.omcc("explain", "--filter=colour=red", "--", *self.flags(self.world.zoo("relu")))
        self.fails(result, 2, "filter-bad")

    def test_one_op_with_its_chain(self):
        model = self.world.zoo("g1")
        words = ["--op=/b0/act/Relu", "--", *self.flags(model, self.keep("# a comment", "OpType::Relu"))]
        text = self.ok(self.world.omcc("explain", *words)).out
        self.assertIn("keep.cfg:2 OpType::Relu keeps the model's dtype", text)
        self.assertIn("the model's own dtype float32 is asked for", text)
        value = self.json("explain", "explain", "--json", *words)
        op, = value["data"]["ops"]
        self.assertEqual([r["rule"] for r in op["inputs"][0]["reasons"]], ["keep", "own-dtype", "match"])
        self.assertEqual((op["inputs"][0]["reasons"][0]["file"], op["inputs"][0]["reasons"][0]["line"]),
                         ("keep.cfg", 2))
        self.assertEqual(len(op["next"]), 2)

    def test_the_next_step_is_keep_then_customize_and_works(self):
        model = self.world.zoo("g1")
        value = self.json("explain", "explain", "--json", "--op=/b0/act/Relu", "--", *self.flags(model))
        keep, customize = value["data"]["ops"][0]["next"]
        self.assertIn("--keep_dtype", keep)
        self.assertIn("--customize_dtypes", customize)
        for flag, sentence in (("keep_dtype", keep), ("customize_dtypes", customize)):
            self.world.write("next.cfg", sentence.rsplit(": ", 1)[1] + "\n")
            after = self.json("explain", "explain", "--json", "--op=/b0/act/Relu", "--",
                              *self.flags(model, f"--{flag}=next.cfg"))
            self.assertEqual(after["data"]["ops"][0]["outputs"][0]["got"], "float32", flag)
            self.assertEqual([l["state"] for l in after["data"]["lists"]], ["used"])

    def test_unknown_op_names_the_nearest(self):
        model = self.world.zoo("g1")
        result = self.world.omcc("explain", "--op=/b0/act/Rel", "--", *self.flags(model))
        self.fails(result, 2, "explain-op-unknown")
        self.assertIn("/b0/act/Relu", result.err)

    def test_an_op_is_found_by_what_it_was_made_from(self):
        model = self.world.zoo("g1")
        value = self.json("explain", "explain", "--json", "--op=/head/Gemm", "--", *self.flags(model))
        self.assertIn("/head/Gemm", value["data"]["ops"][0]["origin_names"])

    def test_what_a_line_costs_is_what_the_other_request_shows(self):
        model = self.world.zoo("g1")
        with_line = self.json("explain", "explain", "--json", "--", *self.flags(model, self.keep("OpType::Relu")))
        without = self.json("explain", "explain", "--json", "--", *self.flags(model))
        line, = with_line["data"]["lists"]
        self.assertEqual(line["kept"], 1)
        self.assertEqual(line["casts_added"],
                         with_line["data"]["casts"]["added"] - without["data"]["casts"]["added"])
        relu, = [o for o in with_line["data"]["ops"] if o["name"] == "/b0/act/Relu"]
        elements = 1
        for d in relu["outputs"][0]["dims"]:
            elements *= d
        self.assertEqual(line["bytes_added"], elements * 2)
        self.assertEqual(line["moved"], 0)

    def test_a_line_that_moves_an_op_off_the_ai_core(self):
        model = self.world.zoo("maxpool")
        value = self.json("explain", "explain", "--json", "--",
                          *self.flags(model, self.keep("OpType::MaxPoolV3")))
        self.assertEqual([l["moved"] for l in value["data"]["lists"]], [1])


class Diff(Question):
    def diff(self, a, b, status, *own):
        return self.world.omcc("explain", "--diff", *own, "--", *a, "--", *b), status

    def test_a_kept_op_differs(self):
        model = self.world.zoo("g1")
        result, _ = self.diff(self.flags(model), self.flags(model, self.keep("/b0/act/Relu")), 1, "--json")
        self.assertEqual(result.status, 1, str(result))
        value = schemas.check(self, result, "diff")
        self.assertEqual(value["code"], "differs")
        self.assertEqual([o["name"] for o in value["data"]["ops"]], ["/b0/act/Relu"])
        op = value["data"]["ops"][0]
        self.assertEqual((op["a"]["outputs"], op["b"]["outputs"]), (["float16"], ["float32"]))
        self.assertEqual(value["data"]["request"], [{"name": "keep_dtype", "a": None, "b": "/b0/act/Relu"}])
        text, _ = self.diff(self.flags(model), self.flags(model, self.keep("/b0/act/Relu")), 1)
        self.assertEqual(text.status, 1)
        self.assertIn("Relu: 1 op differs", text.out)
        self.assertIn("output y: float16 -> float32", text.out)

    def test_two_spellings_of_one_request(self):
        model = self.world.zoo("g1")
        result, _ = self.diff(self.flags(model, "--precision_mode=force_fp16"),
                              self.flags(model, "--precision_mode_v2=fp16"), 0)
        self.ok(result)
        self.assertIn("the requests do not differ", result.out)
        self.assertIn("no op differs", result.out)

    def test_two_chips_side_by_side(self):
        model = self.world.zoo("conv")
        a = self.flags(model, self.keep("OpType::Conv2D"))
        b = self.flags(model, self.keep("OpType::Conv2D"), soc=B1)
        result, _ = self.diff(a, b, 1, "--json")
        self.assertEqual(result.status, 1, str(result))
        value = schemas.check(self, result, "diff")
        self.assertIn({"name": "soc_version", "a": SOC, "b": B1}, value["data"]["request"])

    def test_one_side_is_missing(self):
        result = self.world.omcc("explain", "--diff", "--", *self.flags("m.onnx"))
        self.fails(result, 2, "operand-missing")

    def test_one_side_is_wrong(self):
        model = self.world.zoo("relu")
        result, _ = self.diff(self.flags(model), self.flags("nothing.onnx"), 2)
        self.fails(result, 2, "file-missing")
        result, _ = self.diff(self.flags(model), [*self.flags(model), "--precision_mode=fp61"], 2)
        self.assertEqual(result.status, 2, str(result))

    def test_two_finished_jobs(self):
        model = self.world.zoo("g1")
        more = ([], [self.keep("/b0/act/Relu", "/b1/conv/Conv"), "--output_type=FP16"])
        done = [self.ok(self.world.compile(model, *words, "--json", soc=B1)).json["data"] for words in more]
        jobs, keys = [str(d["job"]) for d in done], [d["key"][:16] for d in done]
        result = self.world.omcc("explain", "--diff", "--json", *jobs)
        self.assertEqual(result.status, 1, str(result))
        value = schemas.check(self, result, "diff")
        self.assertEqual(value["data"]["request"],
                         [{"name": "keep_dtype", "a": None, "b": "/b0/act/Relu"},
                          {"name": "keep_dtype", "a": None, "b": "/b1/conv/Conv"},
                          {"name": "output_type", "a": None, "b": "FP16"}])
        self.assertEqual([o["name"] for o in value["data"]["ops"]],
                         ["/b1/conv/Conv", "Node_Output", "/b0/act/Relu"])
        # The same as from the two sets of flags, and by key.
        flags = self.world.omcc("explain", "--diff", "--json", "--", *self.flags(model, soc=B1), "--",
                                *self.flags(model, *more[1], soc=B1))
        self.assertEqual(flags.json["data"]["ops"], value["data"]["ops"])
        self.assertEqual(self.world.omcc("explain", "--diff", "--json", *keys).json["data"], value["data"])
        text = self.world.omcc("explain", "--diff", *jobs)
        self.assertRegex(text.out, r"^--keep_dtype: \(not given\) -> /b0/act/Relu\n")
        self.assertIn("Conv2D: 1 op differs\n  /b1/conv/Conv\n    input x: float16 -> float32", text.out)
        same = self.ok(self.world.omcc("explain", "--diff", jobs[0], keys[0]))
        self.assertEqual(same.out, "the requests do not differ\n\nno op differs\n")

    def test_jobs_that_nobody_knows(self):
        self.ok(self.world.compile(self.world.zoo("relu")))
        for words in (["999999", "999998"], ["feed", "beef"]):
            result = self.world.omcc("explain", "--diff", *words)
            self.assertEqual(result.status, 2, str(result))
            self.assertIn("no recent job has this number", result.err)
        self.fails(self.world.omcc("explain", "--diff", "1"), 2, "operand-missing")


class Lock(Question):
    def lock(self, *flags):
        return self.world.omcc("explain", "--lock=m.lock", "--", *flags)

    def check(self, *flags, own=()):
        return self.world.omcc("explain", "--check-lock=m.lock", *own, "--", *flags)

    def test_the_same_request_passes(self):
        flags = self.flags(self.world.zoo("g1"), self.keep("OpType::Relu"))
        self.ok(self.lock(*flags))
        text = (self.world.work / "m.lock").read_text()
        rows = [l for l in text.splitlines() if not l.startswith("#")]
        self.assertEqual(rows, sorted(rows))
        self.assertIn("op\t/b0/act/Relu\tRelu\taicore\tfloat32\tfloat32", rows)
        self.ok(self.check(*flags))
        self.json("lock", "explain", "--json", "--check-lock=m.lock", "--", *flags)
        self.ok(self.lock(*flags))
        self.assertEqual((self.world.work / "m.lock").read_text(), text)
        self.assertEqual([n for n in os.listdir(self.world.work) if ".new-" in n], [])

    def test_a_model_written_again_passes(self):
        """Another node order and another producer name, the same graph."""
        model = self.world.zoo("addn")
        self.ok(self.lock(*self.flags(model)))
        data = (self.world.work / model).read_bytes()
        # Protobuf lets a field come again: an empty doc_string behind everything changes the bytes only.
        again = self.world.write("again.onnx", data + b"\x32\x00")
        self.assertNotEqual(data, (self.world.work / again).read_bytes())
        self.ok(self.check(*self.flags(again)))

    def test_an_edited_list_fails_with_the_op(self):
        model = self.world.zoo("g1")
        self.ok(self.lock(*self.flags(model, self.keep("OpType::Relu"))))
        result = self.fails(self.check(*self.flags(model, self.keep("/b0/act/Rel"))), 1,
                            "lock-dtype", "lock-list-dead")
        self.assertIn("'/b0/act/Relu' (Relu) is locked as aicore float32 -> float32", result.err)
        result = self.check(*self.flags(model), own=["--json"])
        self.assertEqual(result.status, 1)
        value = schemas.check(self, result, "lock")
        self.assertEqual([f["subject"] for f in value["findings"] if f["id"] == "lock-dtype"], ["/b0/act/Relu"])

    def test_another_model_fails(self):
        self.ok(self.lock(*self.flags(self.world.zoo("relu"))))
        self.fails(self.check(*self.flags(self.world.zoo("sigmoid"))), 1, "lock-op-new", "lock-op-gone")

    def test_no_lock_of_a_request_with_errors(self):
        result = self.lock(*self.flags(self.world.zoo("conv"), self.keep("OpType::Conv2D")))
        self.assertEqual(result.status, 2, str(result))
        self.assertFalse((self.world.work / "m.lock").exists())

    def test_files_that_are_no_lock(self):
        flags = self.flags(self.world.zoo("relu"))
        self.fails(self.check(*flags), 2, "file-unreadable")
        self.world.write("m.lock", "OpType::Relu\n")
        self.fails(self.check(*flags), 2, "lock-unreadable")

    def test_a_lock_that_cannot_be_written(self):
        result = self.world.omcc("explain", "--lock=no/where/m.lock", "--", *self.flags(self.world.zoo("relu")))
        self.fails(result, 4, "output-not-writable")


class Lint(Question):
    def lint(self, *flags, own=()):
        return self.world.omcc("lint-lists", *own, "--", *flags)

    def test_clean_list(self):
        model = self.world.zoo("g1")
        result = self.ok(self.lint(*self.flags(model, self.keep("/b0/act/Relu", "OpType::Conv2D"), soc=B1)))
        self.assertEqual(result.ids, [])
        value = self.json("lint-lists", "lint-lists", "--json", "--",
                          *self.flags(model, self.keep("/b0/act/Relu"), soc=B1))
        self.assertEqual(value["findings"], [])
        self.assertEqual([l["state"] for l in value["data"]["lists"]], ["used"])

    def test_every_dead_line_is_found(self):
        model = self.world.zoo("g1")
        result = self.lint(*self.flags(model, self.keep("/b0/act/Rel", "OpType:Relu", "OpType::Conv")),
                           own=["--json"])
        self.assertEqual(result.status, 1, str(result))
        value = schemas.check(self, result, "lint-lists")
        self.assertEqual([f["line"] for f in value["findings"]], [1, 2, 3])

    def test_without_a_list(self):
        self.fails(self.lint(*self.flags(self.world.zoo("relu"))), 2, "operand-missing")

    def test_without_a_model(self):
        self.fails(self.lint(*self.flags("no.onnx", self.keep("OpType::Relu"))), 2, "file-missing")


class Ops(Question):
    def test_names_types_and_lines(self):
        model = self.world.zoo("g1")
        value = self.json("ops", "ops", "--json", model)
        by_name = {o["name"]: o for o in value["data"]["ops"]}
        conv = by_name["/b0/conv/Conv"]
        self.assertEqual((conv["type"], conv["source_type"]), ("Conv2D", "Conv"))
        self.assertEqual(conv["lines"]["keep_name"], "/b0/conv/Conv")
        self.assertEqual(conv["lines"]["keep_type"], "OpType::Conv2D")
        # Every line that is printed is one that the list takes.
        lines = [line for o in value["data"]["ops"] for line in (o["lines"]["keep_name"], o["lines"]["keep_type"])]
        self.world.write("all.cfg", "\n".join(lines) + "\n")
        after = self.json("explain", "explain", "--json", "--",
                          *self.flags(model, "--keep_dtype=all.cfg", soc=B1))
        self.assertNotIn("unmatched", [l["state"] for l in after["data"]["lists"]])
        self.world.write("custom.cfg", conv["lines"]["customize"] + "\n")
        after = self.json("explain", "explain", "--json", "--",
                          *self.flags(model, "--customize_dtypes=custom.cfg", soc=B1))
        self.assertEqual([l["state"] for l in after["data"]["lists"]], ["used"])

    def test_by_type_of_either_kind(self):
        model = self.world.zoo("g1")
        for word in ("Conv", "Conv2D"):
            value = self.json("ops", "ops", "--json", f"--type={word}", model)
            self.assertEqual(len(value["data"]["ops"]), 2)
        text = self.ok(self.world.omcc("ops", "--type", "Relu", model)).out
        self.assertEqual(text.splitlines()[0], "/b0/act/Relu")
        self.assertIn("OpType::Relu", text)

    def test_external_data(self):
        model = self.world.zoo("external")
        value = self.json("ops", "ops", "--json", model)
        self.assertTrue([o for o in value["data"]["ops"] if o["source_type"] == "MatMul"])

    def test_mistakes(self):
        self.fails(self.world.omcc("ops"), 2, "operand-missing")
        self.fails(self.world.omcc("ops", "no.onnx"), 2, "file-missing")
        bad = self.world.write("bad.onnx", b"\xff" * 64)
        result = self.world.omcc("ops", bad)
        self.assertEqual(result.status, 2, str(result))
        self.assertTrue(result.ids)


class Socs(Question):
    def test_products_and_targets(self):
        value = self.json("socs", "explain", "--list-socs", "--json")
        by_name = {s["name"]: s for s in value["data"]["socs"]}
        for name in ("Ascend310P3", "Ascend910B1", "Ascend310", "Ascend310B1", "Ascend910_9391"):
            self.assertIn(name, by_name)
            self.assertRegex(by_name[name]["product_zh"], "[\u4e00-\u9fff]")
        self.assertTrue(by_name["Ascend910B1"]["bfloat16"])
        self.assertFalse(by_name["Ascend310"]["listed"])
        text = self.ok(self.world.omcc("explain", "--list-socs")).out
        self.assertIn("--soc_version=Ascend310P3", text)
        self.assertIn("not listed on the vendor's page", text)


class CheckList(Question):
    def compiled(self, *flags):
        model = self.world.zoo("g1")
        self.ok(self.world.compile(model, *flags, soc=B1))
        return "out/m.om"

    def test_a_file_made_with_the_list_agrees(self):
        keep = self.keep("/b0/act/Relu", "OpType::Conv2D", "/head/Gemm")
        om = self.compiled(keep)
        value = self.json("check-list", "inspect", "--json", "--check-list=keep.cfg", om)
        self.assertEqual((value["data"]["differed"], value["data"]["unmatched"]), (0, 0))
        self.assertGreaterEqual(value["data"]["agreed"], 4)

    def test_a_file_made_without_it_differs(self):
        om = self.compiled()
        self.keep("# comment", "/b0/act/Relu", "/b0/act/Rel")
        result = self.world.omcc("inspect", "--json", "--check-list=keep.cfg", om)
        self.assertEqual(result.status, 1, str(result))
        value = schemas.check(self, result, "check-list")
        found = {f["id"]: f for f in value["findings"]}
        self.assertEqual((found["artifact-differs"]["file"], found["artifact-differs"]["line"]), ("keep.cfg", 2))
        self.assertEqual(found["artifact-unmatched"]["line"], 3)
        self.assertIn("float16", found["artifact-differs"]["text"])
        self.assertEqual((value["data"]["differed"], value["data"]["unmatched"]), (1, 1))

    def test_an_op_inside_another_is_judged_by_it(self):
        om = self.compiled()
        self.keep("/head/Gemm")
        self.fails(self.world.omcc("inspect", "--check-list=keep.cfg", om), 1, "artifact-differs-fused")

    def test_customize_lists(self):
        self.world.write("custom.cfg", "/b0/act/Relu::InputDtype:float32,OutputDtype:float32\n")
        om = self.compiled("--customize_dtypes=custom.cfg")
        self.ok(self.world.omcc("inspect", "--check-list=custom.cfg", om))
        self.world.write("custom.cfg", "/b0/act/Relu::InputDtype:float16,OutputDtype:float16\n")
        self.fails(self.world.omcc("inspect", "--check-list=custom.cfg", om), 1, "artifact-differs")

    def test_a_vendors_file_with_compressed_attributes(self):
        """Agreement counted and each difference a finding, after the run and from the file alone."""
        ops = [{"name": "conv_relu", "type": "Conv2D", "dtype": "float16", "orig": "float32",
                "origins": ["/b0/conv/Conv", "/b0/act/Relu"]},
               {"name": "/b1/conv/Conv", "type": "Conv2D", "dtype": "float32", "orig": "float32",
                "origins": ["/b1/conv/Conv"]},
               {"name": "norm", "type": "InstanceNorm", "dtype": "float32", "orig": "float32",
                "origins": ["/b1/norm/InstanceNormalization"]}]
        self.world.env["ASCEND_HOME_PATH"] = str(BINARY_DIR / "fake-atc")
        self.world.env["FAKE_OPMAP"] = str(self.world.work / self.world.write("ops.json", json.dumps(ops)))
        keep = self.keep("/b0/act/Relu", "/b1/conv/Conv", "OpType::InstanceNorm")
        seen = []
        for compress in ("", "1"):
            self.world.env["FAKE_COMPRESS"] = compress
            self.world.omcc("cache", "clear")
            self.world.omcc("daemon", "stop")
            out = f"out/m{compress}"
            ran = self.ok(self.world.compile(self.world.zoo("g1"), keep, "--json", output=out, backend="atc",
                                             soc=B1)).json
            result = self.world.omcc("inspect", "--json", "--check-list=keep.cfg", f"{out}.om")
            self.assertEqual(result.status, 1, str(result))
            value = schemas.check(self, result, "check-list")
            self.assertEqual([value["data"][k] for k in ("agreed", "differed", "unmatched")], [2, 1, 0])
            found, = [f for f in value["findings"] if f["id"] == "artifact-differs-fused"]
            self.assertEqual((found["file"], found["line"]), ("keep.cfg", 1))
            self.assertIn("float16", found["text"])
            fused, = [f for f in ran["findings"] if f["id"] == "prediction-fused"]
            self.assertIn("fused into 'conv_relu'", fused["text"])
            counted, = [f for f in ran["findings"] if f["id"] == "prediction-agreed"]
            self.assertIn("2 have the predicted dtypes and 1 differ", counted["text"])
            seen.append([(f["id"], f["text"]) for f in value["findings"]])
        self.assertEqual(seen[0], seen[1])
        for name, compressed in (("m", False), ("m1", True)):
            data = (self.world.work / f"out/{name}.om").read_bytes()
            self.assertEqual((b"om_compress_version" in data, data.count(b"_datadump_original_op_names") == 1),
                             (compressed, compressed))

    def test_mistakes(self):
        om = self.compiled()
        self.fails(self.world.omcc("inspect", "--check-list=no.cfg", om), 2, "file-unreadable")
        self.keep("OpType::relu")
        self.fails(self.world.omcc("inspect", "--check-list=keep.cfg", "no.om"), 2, "file-unreadable")


class Language(Question):
    def test_the_locale_decides(self):
        model = self.world.zoo("g1")
        words = ["explain", "--", *self.flags(model, self.keep("/b0/act/Rel"))]
        english = self.ok(self.world.omcc(*words, env={"LC_ALL": "C", "LANG": "zh_CN.UTF-8"})).out
        chinese = self.ok(self.world.omcc(*words, env={"LC_ALL": None, "LC_MESSAGES": None,
                                                       "LANG": "zh_CN.UTF-8"})).out
        self.assertIn("no op is named '/b0/act/Rel'", english)
        self.assertIn("没有名为 '/b0/act/Rel' 的算子", chinese)

    def test_the_flag_wins(self):
        model = self.world.zoo("g1")
        flags = ["--", *self.flags(model, self.keep("/b0/act/Rel"))]
        zh = {"LC_ALL": "zh_CN.UTF-8"}
        self.assertIn("no op is named", self.ok(self.world.omcc("explain", "--lang=en", *flags, env=zh)).out)
        self.assertIn("没有名为", self.ok(self.world.omcc("explain", "--lang=zh", *flags)).out)
        result = self.world.omcc("explain", "--lang=fr", *flags)
        self.fails(result, 2, "flag-bad-word")

    def test_the_list_of_findings(self):
        words = ["help", "findings"]
        self.assertIn("no op is named", self.ok(self.world.omcc(*words, env={"LC_ALL": "C"})).out)
        self.assertIn("没有名为", self.ok(self.world.omcc(*words, env={"LC_ALL": "zh_CN.UTF-8"})).out)

    def test_json_stays_english(self):
        model = self.world.zoo("g1")
        result = self.ok(self.world.omcc("explain", "--json", "--", *self.flags(model, self.keep("/b0/act/Rel")),
                                         env={"LC_ALL": "zh_CN.UTF-8"}))
        self.assertIn("no op is named", json.loads(result.out)["findings"][0]["text"])


if __name__ == "__main__":
    main()
