"""What the tests of the store share: a world with one small model, and the store's folders."""
import shutil
import sys

import schemas
from harness import BINARY_DIR, Case, wait_until


def figure(text):
    print(f"figure {text}", file=sys.stderr)


class Store(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")

    def stored(self, n=1):
        wait_until(lambda: self.world.status()["cache"]["entries"] >= n, what="the stored result")

    def fill(self, *socs):
        for soc in socs:
            self.ok(self.world.compile(self.model, soc=soc, output=f"out/{soc}"))
        self.stored(len(socs))

    def care(self, *words, status=0):
        result = self.world.omcc("cache", *words, "--json")
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        return schemas.check(self, result, "cache")["data"]

    def keys(self):
        entries = self.ok(self.world.omcc("cache", "list", "--json")).json["data"]["entries"]
        return sorted(e["key"] for e in entries)

    def files(self, folder):
        return [p for p in (self.world.cache / folder).rglob("[0-9a-f]" * 64)]

    def stop(self):
        self.ok(self.world.omcc("daemon", "stop"))
        wait_until(lambda: not self.world.alive(), what="the daemon's end")

    def lose_index(self):
        self.stop()
        for path in self.world.cache.glob("index.sqlite*"):
            path.unlink()

    def toolkit(self, **settings):
        """An installed stand-in for the vendor's compiler, with its settings."""
        folder = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", folder)
        self.world.env["ASCEND_HOME_PATH"] = str(folder)
        self.fake(**settings)
        return folder

    def fake(self, **settings):
        lines = [f"FAKE_{name.upper()}={value}\n" for name, value in settings.items()]
        (self.world.root / "toolkit" / "fake-atc.conf").write_text("".join(lines))
