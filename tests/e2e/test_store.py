"""The store as its owner meets it: a lost index taken up again, exports, who sees what on a
shared daemon, room that is made in time, links that come and go.

Each test prints one line with its figure, so that docs/reliability.md can be compared.
"""
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import BIN, SOC, main, wait_until
from store_case import Store, figure

OTHER_UID = 54321  # nobody's


SOCS = ("Ascend310P3", "Ascend910B1", "Ascend310")


class Rebuild(Store):
    def test_a_lost_index(self):
        self.fill(*SOCS)
        keys = self.keys()
        good = {soc: self.world.om(f"out/{soc}").read_bytes() for soc in SOCS}
        self.lose_index()
        self.ok(self.world.omcc("daemon", "start"))
        self.assertEqual(self.keys(), [])
        counters = self.care("rebuild")["counters"]
        self.assertEqual((counters["entries"], counters["not_usable"], counters["objects_removed"]), (3, 0, 0))
        self.assertEqual(self.keys(), keys)
        for soc in SOCS:
            result = self.ok(self.world.compile(self.model, "--json", soc=soc, output="out/again"))
            self.assertEqual(result.json["data"]["hit_kind"], "exact", str(result))
            self.assertEqual(self.world.om("out/again").read_bytes(), good[soc])
        self.assertEqual(self.world.status()["jobs"]["compiles"], 0)
        self.assertEqual(self.care("rebuild")["counters"]["entries"], 0)
        figure(f"rebuild entries={len(keys)} adopted={counters['entries']} wrong=0")

    def test_a_damaged_index_is_set_aside_and_rebuilt(self):
        self.fill(*SOCS)
        keys = self.keys()
        self.stop()
        (self.world.cache / "index.sqlite").write_bytes(b"not a database" * 1000)
        self.ok(self.world.omcc("daemon", "start"))
        self.assertEqual(len(list(self.world.cache.glob("index.sqlite.corrupt-*"))), 1)
        self.assertEqual(self.care("rebuild")["counters"]["entries"], 3)
        self.assertEqual(self.keys(), keys)

    def test_nothing_wrong_is_taken_up(self):
        self.fill(*SOCS, "Ascend910A")
        self.lose_index()
        records, objects = sorted(self.files("entries")), sorted(self.files("objects"))
        self.assertEqual((len(records), len(objects)), (4, 4))
        # One record is damaged, one lies under another key, one object was changed, size and all.
        data = bytearray(records[0].read_bytes())
        data[len(data) // 2] ^= 1
        records[0].write_bytes(data)
        moved = records[1].parent / (records[1].name[:2] + "0" * 62)
        records[1].rename(moved)
        taken = [r.read_bytes() for r in records[2:]]
        changed = next(o for o in objects if bytes.fromhex(o.name) in taken[0])
        os.chmod(changed, 0o600)
        old = bytearray(changed.read_bytes())
        old[100] ^= 1
        changed.write_bytes(old)
        self.ok(self.world.omcc("daemon", "start"))
        counters = self.care("rebuild")["counters"]
        self.assertEqual((counters["entries"], counters["not_usable"], counters["objects_removed"]), (2, 2, 2))
        # The scrubber may have come to the changed object already.
        self.assertIn(len(self.files("entries")), (1, 2))
        results = []
        for soc in (*SOCS, "Ascend910A"):
            before = self.world.om(f"out/{soc}").read_bytes()
            result = self.ok(self.world.compile(self.model, "--json", soc=soc, output="out/again"))
            results.append(result.json["data"]["result"])
            self.assertEqual(self.world.om("out/again").read_bytes(), before)
        self.assertEqual(sorted(results), ["hit", "miss", "miss", "miss"])
        figure("rebuild-damage records=2 objects=1 wrong=0")

    def test_evicted_entries_stay_away(self):
        self.fill(*SOCS)
        self.care("gc", "--max", "0")
        self.assertEqual((self.files("entries"), self.files("objects")), ([], []))
        self.lose_index()
        self.ok(self.world.omcc("daemon", "start"))
        self.assertEqual(self.care("rebuild")["counters"]["entries"], 0)


class Port(Store):
    def export(self, name="all.omcc", *words):
        self.care("export", name, *words)
        return (self.world.work / name).read_bytes()

    def test_there_and_back(self):
        self.fill(*SOCS)
        keys, good = self.keys(), {soc: self.world.om(f"out/{soc}").read_bytes() for soc in SOCS}
        counters = self.care("export", "all.omcc")["counters"]
        self.assertEqual(counters["entries"], 3)
        self.assertEqual(counters["bytes"], (self.world.work / "all.omcc").stat().st_size)
        self.care("clear")
        counters = self.care("import", "all.omcc")["counters"]
        self.assertEqual((counters["entries"], counters["known"]), (3, 0))
        self.assertEqual(self.keys(), keys)
        for soc in SOCS:
            result = self.ok(self.world.compile(self.model, "--json", soc=soc, output="out/again"))
            self.assertEqual(result.json["data"]["hit_kind"], "exact")
            self.assertEqual(self.world.om("out/again").read_bytes(), good[soc])
        self.assertEqual(self.care("import", "all.omcc")["counters"]["known"], 3)
        self.assertEqual(len(self.files("objects")), 3)
        figure("export entries=3 imported=3 wrong=0")

    def test_one_entry(self):
        self.fill(*SOCS)
        key = self.keys()[0]
        self.export("one.omcc", key[:12])
        self.care("clear")
        self.assertEqual(self.care("import", "one.omcc")["counters"]["entries"], 1)
        self.assertEqual(self.keys(), [key])

    def test_damage_is_a_finding_and_imports_nothing(self):
        self.fill(*SOCS)
        whole = self.export()
        self.care("clear")
        damages = {"cut": whole[:-1], "half": whole[:len(whole) // 2], "empty": b"", "longer": whole + b"x",
                   "other": b"#!/bin/sh\n" * 100, "no end": whole[:-44]}
        step = max(1, len(whole) // 40)
        for at in range(0, len(whole), step):
            damages[f"bit at {at}"] = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:]
        for name, data in damages.items():
            with self.subTest(name):
                self.world.write("bad.omcc", data)
                result = self.world.omcc("cache", "import", "bad.omcc", "--json")
                self.fails(result, 2, "export-damaged")
                self.assertEqual(self.keys(), [])
        self.assertEqual((self.files("entries"), self.files("objects")), ([], []))
        self.world.write("good.omcc", whole)
        self.assertEqual(self.care("import", "good.omcc")["counters"]["entries"], 3)
        figure(f"import-damage files={len(damages)} imported=0")

    def test_a_foreign_key_is_refused(self):
        """Digests put right around a record whose key is not that of its parts."""
        self.fill(SOC)
        whole = bytearray(self.export())
        key = bytes.fromhex(self.keys()[0])
        self.care("clear")
        at = whole.index(b"RECD")
        length = int.from_bytes(whole[at + 4:at + 12], "little")
        record = bytearray(whole[at + 44:at + 44 + length])
        self.assertEqual(record[8:40], key)
        record[8] ^= 1
        record[-32:] = hashlib.sha256(record[:-32]).digest()
        whole[at + 12:at + 44] = hashlib.sha256(record).digest()
        whole[at + 44:at + 44 + length] = record
        heads, position = b"", 13
        while whole[position:position + 4] != b"DONE":
            heads += whole[position:position + 44]
            position += 44 + int.from_bytes(whole[position + 4:position + 12], "little")
        whole[position + 12:position + 44] = hashlib.sha256(heads).digest()
        self.world.write("bad.omcc", bytes(whole))
        result = self.world.omcc("cache", "import", "bad.omcc")
        self.fails(result, 2, "export-damaged")
        self.assertIn("key that is not its own", result.err)

    def test_an_interrupted_export_leaves_nothing(self):
        """No half file, and the daemon is free for the next errand, whenever the signal comes."""
        self.toolkit(size=24 << 20)
        self.ok(self.world.compile(self.model, backend="atc"))
        self.stored()
        before = set(os.listdir(self.world.work))
        ended = 0
        for wait in (0, 0.02, 0.05):
            proc = self.world.start("cache", "export", "all.omcc")
            time.sleep(wait)
            proc.send_signal(signal.SIGINT)
            ended += self.world.finish(proc).status != 0
            left = set(os.listdir(self.world.work)) - before
            if left:
                self.assertEqual(left, {"all.omcc"})
                self.care("import", "all.omcc")  # whole, or this is a finding
                (self.world.work / "all.omcc").unlink()
            wait_until(lambda: self.world.omcc("cache", "export", "next.omcc").status == 0, what="the next export")
            (self.world.work / "next.omcc").unlink()
        self.assertGreater(ended, 0)
        figure(f"export-interrupted signals=3 cut={ended} half_files=0")

    def test_unfit_places(self):
        self.fill(SOC)
        for words in (["export"], ["import"], ["export", "no/such/folder/x"], ["import", "absent.omcc"],
                      ["export", "out"]):
            with self.subTest(words):
                result = self.world.omcc("cache", *words, "--json")
                self.assertEqual(result.status, 2, str(result))
        self.assertEqual([n for n in os.listdir(self.world.work) if n.startswith(".omcc")], [])
        self.care("export", "x.omcc", "ffff", status=1)
        self.assertFalse((self.world.work / "x.omcc").exists())


@unittest.skipUnless(os.geteuid() == 0, "only root can ask as another user")
class SharedDaemon(Store):
    """Two users of one daemon; the daemon's own user is its admin."""

    def setUp(self):
        super().setUp()
        for folder in (self.world.root, self.world.socket.parent, self.world.work):
            folder.chmod(0o755)
        self.home = self.world.root / "other"
        self.home.mkdir()
        shutil.copy(self.world.work / self.model, self.home / self.model)
        for path in (self.home, self.home / self.model):
            os.chown(path, OTHER_UID, OTHER_UID)
        # The programs may lie where another user may not look.
        self.client = self.world.root / "omcc"
        shutil.copy(BIN / "omcc", self.client)
        with open(f"{self.world.socket}.log", "w", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(
                [str(BIN / "omccd"), f"--socket={self.world.socket}", f"--cache_dir={self.world.cache}",
                 "--socket_mode=0666", "--idle_exit=1h"], env=self.world.env, cwd=self.world.work,
                stdout=subprocess.DEVNULL, stderr=log)
        self.addCleanup(self.daemon.wait)
        self.addCleanup(self.daemon.terminate)
        wait_until(self.world.status, what="the daemon")

    def other(self, *words, status=0):
        result = self.world.omcc(*words, argv0=str(self.client), cwd=self.home, env={"HOME": str(self.home)},
                                 user=OTHER_UID, group=OTHER_UID, extra_groups=[])
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        return result

    def other_compile(self, soc, status=0):
        return self.other(f"--model={self.model}", "--framework=5", f"--soc_version={soc}", "--backend=builtin",
                          f"--output=out/{soc}", "--json", status=status).json["data"]

    def other_keys(self):
        return sorted(e["key"] for e in self.other("cache", "list", "--json").json["data"]["entries"])

    def test_who_sees_what(self):
        self.fill("Ascend310P3", "Ascend910B1")
        mine = self.keys()
        self.other_compile("Ascend310")
        wait_until(lambda: len(self.keys()) == 3, what="the third entry")
        his, = set(self.keys()) - set(mine)
        self.assertEqual(self.other_keys(), [his])
        for verb in ("show", "pin"):
            self.other("cache", verb, mine[0], status=1)
            self.other("cache", verb, his)
        self.other("cache", "get", mine[0], "-o", "x.om", status=1)
        self.other("cache", "get", his, "-o", "x.om")
        self.other("why", mine[0], status=1)
        self.other("why", his)
        self.other("cache", "export", "mine.omcc", mine[0], status=1)
        exported = self.other("cache", "export", "his.omcc", "--json").json["data"]["counters"]
        self.assertEqual(exported["entries"], 1)
        # whence of a file that somebody else asked for says as little.
        shutil.copy(self.world.om("out/Ascend310P3"), self.home / "strange.om")
        os.chmod(self.home / "strange.om", 0o644)
        self.other("whence", "strange.om", status=1)
        for words in (["clear"], ["gc", "--max", "0"], ["verify"], ["rebuild"], ["import", "his.omcc"]):
            with self.subTest(words):
                self.other("cache", *words, status=7)
        self.assertEqual(len(self.keys()), 3)
        # The neighbour's values are no answer to "why" either: the job is his, the reason may name
        # only what he may see.
        data = self.other_compile("Ascend910B1")
        self.assertEqual((data["result"], data["hit_kind"]), ("hit", "exact"))
        wait_until(lambda: len(self.other_keys()) == 2, what="the shared entry")
        figure("visibility uids=2 own=1 all=3 refused=10")

    def test_reasons_name_own_entries_only(self):
        self.ok(self.world.compile(self.model, "--input_shape=images:2,3,8,8"))
        self.stored()
        data = self.other_compile("Ascend310P3")
        self.assertEqual(data["miss_reasons"], ["nothing like it is stored"])
        wait_until(lambda: len(self.keys()) == 2, what="the entry")
        data = self.other_compile("Ascend910B1")
        self.assertEqual(len(data["miss_reasons"]), 1)
        self.assertIn("Ascend310P3", data["miss_reasons"][0])


class Links(Store):
    """A hard link to an object comes and goes without the object being digested again; what
    was changed through no link is still found."""

    def link(self, name):
        return self.ok(self.world.compile(self.model, "--link", "--json", output=name)).json["data"]

    def test_links_come_and_go(self):
        self.assertEqual(self.link("out/a")["artifact"]["placed"], "link")
        self.stored()
        object, = self.files("objects")
        for round in range(3):
            for name in self.world.names():
                (self.world.work / "out" / name).unlink()
            self.assertEqual(object.stat().st_nlink, 1)
            data = self.link(f"out/{round}")
            self.assertEqual((data["result"], data["artifact"]["placed"]), ("hit", "link"))
            self.assertEqual(object.stat().st_nlink, 2)
        proofs = self.world.status()["cache"]["proofs"]
        self.assertEqual(proofs, 0)
        figure(f"links rounds=3 objects_digested_again={proofs}")

    def test_an_object_changed_meanwhile_is_found(self):
        """Never linked: its ctime still counts, so size and mtime restored are not enough."""
        self.ok(self.world.compile(self.model))
        self.stored()
        object, = self.files("objects")
        before, good = object.stat(), self.world.om().read_bytes()
        os.chmod(object, 0o600)
        data = bytearray(object.read_bytes())
        data[99] ^= 1
        with open(object, "r+b") as f:
            f.write(data)
        os.chmod(object, 0o444)
        os.utime(object, ns=(before.st_atime_ns, before.st_mtime_ns))
        data = self.link("out/b")
        self.assertEqual(data["result"], "miss")
        self.assertEqual(self.world.om("out/b").read_bytes(), good)

    def test_other_reasons_to_copy_are_told(self):
        self.link("out/a")
        self.stored()
        result = self.ok(self.world.compile(self.model, "--link", "--relabel", output="out/b"))
        self.assertIn("[link-refused]", result.err)
        self.assertEqual((self.world.work / "out/b.om").stat().st_nlink, 1)

    def test_set_in_the_settings(self):
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("delivery: link\n")
        data = self.ok(self.world.compile(self.model, "--json")).json["data"]
        self.assertEqual(data["artifact"]["placed"], "link")
        self.stored()
        self.assertEqual(self.world.om().stat().st_nlink, 2)
        relabelled = self.ok(self.world.compile(self.model, "--relabel", "--json", output="out/own"))
        self.assertEqual(relabelled.json["data"]["artifact"]["placed"], "relabelled")
        self.assertEqual(relabelled.ids, [i for i in relabelled.ids if i != "link-refused"])


class Delivery(Store):
    """What the vendor's compiler left beside the artifact comes with a hit as with the run."""

    def setUp(self):
        super().setUp()
        self.toolkit()

    def run_atc(self, *words, umask=0o022):
        result = self.ok(self.world.compile(self.model, *words, backend=None, umask=umask))
        files = {p.relative_to(self.world.work).as_posix(): (p.read_bytes(), p.stat().st_mode & 0o777)
                 for p in self.world.work.rglob("*") if p.is_file() and p.name != self.model}
        shutil.rmtree(self.world.work / "out")
        return result, files

    def test_files_and_output_of_a_hit(self):
        self.fake(dynamic=1, weight_files=3, size=40000)
        first, made = self.run_atc("--external_weight=1")
        self.assertEqual(len(made), 4)
        self.assertIn("out/m_linux_x86_64.om", made)
        self.assertEqual(len([n for n in made if n.startswith("out/weight/")]), 3)
        self.stored()
        for umask in (0, 0o077):
            again, files = self.run_atc("--external_weight=1", umask=umask)
            self.assertTrue(self.summary(again).startswith("hit"), again)
            self.assertEqual(files, made)
            self.assertEqual(again.out_bytes, first.out_bytes)
        self.assertEqual({mode for _, mode in made.values()}, {0o600})

    def test_the_check_report(self):
        """A side file with a place of its own: where each request wants it, from run and hit alike."""
        _, made = self.run_atc("--check_report=out/reports/first.json")
        self.assertEqual(sorted(made), ["out/m.om", "out/reports/first.json"])
        self.assertEqual(made["out/reports/first.json"][0], b'{"op": []}\n')
        self.stored()
        again, files = self.run_atc("--check_report=out/other.json")
        self.assertTrue(self.summary(again).startswith("hit"), again)
        self.assertEqual(sorted(files), ["out/m.om", "out/other.json"])
        self.assertEqual(files["out/other.json"][0], made["out/reports/first.json"][0])
        key, = self.keys()
        self.assertEqual([(m["name"], m["kind"]) for m in self.care("show", key)["members"] if m["kind"] == "side"],
                         [("check_result.json", "side")])
        # The pre-check alone makes no artifact and is not stored.
        checked, files = self.run_atc("--mode=3", "--check_report=out/checked.json")
        self.assertEqual(sorted(files), ["out/checked.json"])
        self.assertEqual(self.keys(), [key])

    def test_collecting_by_toolkit(self):
        self.run_atc()
        self.stored()
        version = self.keys() and self.ok(self.world.omcc("cache", "list", "--json")).json["data"]["entries"][0]["toolkit"]
        self.assertTrue(version)
        self.assertEqual(self.care("gc", "--toolkit", "1.2.3")["counters"]["entries"], 0)
        self.assertEqual(self.care("gc", "--toolkit", version, "--dry-run")["counters"]["entries"], 1)
        self.assertEqual(self.care("gc", "--toolkit", version)["counters"]["entries"], 1)

    def test_time_saved(self):
        self.fake(sleep_ms=700)
        self.run_atc()
        self.stored()
        self.run_atc()
        counters = self.ok(self.world.omcc("cache", "stats", "--json")).json["data"]["counters"]
        self.assertGreaterEqual(counters["saved_ms"], 700)
        wait_until(lambda: self.ok(self.world.omcc("cache", "stats", "--since", "1h", "--json"))
                   .json["data"]["counters"].get("saved_ms", 0) >= 700, what="the figures of this hour")


class Room(Store):
    def object_bytes(self):
        """Of all files in the store; one that goes meanwhile counts no more."""
        found = 0
        for path in self.files("objects"):
            with contextlib.suppress(OSError):
                found += path.stat().st_blocks * 512
        return found

    def test_room_is_made_before_bytes_are_written(self):
        """Many compiles at once against a small limit: what lies in the store never exceeds
        it by more than what is being written."""
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("cache_limit: 1M\n")
        self.ok(self.world.omcc("daemon", "start"))
        peak = 0
        running, begun = [], 0
        while begun < 40 or running:
            # What is being delivered stays: so few at a time that it fits what is allowed below.
            while begun < 40 and len(running) < 8:
                running.append(self.world.start(
                    f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", "--backend=builtin",
                    f"--output=out/{begun}", "--quiet", f"--input_shape=images:{1 + begun},3,8,8"))
                begun += 1
            peak = max(peak, self.object_bytes())
            for p in [p for p in running if p.poll() is not None]:
                running.remove(p)
                self.ok(self.world.finish(p))
            time.sleep(0.01)
        wait_until(lambda: self.world.status()["jobs"]["storing"] == 0, what="the end of storing")
        cache = self.world.status()["cache"]
        self.assertLessEqual(cache["bytes"], 1 << 20)
        figure(f"limit bytes={1 << 20} peak={peak} evicted={cache['evicted']}")
        self.assertLess(peak, (1 << 20) + (1 << 20) // 2)


del Store
if __name__ == "__main__":
    main()
