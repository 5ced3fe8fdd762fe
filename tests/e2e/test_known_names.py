"""External data of a model, after the index forgot which files there are."""
import contextlib
import shutil
import sqlite3

from harness import SOC, main
from store_case import Store, figure

SMALL = ("--layers", "1,1,1,1", "--width", "16", "--image", "64", "--classes", "10")


class Names(Store):
    """Which further files a model names is known from its entries alone, so that a request that may
    start nothing finds them in an index that never saw the model compiled."""

    def setUp(self):
        super().setUp()
        self.models = {"plain": (self.model, "--framework=5"), "external": (self.world.zoo("external"), "--framework=5"),
                       "tensorflow": (self.world.zoo("tf-resnet50", *SMALL, name="tf.pb"), "--framework=3")}

    def words(self, name):
        model, framework = self.models[name]
        return [f"--model={model}", framework, f"--soc_version={SOC}", "--backend=builtin"]

    def asked(self, name, *more):
        """How the two requests that start nothing are answered: (has, cached only)."""
        has = self.world.omcc("cache", "has", "--json", "--", *self.words(name), *more)
        only = self.world.omcc(*self.words(name), *more, "--output=out/only", "--cached_only", "--json")
        return [has.json["data"]["cached"], only.json["data"]["result"]]

    def compile_all(self):
        for name in self.models:
            self.ok(self.world.omcc(*self.words(name), f"--output=out/{name}"))
        self.stored(len(self.models))

    def check_all(self):
        for name in self.models:
            with self.subTest(name):
                self.assertEqual(self.asked(name), [True, "hit"])
                self.assertEqual(self.world.om("out/only").read_bytes(), self.world.om(f"out/{name}").read_bytes())
        self.assertEqual(self.world.status()["jobs"]["compiles"], 0)

    def test_after_a_rebuild(self):
        self.compile_all()
        self.lose_index()
        self.ok(self.world.omcc("daemon", "start"))
        self.assertEqual(self.care("rebuild")["counters"]["entries"], 3)
        self.check_all()
        figure("names-after-rebuild models=3 found=3")

    def test_after_an_import(self):
        self.compile_all()
        self.care("export", "all.omcc")
        self.stop()
        shutil.rmtree(self.world.cache)
        self.ok(self.world.omcc("daemon", "start"))
        self.assertEqual(self.care("import", "all.omcc")["counters"]["entries"], 3)
        self.check_all()
        # The files still count: other bytes are another request.
        data = self.world.work / "external.onnx.data"
        data.write_bytes(bytes([data.read_bytes()[0] ^ 1]) + data.read_bytes()[1:])
        self.assertEqual(self.asked("external"), [False, "uncached"])
        figure("names-after-import models=3 found=3")

    def test_a_hit_writes_nothing(self):
        """An entry is enough: a list of names that was lost is not written again by a hit."""
        self.compile_all()
        self.stop()
        index = self.world.cache / "index.sqlite"
        with contextlib.closing(sqlite3.connect(index)) as db, db:
            self.assertEqual(db.execute("DELETE FROM inputs").rowcount, 2)
        self.ok(self.world.omcc("daemon", "start"))
        self.assertEqual(self.asked("external"), [True, "hit"])
        self.stop()
        with contextlib.closing(sqlite3.connect(index)) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM inputs").fetchone(), (0,))

    def test_another_framework_says_nothing_of_names(self):
        """What atc was told to read as TensorFlow has no external data in its key."""
        self.toolkit()
        model, _ = self.models["external"]
        self.ok(self.world.omcc(f"--model={model}", "--framework=3", f"--soc_version={SOC}", "--output=out/tf",
                                "--backend=atc"))
        self.stored()
        self.assertEqual(self.asked("external")[0], False)
        self.ok(self.world.omcc(*self.words("external"), "--output=out/external"))
        self.stored(2)
        key = next(e["key"] for e in self.ok(self.world.omcc("cache", "list", "--json")).json["data"]["entries"]
                   if e["backend"] == "builtin")
        self.assertTrue([p for p in self.care("show", key)["parts"] if p.startswith("external:")])


del Store
if __name__ == "__main__":
    main()
