"""Flags that name a folder: what lies in it is part of the key, where it lies is not."""
import json
import os
import shutil

import schemas
from harness import SOC, main, wait_until
from store_case import Store, figure


class Folders(Store):
    def setUp(self):
        super().setUp()
        self.toolkit()
        self.bank("bank")

    def bank(self, name):
        self.world.write(f"{name}/Ascend310P3_aoe_tune.json", '{"op": "Conv2D"}')
        self.world.write(f"{name}/custom/b.json", "{}")

    def words(self, flag="op_bank_path", folder="bank", backend="atc"):
        return [f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", f"--backend={backend}",
                f"--{flag}={folder}"]

    def run_one(self, *words, name="m", **options):
        return self.ok(self.world.omcc(*(words or self.words()), f"--output=out/{name}", "--json", **options)).json

    def store(self, *words):
        before = self.world.status()["cache"]["entries"] if self.world.status() else 0
        data = self.run_one(*words)["data"]
        self.assertEqual((data["result"], data["stored"]), ("miss", "pending"), data)
        self.stored(before + 1)

    def difference(self, *words):
        """The one part that differs; why, has and the compile agree on it."""
        words = words or self.words()
        answer = schemas.check(self, self.ok(self.world.omcc("why", "--json", "--", *words)), "why")["data"]
        self.assertEqual(len(answer["differences"]), 1, answer)
        has = self.world.omcc("cache", "has", "--", *words)
        self.assertEqual(has.status, 1)
        self.assertIn(answer["differences"][0]["part"], has.out)
        return answer["differences"][0], has.out

    def cached(self, *words):
        return self.ok(self.world.omcc("cache", "has", "--json", "--", *(words or self.words()))).json["data"]["cached"]

    def test_each_change_is_named(self):
        flips = 0
        for flag, backend in (("op_bank_path", "atc"), ("mdl_bank_path", "builtin")):
            with self.subTest(flag):
                words = self.words(flag, backend=backend)
                self.store(*words)
                self.assertTrue(self.cached(*words))
                flips += self.flip_all(flag, words)
                self.assertTrue(self.cached(*words), "the folder is what it was")
        figure(f"folder-flips named={flips}")

    def flip_all(self, flag, words):
        file, inner = self.world.work / "bank/Ascend310P3_aoe_tune.json", self.world.work / "bank/custom/b.json"
        old = file.read_bytes()
        stat = file.stat()
        file.write_bytes(old.replace(b"Conv2D", b"MatMul"))
        found, text = self.difference(*words)
        self.assertEqual(found["part"], flag)
        for side in ("then", "now"):
            self.assertRegex(found[side], r"^Ascend310P3_aoe_tune\.json \(sha256 [0-9a-f]{12}\)\n$")
        self.assertIn("Ascend310P3_aoe_tune.json", text)
        file.write_bytes(old)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        (self.world.work / "bank/new.json").write_text("x")
        self.assertIn("new.json", self.difference(*words)[0]["now"])
        (self.world.work / "bank/new.json").unlink()
        inner.rename(inner.with_name("c.json"))
        found, _ = self.difference(*words)
        self.assertIn("custom/b.json", found["then"])
        self.assertIn("custom/c.json", found["now"])
        inner.with_name("c.json").rename(inner)
        (self.world.work / "bank/empty").mkdir()
        self.assertEqual(self.difference(*words)[0]["now"], "empty/\n")
        (self.world.work / "bank/empty").rmdir()
        return 4

    def test_the_place_is_no_part(self):
        self.store()
        shutil.copytree(self.world.work / "bank", self.world.work / "elsewhere" / "b")
        self.assertTrue(self.cached(*self.words(folder="elsewhere/b")))
        # A link to a file beside it is that file; the folder itself may be reached by a link.
        moved = self.world.work / "elsewhere/b/custom/b.json"
        moved.rename(moved.parent.parent / "real.json")
        moved.symlink_to("../real.json")
        self.assertIn("real.json", self.difference(*self.words(folder="elsewhere/b"))[0]["now"])
        os.symlink("bank", self.world.work / "by_link")
        self.assertTrue(self.cached(*self.words(folder="by_link")))

    def test_the_compiler_gets_the_path(self):
        """A relative path means the user's directory, although the compiler works in another."""
        self.fake(stderr=self.world.work / "bank/custom/b.json")
        log = self.world.root / "args"
        atc = self.world.root / "toolkit" / "bin" / "atc.bin"
        atc.rename(atc.with_name("atc.real"))
        atc.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{log}\nexec "$0/../atc.real" "$@"\n'.replace(
            '"$0/../atc.real"', f'"{atc.with_name("atc.real")}"'))
        atc.chmod(0o755)
        self.run_one()
        self.assertIn(f"--op_bank_path={self.world.work}/bank", log.read_text().splitlines())

    def test_what_gives_no_key(self):
        """Compiled all the same, not stored, and the reason can be acted on."""
        def outside(bank):
            os.symlink("/etc/hostname", bank / "x")

        def pipe(bank):
            os.mkfifo(bank / "x")

        def large(bank):
            with open(bank / "x", "wb") as f:
                f.truncate((1 << 30) + 1)

        def gone(bank):
            shutil.rmtree(bank)

        def no_folder(bank):
            shutil.rmtree(bank)
            bank.write_text("a file")

        # Every other reason: tests/unit/folder.
        reasons = {outside: "'x' leads out of it", pipe: "'x' is neither file nor folder",
                   large: "more than 1024 MiB", gone: "no folder that can be opened",
                   no_folder: "no folder that can be opened"}
        for number, (spoil, reason) in enumerate(reasons.items()):
            with self.subTest(spoil.__name__):
                name = f"bank{number}"
                self.bank(name)
                spoil(self.world.work / name)
                value = self.run_one(*self.words(folder=name), name=name)
                self.assertEqual((value["data"]["result"], value["data"]["stored"]), ("miss", "no"))
                self.assertIn(reason, value["data"]["stored_reason"])
                finding, = [f for f in value["findings"] if f["id"] == "folder-not-keyed"]
                self.assertIn(reason, json.dumps(finding))
                self.assertTrue(self.world.om(f"out/{name}").exists())
                has = self.world.omcc("cache", "has", "--", *self.words(folder=name))
                self.assertEqual(has.status, 1)
                self.assertIn(reason, has.out)
        self.assertEqual(self.world.status()["cache"]["entries"], 0)
        figure(f"folder-refused reasons={len(reasons)} stored=0")

    def test_a_change_while_it_compiles(self):
        """Delivered and not stored: in the folder, and of the folder itself."""
        def edit():
            (self.world.work / "bank/custom/b.json").write_text("changed")

        def add():
            (self.world.work / "bank/new").write_text("x")

        def swap():
            (self.world.work / "bank").rename(self.world.work / "old")
            shutil.copytree(self.world.work / "old", self.world.work / "bank")

        self.fake(sleep_ms=400)
        for number, (change, name) in enumerate(((edit, "bank/custom/b.json"), (add, "bank/new"), (swap, "bank"))):
            with self.subTest(change.__name__):
                runs = (self.world.status() or {"jobs": {"tool_runs": 0}})["jobs"]["tool_runs"]
                proc = self.world.start(*self.words(), f"--output=out/{number}", "--json")
                wait_until(lambda: (self.world.status() or {"jobs": {"tool_runs": 0}})["jobs"]["tool_runs"] > runs,
                           what="the run")
                change()
                value = self.ok(self.world.finish(proc)).json
                self.assertEqual(value["data"]["stored"], "no")
                self.assertIn("input changed", value["data"]["stored_reason"])
                finding, = [f for f in value["findings"] if f["id"] == "input-changed"]
                self.assertIn(f"{self.world.work}/{name}'", finding["text"])
        self.assertEqual(self.world.status()["cache"]["entries"], 0)

    def test_digests_are_remembered(self):
        """A folder at rest is listed and not read again."""
        for path in (self.world.work / "bank").rglob("*.json"):
            os.utime(path, (1, 1))
        wait_until(lambda: self.run_one()["data"]["result"] == "hit", what="a hit")

        def all_from_the_memo():
            before = self.world.status()["cache"]
            self.run_one()
            after = self.world.status()["cache"]
            # Model and two files.
            return (after["memo_hits"] - before["memo_hits"], after["memo_misses"] - before["memo_misses"]) == (3, 0)
        wait_until(all_from_the_memo, what="three digests from the memo")


del Store
if __name__ == "__main__":
    main()
