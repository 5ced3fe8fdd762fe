"""Backend atc with a stand-in for the vendor's compiler."""
import os
import shutil
import signal
import time

from harness import BIN, BINARY_DIR, SOC, Case, main, processes, wait_until

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."


class Atc(Case):
    def setUp(self):
        super().setUp()
        self.toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", self.toolkit)
        self.world.env["ASCEND_HOME_PATH"] = str(self.toolkit)
        self.count_file = self.world.root / "runs"
        self.knobs()
        self.model = self.world.zoo("g1")

    def knobs(self, **values):
        values.setdefault("FAKE_COUNT_FILE", self.count_file)
        (self.toolkit / "fake-atc.conf").write_text(
            "".join(f"{k}={v}\n" for k, v in values.items()))

    def gated(self, **values):
        """Compilers that work until open_gate()."""
        self.knobs(FAKE_GATE=self.world.root / "gate", **values)

    def open_gate(self):
        (self.world.root / "gate").touch()

    def runs(self):
        return self.count_file.read_text().count("run") if self.count_file.exists() else 0

    def compile(self, model=None, *words, **options):
        return self.world.compile(model or self.model, *words, backend=None, **options)

    def begin(self, *words):
        return self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", *words)

    def compilers(self):
        return {pid for pid, (_, _, line) in processes().items()
                if "atc.bin" in line and str(self.world.root) in line}

    def test_run_and_replay(self):
        first = self.ok(self.compile())
        self.assertTrue(self.summary(first).startswith("miss"))
        self.assertTrue(first.out.startswith(START), first.out)
        self.assertIn(SUCCESS, first.out)
        self.assertNotIn("not device-ready", first.err)
        content = self.world.om().read_bytes()
        second = self.ok(self.compile())
        self.assertTrue(self.summary(second).startswith("hit"))
        self.assertEqual(second.out_bytes, first.out_bytes)
        self.assertEqual(self.world.om().read_bytes(), content)
        self.assertEqual(self.runs(), 1)
        self.assertEqual(sorted(os.listdir(self.world.work)), ["g1.onnx", "out"])

    def test_more_files_than_a_frame_has_descriptors(self):
        for count, size in ((40, 65536), (60, 3000)):  # beside the index, and small ones within
            with self.subTest(count=count, size=size):
                self.knobs(FAKE_WEIGHT_FILES=count, FAKE_SIZE=size)
                words = ["--external_weight=1", f"--output_type={('FP32', 'FP16')[size < 4096]}"]
                first = self.ok(self.compile(None, *words))
                self.assertTrue(self.summary(first).startswith("miss"))
                folder = self.world.work / "out" / "weight"
                files = {p.name: p.read_bytes() for p in folder.iterdir()}
                self.assertEqual((len(files), {len(b) for b in files.values()}), (count, {size}))
                shutil.rmtree(folder)
                again = self.ok(self.compile(None, *words))
                self.assertTrue(self.summary(again).startswith("hit"), str(again))
                self.assertEqual({p.name: p.read_bytes() for p in folder.iterdir()}, files)
                shutil.rmtree(folder)
                key = self.ok(self.compile(None, "--json", *words)).json["data"]["key"]
                wait_until(lambda k=key: self.world.omcc("cache", "show", k).status == 0,
                           what="the entry, which is stored after the answer")
                (self.world.work / "got").mkdir()
                self.ok(self.world.omcc("cache", "get", key, "-o", "got/m.om"))
                got = self.world.work / "got" / "weight"
                self.assertEqual({p.name: p.read_bytes() for p in got.iterdir()}, files)
                shutil.rmtree(folder)
                shutil.rmtree(got.parent)

    def test_json_keeps_stdout_clean(self):
        import schemas
        value = schemas.check(self, self.ok(self.compile(None, "--json")), "compile")
        self.assertEqual((value["data"]["backend"], value["data"]["tool_exit"]), ("atc", 0))

    def test_unknown_op_is_no_veto(self):
        model = self.world.zoo("unknown-op")
        first = self.ok(self.compile(model))
        self.assertIn(SUCCESS, first.out)
        second = self.ok(self.compile(model))
        self.assertTrue(self.summary(second).startswith("hit"))
        self.assertEqual(second.out_bytes, first.out_bytes)
        self.assertEqual(self.runs(), 1)

    def test_nothing_of_ours_is_a_veto(self):
        self.world.write("broken.onnx", b"\x08\x07" + os.urandom(300))
        for model, words in (("broken.onnx", []), (self.world.zoo("g6"), []),
                             (self.model, ["--precision_mode_v2=fp12"])):
            with self.subTest((model, words)):
                self.ok(self.compile(model, *words))

    def test_unknown_flag_is_passed_on_uncached(self):
        self.knobs(FAKE_FLAG="brand_new_flag")
        for _ in range(2):
            result = self.ok(self.compile(None, "--brand_new_flag=7"))
            self.assertEqual(result.ids.count("flag-passed-on"), 1)
            self.assertTrue(self.summary(result).startswith("miss"))
        self.assertEqual(self.runs(), 2)
        # The compiler's own refusal reaches the user as it is.
        result = self.fails(self.compile(None, "--other_flag=7"), 3, "flag-passed-on")
        self.assertIn("ERROR: unknown command line flag 'other_flag'", result.err)

    def test_c56_failure_is_a_failure(self):
        text = self.world.root / "text"
        text.write_text("EE1001: [PID: 7] 2025-01-01-00:00:00.000.000 The argument is invalid.\n"
                        "        Solution: check the soc.\n")
        self.knobs(FAKE_EXIT=255, FAKE_STDOUT=text)
        result = self.fails(self.compile(), 3)
        self.assertIn("EE1001", result.out)
        self.assertNotIn(SUCCESS, result.out)
        self.assertIn("FAILED tool_failed", result.err.splitlines()[-1])
        self.no_leftovers()
        # A failed run is not kept: once the cause is gone the same request works.
        self.knobs()
        self.ok(self.compile())
        self.assertEqual(self.runs(), 2)

    def test_success_without_a_file_is_a_failure(self):
        self.knobs(FAKE_NO_OUTPUT=1)
        self.fails(self.compile(), 3)
        self.no_leftovers()

    def test_killed_by_a_signal(self):
        self.knobs(FAKE_KILL=11)
        self.fails(self.compile(), 3)
        self.no_leftovers()

    def test_name_atc(self):
        link = self.world.work / "atc"
        os.symlink(BIN / "omcc", link)
        words = [f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", "--output=out/m"]
        result = self.ok(self.world.omcc(*words, argv0=str(link)))
        self.assertIn(SUCCESS, result.out)
        self.knobs(FAKE_EXIT=1)
        result = self.world.omcc(*words, "--op_debug_level=1", argv0=str(link))
        self.assertEqual(result.status, 255, str(result))

    def test_dynamic_name(self):
        self.knobs(FAKE_DYNAMIC=1)
        self.ok(self.compile())
        self.assertEqual(self.world.names(), ["m_linux_x86_64.om"])

    def test_killing_the_client_ends_the_compiler(self):
        self.knobs(FAKE_SLEEP_MS=60000)
        proc = self.begin()
        wait_until(self.compilers, what="the compiler")
        proc.kill()
        wait_until(lambda: not self.compilers(), what="the compiler's end")
        self.no_leftovers()

    def test_c07_detached_job_goes_on_and_is_joined(self):
        self.gated()
        proc = self.begin()
        wait_until(self.compilers, what="the compiler")
        proc.send_signal(signal.SIGINT)
        result = self.world.finish(proc)
        self.assertEqual(result.status, 130, str(result))
        self.assertTrue(self.compilers())
        proc = self.begin()
        wait_until(lambda: self.world.log().count(" request job=") == 2
                   and not self.world.status()["jobs"]["reading"], what="the second request")
        self.open_gate()
        second = self.ok(self.world.finish(proc))
        self.assertIn(SUCCESS, second.out)
        self.assertEqual(self.runs(), 1)

    def test_identical_requests_share_one_run(self):
        self.knobs(FAKE_SLEEP_MS=1500)
        started = [self.begin() for _ in range(4)]
        outs = {self.ok(self.world.finish(p)).out_bytes for p in started}
        self.assertEqual(len(outs), 1)
        self.assertEqual(self.runs(), 1)

    def test_progress_lines(self):
        self.gated()
        proc = self.begin()
        told = b""
        while b"compiling" not in told:
            more = os.read(proc.stderr.fileno(), 1 << 16)
            self.assertTrue(more, told)
            told += more
        self.open_gate()
        result = self.ok(self.world.finish(proc))
        told = told.decode() + result.err
        lines = [l for l in told.splitlines() if "compiling" in l]
        # One when the phase has lasted for a second, then one a minute.
        self.assertLessEqual(len(lines), 1 + result.seconds // 60, told)
        self.assertRegex(lines[0], r"^omcc: \[3/3\] compiling  g1\.onnx  Ascend310P3  [0-9]{2}:[0-9]{2}")
        self.assertNotIn("\r", told)

    def test_daemon_killed_in_the_run(self):
        self.gated()
        proc = self.begin()
        before = wait_until(self.compilers, what="the compiler")
        os.kill(self.world.daemon_pid(), signal.SIGKILL)
        wait_until(lambda: not before & set(processes()), what="the compiler's end")
        self.open_gate()
        self.ok(self.world.finish(proc))
        self.no_leftovers(allowed=("m.om",))

    def test_builtin_is_chosen_by_name_only(self):
        result = self.ok(self.world.compile(self.model, backend="builtin"))
        self.assertEqual(self.runs(), 0)
        self.assertNotIn("ATC ", result.out + result.err)
        # Another backend is another key.
        self.assertTrue(self.summary(self.ok(self.compile())).startswith("miss"))

    def test_c79_custom_operators_are_part_of_the_key(self):
        self.ok(self.compile())
        folder = self.toolkit / "opp" / "vendors" / "mine"
        folder.mkdir(parents=True)
        (folder / "op.so").write_text("x")
        self.world.omcc("daemon", "stop")
        result = self.ok(self.compile(None, "--verbose"))
        self.assertTrue(self.summary(result).startswith("miss"))
        self.assertIn("custom_ops", result.err)


if __name__ == "__main__":
    main()
