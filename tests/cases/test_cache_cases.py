"""Trouble that users met with caches, one test per case, named after its id; each with a small
model of its own and a stand-in for the vendor's compiler where one is needed."""
import hashlib
import os
import pathlib
import shutil

from harness import BINARY_DIR, SOC, Case, descendants, main, processes, wait_until


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
    """(number, whole field, content) of a message of varints and blocks."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        if tag & 7 == 0:
            content, (_, at) = None, varint(data, at)
        else:
            size, at = varint(data, at)
            content, at = data[at:at + size], at + size
        yield tag >> 3, data[start:at], content


class CacheCases(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")

    def toolkit(self):
        folder = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", folder)
        self.world.env["ASCEND_HOME_PATH"] = str(folder)
        return folder

    def stored(self, n=1):
        wait_until(lambda: self.world.status()["cache"]["entries"] >= n, what="the stored result")

    def data(self, *words, **options):
        return self.ok(self.world.compile(options.pop("model", self.model), "--json", *words, **options)).json["data"]

    def test_C78(self):
        """force clears the shared kernel cache while others compile: every job has its own."""
        gate = self.world.root / "gate"
        (self.toolkit() / "fake-atc.conf").write_text(f"FAKE_GATE={gate}\n")
        self.ok(self.world.omcc("daemon", "start"))
        procs = [self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", "--json",
                                  f"--output=out/{mode}", f"--op_compiler_cache_mode={mode}",
                                  f"--input_shape=images:{batch},3,8,8",
                                  f"--op_compiler_cache_dir={self.world.work}/shared")
                 for batch, mode in ((1, "enable"), (2, "force"))]

        def running():
            table = processes()
            found = set()
            for pid in descendants(self.world.daemon_pid()):
                words = table.get(pid, (0, "", ""))[2].split()
                found |= {w.split("=")[1] for w in words if w.startswith("--op_compiler_cache_dir=")}
            return len(found) == 2 and found
        folders = wait_until(running, what="two compilers")
        for folder in folders:
            self.assertFalse(folder.startswith(str(self.world.work)), folders)
        gate.touch()
        for proc in procs:
            self.ok(self.world.finish(proc))
        self.assertFalse((self.world.work / "shared").exists())

    def test_C79(self):
        """A custom operator is installed again: the old kernel must not be used."""
        operator = self.toolkit() / "opp" / "vendors" / "x" / "op_impl.so"
        operator.parent.mkdir(parents=True)
        operator.write_bytes(b"one")
        self.assertEqual(self.data(backend=None)["result"], "miss")
        self.stored()
        self.assertEqual(self.data(backend=None)["result"], "hit")
        operator.write_bytes(b"two")
        data = self.data(backend=None)
        self.assertEqual(data["result"], "miss")
        self.assertEqual(len(data["miss_reasons"]), 1)
        self.assertIn("custom_ops", data["miss_reasons"][0])

    def test_C82(self):
        for batch in (1, 2):
            data = self.data(f"--input_shape=images:{batch},3,8,8", output=f"out/{batch}")
            self.assertEqual(data["result"], "miss")
            self.stored(batch)
        self.assertEqual(data["miss_reasons"], ["input_shape is 'images:2,3,8,8', was 'images:1,3,8,8'"])
        self.assertNotEqual(self.world.om("out/1").read_bytes(), self.world.om("out/2").read_bytes())

    def test_C86(self):
        """Four jobs from one directory: nothing but the results appears in it."""
        self.toolkit()
        before = set(os.listdir(self.world.work))
        procs = [self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                  f"--input_shape=images:{i + 1},3,8,8", f"--output=result{i}") for i in range(4)]
        for proc in procs:
            self.ok(self.world.finish(proc))
        self.assertEqual(set(os.listdir(self.world.work)) - before, {f"result{i}.om" for i in range(4)})
        self.assertEqual(self.world.status()["jobs"]["tool_runs"], 4)

    def test_C87(self):
        """Two exports of one network: other order, other producer, the same artifact."""
        self.data(output="out/a")
        self.stored()
        out = b""
        for number, whole, content in fields((self.world.work / self.model).read_bytes()):
            if number == 7:
                inner = list(fields(content))
                weights = [w for n, w, _ in inner if n == 5]
                graph = b"".join(w for n, w, _ in inner if n != 5) + b"".join(reversed(weights))
                whole = b"\x3a" + put_varint(len(graph)) + graph
            if number != 3:
                out += whole
        self.world.write("again.onnx", out + b"\x1a\x03new")
        data = self.data(model="again.onnx", output="out/b")
        self.assertEqual((data["result"], data["hit_kind"]), ("hit", "plan"))
        self.assertEqual(self.world.om("out/a").read_bytes(), self.world.om("out/b").read_bytes())
        # Where a list refers to a name, the name counts.
        keep = self.world.write("keep.cfg", "/b0/act/Relu\n")
        self.assertEqual(self.data(f"--keep_dtype={keep}", output="out/c")["result"], "miss")

    def test_C88(self):
        self.data()
        self.stored()
        result = self.ok(self.world.omcc("why", "--", f"--model={self.model}", "--framework=5",
                                         "--soc_version=Ascend910B1", "--backend=builtin"))
        self.assertIn("in 1 part:", result.out)
        self.assertIn(f"'{SOC}'", result.out)
        self.assertIn("'Ascend910B1'", result.out)

    def test_C93(self):
        """An empty object is never served."""
        good = hashlib.sha256()
        self.data()
        self.stored()
        good.update(self.world.om().read_bytes())
        path, = (self.world.cache / "objects").rglob("[0-9a-f]" * 64)
        os.chmod(path, 0o600)
        path.write_bytes(b"")
        data = self.data(output="out/again")
        self.assertEqual(data["result"], "miss")
        self.assertEqual(data["artifact"]["object_sha256"], good.hexdigest())
        self.assertEqual(pathlib.Path(self.world.om("out/again")).stat().st_size, data["artifact"]["size"])


if __name__ == "__main__":
    main()
