"""The cache as its users meet it: why a request misses, what hits, and the verbs.

Each test prints one line with its figure, so that docs/reliability.md can be compared.
"""
import hashlib
import os
import shutil
import sys
import time

import schemas
from harness import BIN, BINARY_DIR, SOC, Case, main, wait_until


def figure(text):
    print(f"figure {text}", file=sys.stderr)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def put_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytearray([value]))


def fields(data):
    """(number, whole field, content) of one protobuf message."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, end = varint(data, at)
            content = None
        elif kind == 2:
            size, at = varint(data, at)
            content, end = data[at:at + size], at + size
        else:
            end = at + (8 if kind == 1 else 4)
            content = None
        yield tag >> 3, data[start:end], content
        at = end


def permuted(model):
    """The same ONNX model with its initialisers in the opposite order and another producer."""
    out = b""
    for number, whole, content in fields(model):
        if number == 7:  # graph
            inner = list(fields(content))
            inits = [w for n, w, _ in inner if n == 5]
            graph = b"".join(w for n, w, _ in inner if n != 5) + b"".join(reversed(inits))
            whole = bytes([7 << 3 | 2]) + put_varint(len(graph)) + graph
        if number != 3:  # producer_version
            out += whole
    return out + bytes([3 << 3 | 2, 7]) + b"another"


class Cache(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")

    def stored(self, n=1):
        wait_until(lambda: self.world.status()["cache"]["entries"] >= n, what="the stored result")

    def data(self, *words):
        result = self.ok(self.world.compile(self.model, "--json", *words))
        return result.json["data"]

    def why(self, *words, model=None, soc=SOC):
        result = self.ok(self.world.omcc("why", "--json", "--", f"--model={model or self.model}",
                                         "--framework=5", f"--soc_version={soc}",
                                         "--backend=builtin", *words))
        return schemas.check(self, result, "why")["data"]

    def parts(self, *words, **options):
        return [d["part"] for d in self.why(*words, **options)["differences"]]

    def entries(self):
        return self.ok(self.world.omcc("cache", "list", "--json")).json["data"]["entries"]

    def restart(self):
        self.ok(self.world.omcc("daemon", "stop"))
        wait_until(lambda: not self.world.alive(), what="the daemon's end")

    def settings(self, text):
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "omccd.yaml").write_text(text)


class Why(Cache):
    """One thing changes: exactly that part is named, with both values."""

    def test_each_flip_is_named(self):
        self.world.write("keep.cfg", "OpType::Relu\n")
        self.world.write("keep2.cfg", "OpType::Relu\nOpType::Add\n")
        base = ["--keep_dtype=keep.cfg"]
        self.ok(self.world.compile(self.model, *base))
        self.stored()
        self.assertTrue(self.why(*base)["result"].startswith("cached"))
        flips = {
            "soc_version": dict(words=base, soc="Ascend910B1"),
            "precision_mode": dict(words=[*base, "--precision_mode=must_keep_origin_dtype"]),
            "input_shape": dict(words=[*base, "--input_shape=images:2,3,32,32"]),
            "keep_dtype": dict(words=["--keep_dtype=keep2.cfg"]),
            "strict_lists": dict(words=[*base, "--strict_lists"]),
            "output_type": dict(words=[*base, "--output_type=FP32"]),
            "disable_reuse_memory": dict(words=[*base, "--disable_reuse_memory=1"]),
        }
        named = 0
        for part, flip in flips.items():
            with self.subTest(part):
                answer = self.why(*flip["words"], soc=flip.get("soc", SOC))
                if answer["result"].startswith("cached"):
                    self.fail(f"{part} changes no key")
                self.assertEqual([d["part"] for d in answer["differences"]], [part])
                self.assertNotEqual(answer["differences"][0]["then"],
                                    answer["differences"][0]["now"])
                named += 1
        lines = self.why("--keep_dtype=keep2.cfg")["differences"][0]
        self.assertIn("OpType::Add", lines["now"].replace("Optype", "OpType"))
        self.assertEqual(lines["then"], "")
        figure(f"why-flips named={named} of={len(flips)}")

    def test_neutral_flags_are_no_flips(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        for words in (["--log=info"], ["--precision_mode_v2=fp16"], ["--is_weight_clip=1"]):
            with self.subTest(words):
                self.assertTrue(self.why(*words)["result"].startswith("cached"))

    def test_one_byte_of_the_model(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        data = bytearray((self.world.work / self.model).read_bytes())
        data[len(data) // 2] ^= 1  # weights are most of the file
        self.world.write("other.onnx", bytes(data))
        answer = self.world.omcc("cache", "has", "--json", "--", "--model=other.onnx",
                                 "--framework=5", f"--soc_version={SOC}", "--backend=builtin")
        self.assertEqual(answer.status, 1)
        result = self.world.compile("other.onnx", "--json")
        if result.status == 0:
            reasons = result.json["data"]["miss_reasons"]
            self.assertEqual(len(reasons), 1, reasons)
            self.assertTrue(reasons[0].startswith("model: other content"), reasons)

    def test_worker_and_table(self):
        share = self.world.root / "share"
        shutil.copytree(BIN.parent / "share" / "omcc", share)
        worker = self.world.root / "omcc-worker"
        shutil.copy(BIN / "omcc-worker", worker)
        self.settings(f"tables: {share}\nworker: {worker}\n")
        self.ok(self.world.compile(self.model))
        self.stored()
        self.restart()
        with open(share / "soc" / "ascend310p.yaml", "a") as f:
            f.write("# another table\n")
        result = self.ok(self.world.compile(self.model, "--json"))
        self.assertEqual([r.split(":")[1] + ":" + r.split(":")[2].split()[0]
                          for r in result.json["data"]["miss_reasons"]],
                         ["table:soc/ascend310p.yaml"])
        self.stored(2)
        self.restart()
        with open(worker, "ab") as f:
            f.write(b"\0")
        result = self.ok(self.world.compile(self.model, "--json"))
        self.assertEqual([r.split(":")[1].split()[0] for r in result.json["data"]["miss_reasons"]],
                         ["worker"])

    def test_a_job_of_the_past(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        job = self.ok(self.world.compile(self.model, "--json", soc="Ascend910B1")).json["data"]["job"]
        result = self.ok(self.world.omcc("why", str(job), "--json"))
        value = schemas.check(self, result, "why")["data"]
        self.assertEqual([(d["part"], d["then"], d["now"]) for d in value["differences"]],
                         [("soc_version", SOC, "Ascend910B1")])
        text = self.ok(self.world.omcc("why", str(job))).out
        self.assertIn("differs from the stored entry", text)
        self.assertEqual(self.world.omcc("why", "123").status, 1)


class Levels(Cache):
    def test_permuted_initialisers_share_the_object(self):
        self.ok(self.world.compile(self.model, output="out/a"))
        self.stored()
        model = (self.world.work / self.model).read_bytes()
        other = permuted(model)
        self.assertNotEqual(model, other)
        self.world.write("other.onnx", other)
        result = self.ok(self.world.compile("other.onnx", "--json", output="out/b"))
        data = result.json["data"]
        self.assertEqual((data["result"], data["hit_kind"]), ("hit", "plan"), str(result))
        self.assertEqual(self.world.om("out/a").read_bytes(), self.world.om("out/b").read_bytes())
        self.stored(2)
        status = self.world.status()["cache"]
        self.assertEqual((status["entries"], status["objects"]), (2, 1))
        figure("plan-level entries=2 objects=1")

    def test_equal_plans_have_equal_bytes(self):
        seen = {}
        lists = ["", "OpType::Relu\n", "OpType::Conv\n", "OpType::Relu\nOpType::Conv\n",
                 "OpType::Conv\nOpType::Relu\n", "OpType::Relu\nOpType::Relu\n"]
        for i, content in enumerate(lists):
            self.world.write(f"k{i}.cfg", content or "OpType::Nothing\n")
            for mode in ("force_fp16", "allow_mix_precision"):
                data = self.ok(self.world.compile(
                    self.model, "--json", f"--keep_dtype=k{i}.cfg", f"--precision_mode={mode}",
                    output=f"out/{i}{mode}")).json["data"]
                sha = hashlib.sha256(self.world.om(f"out/{i}{mode}").read_bytes()).hexdigest()
                self.assertEqual(sha, data["artifact"]["object_sha256"])
                if data["hit_kind"] == "plan":
                    self.assertIn(sha, seen)
                seen.setdefault(sha, []).append((i, mode))
        figure(f"plan-property requests={2 * len(lists)} objects={len(seen)}")
        self.assertLess(len(seen), 2 * len(lists))

    def test_kinds_are_counted(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        self.assertEqual(self.data()["hit_kind"], "exact")
        self.assertEqual(self.data("--relabel", "--output=out/own")["hit_kind"], "relabelled")
        counters = self.ok(self.world.omcc("cache", "stats", "--json")).json["data"]["counters"]
        self.assertEqual((counters["hits_exact"], counters["hits_relabelled"]), (1, 1))
        wait_until(lambda: self.ok(self.world.omcc("cache", "stats", "--since", "1h", "--json"))
                   .json["data"]["counters"].get("hits") == 2, what="the figures of this hour")


class Verbs(Cache):
    def care(self, *words, status=0):
        result = self.world.omcc("cache", *words, "--json")
        self.assertEqual(result.status, status, str(result))
        return schemas.check(self, result, "cache")["data"]

    def test_show_get_whence(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        key = self.entries()[0]["key"]
        shown = self.care("show", key[:8])
        self.assertIn(f"soc_version={SOC}", shown["parts"])
        self.assertEqual([m["name"] for m in shown["members"] if m["kind"] == "artifact"], ["model.om"])
        self.care("get", key[:8], "-o", "got.om")
        self.assertEqual((self.world.work / "got.om").read_bytes(), self.world.om().read_bytes())
        self.ok(self.world.compile(self.model, "--relabel", output="out/own"))
        self.assertNotEqual(self.world.om("out/own").read_bytes(), self.world.om().read_bytes())
        for path in ("got.om", "out/own.om"):
            with self.subTest(path):
                value = self.ok(self.world.omcc("whence", path, "--json")).json["data"]
                self.assertEqual([e["key"] for e in value["entries"]], [key])
        self.world.write("strange.om", "not known")
        self.assertEqual(self.world.omcc("whence", "strange.om").status, 1)
        self.care("show", "ffff", status=1)

    def test_pins_and_collection(self):
        for soc in ("Ascend310P3", "Ascend910B1", "Ascend310"):
            self.ok(self.world.compile(self.model, soc=soc))
        self.stored(3)
        pinned = next(e["key"] for e in self.entries() if e["soc"] == "Ascend310P3")
        self.care("pin", pinned)
        self.assertEqual(self.care("gc", "--max", "0", "--dry-run")["counters"]["entries"], 2)
        self.assertEqual(len(self.entries()), 3)
        self.assertEqual(self.care("gc", "--older-than", "1h")["counters"]["entries"], 0)
        self.assertEqual(self.care("gc", "--max", "0")["counters"]["entries"], 2)
        self.assertEqual([e["key"] for e in self.entries()], [pinned])
        self.care("unpin", pinned)
        self.assertEqual(self.care("clear")["counters"]["entries"], 1)
        self.assertEqual(self.entries(), [])
        self.assertEqual(list((self.world.cache / "objects").rglob("[0-9a-f]" * 64)), [])
        self.care("gc", status=2)

    def test_a_pin_ends(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        self.care("pin", self.entries()[0]["key"], "--for", "1s")
        time.sleep(1.2)
        self.assertEqual(self.care("gc", "--max", "0")["counters"]["entries"], 1)

    def test_cached_only(self):
        result = self.world.compile(self.model, "--cached_only", "--json")
        self.assertEqual((result.status, result.json["data"]["result"]), (1, "uncached"))
        self.ok(self.world.compile(self.model))
        self.stored()
        self.assertTrue(self.summary(self.ok(self.world.compile(self.model, "--cached_only"))).startswith("hit"))
        result = self.world.compile(self.model, "--cached_only", soc="Ascend910B1")
        self.assertEqual(result.status, 1, str(result))
        self.assertEqual(self.world.status()["jobs"]["compiles"], 1)


class Damage(Cache):
    def objects(self):
        return list((self.world.cache / "objects").rglob("[0-9a-f]" * 64))

    def flip(self, path):
        """One bit, with size and times as they were."""
        st = os.stat(path)
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.seek(st.st_size // 2)
            byte = f.read(1)
            f.seek(-1, 1)
            f.write(bytes([byte[0] ^ 4]))
        os.chmod(path, 0o444)
        os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))

    def test_a_flipped_bit_is_never_delivered(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        good = self.world.om().read_bytes()
        rounds = 0
        for restart in (False, True, False):
            self.flip(self.objects()[0])
            if restart:
                self.restart()
            result = self.ok(self.world.compile(self.model, "--json", output="out/again"))
            self.assertEqual(result.json["data"]["result"], "miss", str(result))
            self.assertEqual(self.world.om("out/again").read_bytes(), good)
            wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the new entry")
            rounds += 1
        self.assertEqual(len(os.listdir(self.world.cache / "quarantine")), rounds)
        figure(f"R17 flips={rounds} wrong=0 quarantined={rounds}")

    def test_verify_finds_it(self):
        self.ok(self.world.compile(self.model))
        self.stored()
        self.ok(self.world.omcc("cache", "verify"))
        self.flip(self.objects()[0])
        result = self.world.omcc("cache", "verify", "--json")
        self.assertEqual(result.status, 8, str(result))
        self.assertEqual(result.json["data"]["counters"]["damaged"], 1)
        self.assertEqual(self.entries(), [])
        self.ok(self.world.omcc("cache", "verify"))


class Flight(Cache):
    def test_single_flight(self):
        n = 100
        words = [f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", "--backend=builtin"]
        self.ok(self.world.omcc("daemon", "start"))
        procs = [self.world.start(*words, f"--output=out/{i}") for i in range(n)]
        results = [self.ok(self.world.finish(p)) for p in procs]
        self.assertEqual(len(results), n)
        digests = {hashlib.sha256(self.world.om(f"out/{i}").read_bytes()).digest() for i in range(n)}
        self.assertEqual(len(digests), 1)
        self.assertEqual(self.world.status()["jobs"]["compiles"], 1)
        figure(f"R22 clients={n} compiles=1 wrong=0")

    def test_two_daemons(self):
        self.ok(self.world.compile(self.model))
        pid = self.world.daemon_pid()
        begun = time.monotonic()
        result = self.world.finish(self.world.start(
            f"--socket={self.world.root}/run/other.sock", f"--cache_dir={self.world.cache}",
            argv0=str(BIN / "omccd")))
        seconds = time.monotonic() - begun
        # What any process takes to start here, at this moment.
        begun = time.monotonic()
        self.ok(self.world.finish(self.world.start("--version", argv0=str(BIN / "omccd"))))
        start = time.monotonic() - begun
        self.assertNotEqual(result.status, 0)
        self.assertIn(f"pid {pid}", result.err)
        self.assertLess(seconds, 1 + 20 * start)
        figure(f"R20 refused_after_ms={seconds * 1000:.0f}")


class Toolkit(Cache):
    def setUp(self):
        super().setUp()
        self.toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", self.toolkit)
        self.world.env["ASCEND_HOME_PATH"] = str(self.toolkit)

    def run_atc(self, *words):
        return self.ok(self.world.compile(self.model, "--json", *words, backend=None)).json["data"]

    def test_a_custom_operator_is_touched(self):
        op = self.toolkit / "opp" / "vendors" / "x" / "op.so"
        op.parent.mkdir(parents=True)
        op.write_bytes(b"operator")
        self.assertEqual(self.run_atc()["result"], "miss")
        self.stored()
        self.assertEqual(self.run_atc()["result"], "hit")
        os.utime(op, (1, 1))
        data = self.run_atc()
        self.assertEqual(data["result"], "miss")
        self.assertEqual(len(data["miss_reasons"]), 1, data)
        self.assertIn("backend:custom_ops", data["miss_reasons"][0])

    def test_an_input_changes_meanwhile(self):
        (self.toolkit / "fake-atc.conf").write_text(f"FAKE_GATE={self.world.root}/gate\n")
        path = self.world.work / self.model
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--json")
        wait_until(lambda: (self.world.status() or {}).get("jobs", {}).get("tool_runs"),
                   what="the run")
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        (self.world.root / "gate").touch()
        result = self.ok(self.world.finish(proc)).json["data"]
        self.assertEqual(result["stored"], "no")
        self.assertIn("input changed", result["stored_reason"])
        self.assertTrue(self.world.om().exists())
        self.assertEqual(self.world.status()["cache"]["entries"], 0)
        figure("R19 entries_under_the_old_key=0")


del Cache
if __name__ == "__main__":
    main()
