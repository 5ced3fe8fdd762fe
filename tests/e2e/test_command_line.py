"""What omcc says about a wrong command line: before any daemon, all at once, exit 2."""
import os
import resource
import signal
import subprocess

import schemas
from harness import BIN, SOC, Case, main

FULL = ["--model=m.onnx", "--framework=5", f"--soc_version={SOC}", "--output=out/m"]


class CommandLine(Case):
    def setUp(self):
        super().setUp()
        self.world.write("m.onnx", "x")

    def refused(self, words, *ids):
        result = self.fails(self.world.omcc(*words), 2, *ids)
        self.assertIn("omcc: FAILED request", result.err.splitlines()[-1])
        self.assertEqual(result.out, "")
        self.assertFalse(self.world.socket.exists(), "a daemon was started for nothing")
        self.no_leftovers()
        return result

    def test_an_output_that_is_an_input(self):
        for flag, words in (("model", ["--model=same.om"] + FULL[1:3]),
                            ("keep_dtype", FULL[:3] + ["--keep_dtype=same.om"])):
            with self.subTest(flag):
                self.world.write("same.om", "content")
                result = self.refused(words + ["--output=./same"], "output-is-input")
                self.assertIn(f"--{flag}", result.err)
                self.assertEqual((self.world.work / "same.om").read_text(), "content")

    def test_c58_missing_space(self):
        words = FULL[:3] + ["--input_shape=images:1,3,8,8--output=o"]
        result = self.refused(words, "flag-joined", "flag-missing")
        self.assertIn("missing space before '--output'", result.err)

    def test_c59_blank_at_the_end(self):
        result = self.refused(["--model=m.onnx "] + FULL[1:], "flag-blank-end")
        self.assertIn("backslash", result.err)

    def test_c59_backslash_blank(self):
        result = self.refused(FULL + [" "], "word-blank")
        self.assertIn("backslash", result.err)

    def test_c61_blank_behind_the_sign(self):
        result = self.refused(["--model=", "m.onnx"] + FULL[1:], "flag-empty")
        self.assertIn("remove the blank", result.err)
        self.assertNotIn("word-stray", result.ids)

    def test_empty_keep_dtype(self):
        result = self.refused(FULL + ["--keep_dtype="], "flag-empty")
        self.assertIn("line break", result.err)

    def test_both_modes(self):
        result = self.refused(FULL + ["--precision_mode=force_fp16", "--precision_mode_v2=fp16"],
                              "flags-both-modes")
        self.assertIn("E10056", result.err)

    def test_c41_mixlist_without_mode(self):
        self.world.write("m.json", "{}")
        result = self.refused(FULL + ["--modify_mixlist=m.json"], "flag-mixlist-mode")
        for word in ("E10001", "mixed_float16", "mixed_bfloat16", "allow_mix_precision"):
            self.assertIn(word, result.err)

    def test_c74_no_soc(self):
        result = self.refused(FULL[:2] + FULL[3:], "flag-missing-soc")
        self.assertIn("E10054", result.err)

    def test_everything_missing_is_told_at_once(self):
        result = self.refused(["--log=null"], "flag-missing", "flag-missing-framework",
                              "flag-missing-soc")
        self.assertIn("E10007", result.err)

    def test_other_rules(self):
        rows = [
            (["--framework=0"] + FULL[:1] + FULL[2:], "flag-missing-weight", "E10008"),
            (FULL + ["--dynamic_dims=1;2", "--dynamic_batch_size=1,2"], "flags-exclusive-dynamic",
             "E10009"),
            (FULL + ["--dynamic_dims=1;2", "--insert_op_conf=m.onnx"], "flags-exclusive", "E10001"),
            (FULL + ["--enable_compress_weight=true", "--compress_weight_conf=m.onnx"],
             "flags-exclusive-compress", "E10047"),
            (FULL + ["--optypelist_for_implmode=Pow"], "flag-needs", "E10001"),
            (FULL + ["--auto_tune_mode=RL"], "flag-removed", "E10001"),
            (["--mode=6", "--om=m.onnx", "--framework=5"], "flag-mode6-framework", "E10057"),
            (["--mode=1", "--om=m.onnx"], "flag-missing-file", "E10004"),
            (["--framework=-1"] + FULL[:1] + FULL[2:], "flag-not-number", "E10003"),
            (FULL + ["--link=maybe"], "flag-not-bool", "E10005"),
            (FULL + ["--backend=atk"], "flag-bad-word", "builtin"),
            (FULL + ["--keep_dtype"], "flag-no-value", "keep_dtype"),
            (FULL + ["--dynamic=1"], "flag-ambiguous", "dynamic_dims"),
            (FULL + ["stray"], "word-stray", "stray"),
        ]
        for words, wanted, text in rows:
            with self.subTest(wanted):
                self.assertIn(text, self.refused(words, wanted).err)

    def test_unknown_verb(self):
        for words, hint in ((["explian"], "omcc explain"), (["cache", "sats"], "omcc cache stats"),
                            (["daemon"], "omcc daemon start")):
            with self.subTest(words):
                result = self.refused(words, "verb-unknown")
                self.assertIn(hint, result.err)

    def test_json_of_a_refusal(self):
        result = self.world.omcc("--json", *FULL[:3])
        self.fails(result, 2, "flag-missing")
        value = schemas.check(self, result, "compile")
        self.assertEqual(value["code"], "request")
        self.assertEqual(value["findings"][0]["flag"], "output")
        schemas.check(self, self.world.omcc("explain", "--json", "--", "--model=m.onnx"), "explain")

    def test_name_atc_fails_with_255(self):
        link = self.world.work / "atc"
        os.symlink(BIN / "omcc", link)
        result = self.world.omcc(*FULL[:3], argv0=str(link))
        self.fails(result, 255, "flag-missing")
        self.assertNotIn("ATC ", result.out + result.err)

    def test_help_and_version(self):
        self.assertTrue(self.ok(self.world.omcc("--version")).out.startswith("omcc "))
        text = self.ok(self.world.omcc("help")).out
        for word in ("explain", "--backend", "inspect"):
            self.assertIn(word, text)
        flags = self.ok(self.world.omcc("help", "flags")).out
        self.assertEqual(sum(l.startswith("  --") for l in flags.splitlines()), 90)
        self.assertIn("tool_failed", self.ok(self.world.omcc("help", "status")).out)
        self.assertIn("flags-both-modes", self.ok(self.world.omcc("help", "findings")).out)


class Files(Case):
    """Files that a command line names and that are not what they should be."""

    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("relu")

    def test_missing(self):
        for flag, wanted, code in (("keep_dtype", "file-missing", "E10001"),
                                   ("customize_dtypes", "customize-missing", "E20101")):
            with self.subTest(flag):
                result = self.fails(self.world.compile(self.model, f"--{flag}=no.cfg"), 2, wanted)
                self.assertIn(code, result.err)
        result = self.fails(self.world.compile(self.model, "--precision_mode_v2=mixed_float16",
                                               "--modify_mixlist=no.json"), 2, "mixlist-missing")
        self.assertIn("E21001", result.err)
        self.fails(self.world.compile("no.onnx"), 2, "file-missing")
        self.no_leftovers()

    def test_c38_near_name(self):
        self.world.write("exceptionlist.cfg", "Relu\n")
        result = self.fails(self.world.compile(self.model, "--keep_dtype", "execeptionlist.cfg"),
                            2, "file-missing")
        self.assertIn("did you mean 'exceptionlist.cfg'", result.err)

    def test_not_regular(self):
        os.mkdir(self.world.work / "folder")
        os.mkfifo(self.world.work / "pipe")
        for name, word in (("folder", "a directory"), ("/dev/null", "a device"),
                           ("pipe", "a pipe")):
            with self.subTest(name):
                result = self.fails(self.world.compile(name), 2, "file-not-regular")
                self.assertIn(word, result.err)
        self.fails(self.world.compile(self.model, "--keep_dtype=folder"), 2, "file-not-regular")
        self.no_leftovers()

    def test_list_too_large(self):
        with open(self.world.work / "big.cfg", "wb") as f:
            f.truncate((64 << 20) + 1)
        self.fails(self.world.compile(self.model, "--keep_dtype=big.cfg"), 2, "list-file-too-large")

    def test_list_paths(self):
        rows = [("列表.cfg", []), ("my list.cfg", ["path-alphabet"]), ("a+b.cfg", ["path-alphabet"]),
                ("a:b.cfg", ["path-alphabet"])]
        for name, wanted in rows:
            with self.subTest(name):
                self.world.write(name, "OpType::Relu\n")
                result = self.ok(self.world.compile(self.model, f"--keep_dtype={name}"))
                self.assertEqual([i for i in result.ids if i == "path-alphabet"], wanted)

    def test_output_places(self):
        self.world.write("file", "")
        for place in ("file/m", "/proc/m"):
            with self.subTest(place):
                result = self.fails(self.world.compile(self.model, output=place), 2,
                                    "output-not-writable")
                self.assertEqual(result.out, "")
        os.makedirs(self.world.work / "out" / "m.om")
        self.fails(self.world.compile(self.model), 2, "output-not-writable")

    def test_output_full(self):
        """On a file system of one page, mounted for the client alone."""
        self.ok(self.world.compile(self.model, output="first/m"))
        os.mkdir(self.world.work / "out")
        apart = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        script = "mount -t tmpfs -o size=4k none out || exit 99; \"$@\"; s=$?; ls -A out >&3; exit $s"
        command = [str(BIN / "omcc"), f"--model={self.model}", "--framework=5",
                   f"--soc_version={SOC}", "--output=out/m", "--backend=builtin"]
        # The artifact of a real model is larger than a page.
        big = self.world.zoo("g1")
        command[1] = f"--model={big}"
        read, write = os.pipe()
        done = subprocess.run([*apart, "sh", "-c", f"exec 3>&{write}; {script}", "sh", *command],
                              cwd=self.world.work, env=self.world.env, capture_output=True,
                              text=True, pass_fds=[write])
        os.close(write)
        left = os.read(read, 1000).decode()
        os.close(read)
        if done.returncode == 99 or "unshare" in done.stderr:
            self.skipTest(f"no mount of one's own here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("[output-full]", done.stderr)
        self.assertEqual((done.stdout, left), ("", ""))

    def test_output_over_a_limit(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        self.ok(self.world.compile(self.model, output="first/m"))
        os.mkdir(self.world.work / "out")
        self.fails(self.world.compile(self.model, preexec_fn=limit), 2, "output-not-writable")
        self.no_leftovers()


if __name__ == "__main__":
    main()
