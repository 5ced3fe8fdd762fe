"""A compile from the command line to the file, and the same again from the cache."""
import hashlib
import json
import os
import re
import stat

import schemas
from harness import BIN, SOC, Case, main, wait_until


class Compile(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")

    def stored(self):
        wait_until(lambda: self.world.status()["cache"]["entries"] >= 1, what="the stored result")

    def test_miss_then_hit(self):
        first = self.ok(self.world.compile(self.model))
        line = self.summary(first)
        self.assertRegex(line, r"^miss  out/m\.om  [0-9.]+ KB  [0-9.]+ s  key [0-9a-f]{12}  warnings 0")
        self.assertIn("summary: ", first.err)
        self.assertIn("omcc: compiled by builtin, not device-ready", first.err)
        self.assertEqual(first.out, "")
        mode = stat.S_IMODE(os.stat(self.world.om()).st_mode)
        self.assertEqual(mode, 0o600)
        second = self.ok(self.world.compile(self.model, output="out/other"))
        self.assertTrue(self.summary(second).startswith("hit  out/other.om"))
        self.assertIn("not device-ready", second.err)
        self.assertEqual(self.world.om().read_bytes(), self.world.om("out/other").read_bytes())
        self.no_leftovers(allowed=("m.om", "other.om"))
        self.assertEqual(sorted(os.listdir(self.world.work)), ["g1.onnx", "out"])

    def test_spellings_are_one_request(self):
        self.ok(self.world.compile(self.model, "--precision_mode=force_fp16"))
        for words in (["--precision_mode_v2=fp16"], [], ["-precision-mode", "force_fp16"],
                      ["--is_weight_clip=1"], ["--log=info"]):
            with self.subTest(words):
                self.assertTrue(self.summary(self.ok(self.world.compile(self.model, *words)))
                                .startswith("hit"))
        result = self.ok(self.world.compile(self.model, "--precision_mode_v2=origin",
                                            soc="Ascend910B1"))
        self.assertTrue(self.summary(result).startswith("miss"))

    def test_list_content_is_the_key_not_its_name(self):
        self.world.write("a.cfg", "OpType::Relu\r\n")
        self.world.write("b.cfg", "OpType::Relu")
        self.world.write("c.cfg", "OpType::Relu\n/b0/conv/Conv\n")
        self.assertTrue(self.summary(self.ok(self.world.compile(self.model, "--keep_dtype=a.cfg"))).startswith("miss"))
        self.assertTrue(self.summary(self.ok(self.world.compile(self.model, "--keep_dtype=b.cfg"))).startswith("hit"))
        result = self.world.compile(self.model, "--keep_dtype=c.cfg", soc="Ascend910B1")
        self.assertTrue(self.summary(self.ok(result)).startswith("miss"))

    def test_hit_shows_this_users_lines(self):
        self.world.write("a.cfg", "OpType::Relu\n/b0/conv/Con\n")
        self.world.write("b.cfg", "\n\nOpType::Relu\n\n/b0/conv/Con\n")
        first = self.ok(self.world.compile(self.model, "--keep_dtype=a.cfg"))
        self.assertIn("a.cfg:2: ", first.err)
        second = self.ok(self.world.compile(self.model, "--keep_dtype=b.cfg"))
        self.assertTrue(self.summary(second).startswith("hit"))
        self.assertIn("b.cfg:5: ", second.err)
        self.assertIn("/b0/conv/Conv", second.err)

    def test_json(self):
        for expected in ("miss", "hit"):
            result = self.ok(self.world.compile(self.model, "--json"))
            value = schemas.check(self, result, "compile")
            data = value["data"]
            self.assertEqual(data["result"], expected)
            self.assertEqual(data["backend"], "builtin")
            self.assertIs(data["device_ready"], False)
            self.assertEqual(data["artifact"]["path"], "out/m.om")
            content = self.world.om().read_bytes()
            self.assertEqual(data["artifact"]["size"], len(content))
            self.assertEqual(data["artifact"]["object_sha256"], hashlib.sha256(content).hexdigest())
            self.assertIn(data["stored"], ("pending", "yes"))
            self.stored()

    def test_list_from_a_pipe(self):
        os.mkfifo(self.world.work / "pipe")
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--backend=builtin", "--json", "--keep_dtype=pipe")
        with open(self.world.work / "pipe", "w") as f:
            f.write("OpType::Relu\n/nothing\n")
        value = schemas.check(self, self.ok(self.world.finish(proc)), "compile")
        places = [(f["file"], f["line"]) for f in value["findings"]]
        self.assertIn(("pipe", 2), places)

    def test_link(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        result = self.ok(self.world.compile(self.model, "--link", "--json", output="out/linked"))
        self.assertEqual(result.json["data"]["artifact"]["placed"], "link")
        self.assertGreater(os.stat(self.world.om("out/linked")).st_nlink, 1)

    def test_link_is_refused_across_file_systems(self):
        if os.stat("/dev/shm").st_dev == os.stat(self.world.work).st_dev:
            self.skipTest("/dev/shm is not another file system here")
        path = f"/dev/shm/{self.world.root.name}"
        try:
            result = self.ok(self.world.compile(self.model, "--link", output=path))
            self.assertIn("link-refused", result.ids)
            self.assertIn("another file system", result.err)
        finally:
            os.unlink(f"{path}.om")

    def test_relabel(self):
        self.ok(self.world.compile(self.model, output="out/plain"))
        result = self.ok(self.world.compile(self.model, "--relabel", output="out/mine"))
        self.assertTrue(self.summary(result).startswith("hit"))
        names = {}
        for name in ("plain", "mine"):
            names[name] = self.ok(self.world.omcc("inspect", "--json", f"out/{name}.om")).json["data"]["container"]["name"]
        self.assertEqual(names, {"plain": "model", "mine": "mine"})

    def test_quiet_and_verbose(self):
        result = self.ok(self.world.compile(self.model, "--quiet"))
        self.assertEqual(result.err, "omcc: compiled by builtin, not device-ready\n")
        result = self.ok(self.world.compile(self.model, "--verbose", soc="Ascend310"))
        self.assertIn("missed because", result.err)

    def test_no_home(self):
        result = self.ok(self.world.compile(self.model, env={"HOME": None, "OMCC_CACHE_DIR": None}))
        self.assertIn("no-home", result.ids)
        self.assertTrue((self.world.socket.parent / "cache").is_dir())

    def test_auto_without_a_toolkit(self):
        result = self.fails(self.world.compile(self.model, backend=None), 4)
        self.assertIn("--backend=builtin", result.err)
        self.assertEqual(result.out, "")
        self.no_leftovers()
        self.ok(self.world.compile(self.model, backend=None, env={"OMCC_BACKEND": "builtin"}))

    def test_under_the_name_atc(self):
        link = self.world.work / "atc"
        os.symlink(BIN / "omcc", link)
        words = [f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", "--output=out/m"]
        result = self.world.omcc(*words, argv0=str(link))
        self.assertEqual(result.status, 255, str(result))
        self.no_leftovers()
        result = self.ok(self.world.omcc(*words, "--omcc_backend=builtin", argv0=str(link)))
        self.assertNotIn("ATC ", result.out + result.err)

    def test_cache_verbs(self):
        has = ["cache", "has", "--json", "--backend=builtin", "--", f"--model={self.model}",
               "--framework=5", f"--soc_version={SOC}"]
        self.ok(self.world.omcc("daemon", "start"))
        result = self.world.omcc(*has)
        self.assertEqual(result.status, 1, str(result))
        value = schemas.check(self, result, "cache-has")
        self.assertEqual((value["code"], value["data"]["cached"]), ("differs", False))
        self.assertTrue(value["data"]["reasons"], str(result))
        self.ok(self.world.compile(self.model))
        self.stored()
        value = schemas.check(self, self.ok(self.world.omcc(*has)), "cache-has")
        self.assertTrue(value["data"]["cached"])
        entries = schemas.check(self, self.ok(self.world.omcc("cache", "list", "--json")),
                                "cache-list")["data"]["entries"]
        self.assertEqual([(e["model"], e["soc"], e["backend"]) for e in entries],
                         [("g1.onnx", SOC, "builtin")])
        self.assertEqual(entries[0]["key"], value["data"]["key"])
        stats = schemas.check(self, self.ok(self.world.omcc("cache", "stats", "--json")), "cache-stats")
        self.assertEqual(stats["data"]["dir"], str(self.world.cache))
        self.assertIn("entries", self.ok(self.world.omcc("cache", "stats")).out)
        self.assertIn("g1.onnx", self.ok(self.world.omcc("cache", "list")).out)

    def test_status(self):
        self.ok(self.world.compile(self.model))
        value = schemas.check(self, self.ok(self.world.omcc("status", "--json")), "status")
        self.assertEqual(value["data"]["socket"], str(self.world.socket))
        self.assertTrue(os.path.exists(f"/proc/{value['data']['pid']}"))
        text = self.ok(self.world.omcc("status")).out
        self.assertRegex(text, rf"^daemon   pid {value['data']['pid']}, ")


class Inspect(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")
        self.ok(self.world.compile(self.model))

    def test_json_agrees_with_explain(self):
        value = schemas.check(self, self.ok(self.world.omcc("inspect", "--json", "out/m.om")), "inspect")
        self.assertEqual((value["data"]["backend"], value["data"]["device_ready"]), ("builtin", False))
        self.assertEqual(value["data"]["container"]["mark"], "omcc builtin: no kernels")
        in_file = {op["name"]: [t["got"] for t in op["outputs"]] for op in value["data"]["ops"]}
        explained = self.ok(self.world.explain(self.model)).json["data"]["ops"]
        compute = [op for op in explained if op["engine"] == "aicore"]
        self.assertGreater(len(compute), 4)
        for op in compute:
            self.assertEqual(in_file[op["name"]], [t["got"] for t in op["outputs"]], op["name"])

    def test_display(self):
        expected = ["============ Display Model Info start ============",
                    "Original Atc command line: ", "system   info: atc_version[",
                    "resource info: memory_size[", "om       info: modeldef_size[",
                    "============ Display Model Info end   ============"]
        by_mode = self.ok(self.world.omcc("--mode=6", "--om=out/m.om")).out
        self.assertEqual(self.ok(self.world.omcc("inspect", "--display", "out/m.om")).out, by_mode)
        lines = by_mode.splitlines()
        self.assertEqual(len(lines), len(expected), by_mode)
        for line, start in zip(lines, expected):
            self.assertTrue(line.startswith(start), line)
        self.assertIn(f"soc_version[{SOC}]", by_mode)

    def test_text(self):
        text = self.ok(self.world.omcc("inspect", "out/m.om")).out
        self.assertIn("not device-ready", text)
        self.assertRegex(text, r"input +images")

    def test_bad_files(self):
        content = self.world.om().read_bytes()
        self.world.write("cut.om", content[:300])
        self.world.write("empty.om", "")
        self.world.write("text.om", "hello" * 100)
        for name, wanted in (("cut.om", "om-unreadable"), ("empty.om", "om-unreadable"),
                             ("text.om", "om-unreadable"), ("g1.onnx", "om-unreadable"),
                             ("no.om", "file-unreadable"), ("/dev/null", "om-unreadable"),
                             ("out", "om-unreadable")):
            with self.subTest(name):
                result = self.fails(self.world.omcc("inspect", name), 2, wanted)
                self.assertEqual(result.out, "")
        self.fails(self.world.omcc("inspect"), 2, "operand-missing")
        schemas.check(self, self.world.omcc("inspect", "--json", "cut.om"), "inspect")


if __name__ == "__main__":
    main()
