"""R21: somebody sets the machine's clock, by an hour or by decades, while jobs run, between them and
between two lives of the daemon. Deadlines, the order of eviction and what is stored do not care; what
is said in terms of the wall clock (the end of a pin, ages, hours) goes by it and stays sane."""
import hashlib
import os
import re
import shutil
import signal
import sys
import time
import unittest

import faults
from harness import BIN, BINARY_DIR, SOC, Case, main, processes, wait_until
from remote_servers import Failing

HOUR, YEAR = 3600, 365 * 86400
JUMPS = {"an hour on": HOUR, "an hour back": -HOUR, "400 days on": 400 * 86400, "1970": 100 - time.time(),
         "before 1970": -time.time() - YEAR, "2100": 4102444800 - time.time(), "true": 0}
LOG_LINE = re.compile(r"^-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|info|debug) \S+")


def figure(text):
    print(f"figure {text}", file=sys.stderr)


@unittest.skipIf("asan" in str(BIN), "the shim cannot stand before a sanitizer")
class Jumps(Case):
    def setUp(self):
        super().setUp()
        self.clock = faults.Clock(self.world.root)
        self.world.env.update(self.clock.environment)
        self.model = self.world.zoo("g1")

    def settings(self, **values):
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "omccd.yaml").write_text("".join(f"{k}: '{v}'\n" for k, v in values.items()))

    def models(self, n):
        return [self.world.zoo("g1", "--seed", str(i + 1), name=f"s{i}.onnx") for i in range(n)]

    def data(self, *words):
        return self.ok(self.world.omcc(*words, "--json")).json["data"]

    def entries(self):
        wait_until(lambda: self.world.status()["jobs"]["storing"] == 0, what="the end of storing")
        return self.data("cache", "list")["entries"]

    def made(self, model, *words, output="out/m", **more):
        """What came of a compile that ended well."""
        return self.ok(self.world.compile(model, "--json", *words, output=output, **more)).json["data"]

    def sha(self, name="out/m"):
        return hashlib.sha256(self.world.om(name).read_bytes()).hexdigest()

    def restart(self):
        self.ok(self.world.omcc("daemon", "stop"))
        wait_until(lambda: not self.world.alive(), what="the daemon's end")

    def cpu_s(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def at_rest(self, pid):
        """The part of a moment in which nothing was asked that the daemon was at work."""
        before, begun = self.cpu_s(pid), time.monotonic()
        time.sleep(0.4)
        return (self.cpu_s(pid) - before) / (time.monotonic() - begun)


class Running(Jumps):
    def test_while_jobs_run(self):
        """No early end, none that does not come, nothing evicted, no spin."""
        self.settings(plan_limit="60s", build_limit="60s")
        models = self.models(len(JUMPS))
        for i, model in enumerate(models):
            self.made(model, output=f"ref/{i}")
        self.restart()
        shutil.rmtree(self.world.cache)
        self.ok(self.world.omcc("daemon", "start"))
        pid, busiest = self.world.daemon_pid(), 0.0
        for i, (name, ahead) in enumerate(JUMPS.items()):
            with self.subTest(name):
                proc = self.world.start(f"--model={models[i]}", "--framework=5", f"--soc_version={SOC}",
                                        "--backend=builtin", f"--output=out/{i}", "--json",
                                        env={"OMCC_STOP_AT": "before-build"})
                worker = self.world.wait_stopped("omcc-worker")
                self.clock.jump(ahead)
                # A deadline by the wall clock would be over now: it would end the worker.
                busiest = max(busiest, self.at_rest(pid))
                os.kill(worker, signal.SIGCONT)
                result = self.ok(self.world.finish(proc)).json["data"]
                self.assertEqual(result["result"], "miss")
                self.assertEqual(self.sha(f"out/{i}"), self.sha(f"ref/{i}"))
                self.assertEqual(len(self.entries()), i + 1)
                for k in range(i + 1):
                    self.assertEqual(self.made(models[k], output=f"again/{k}")["result"], "hit", k)
                    self.assertEqual(self.sha(f"again/{k}"), self.sha(f"ref/{k}"))
        for entry in self.entries():
            self.assertLess(entry["compile_ms"], 600_000)
            self.assertLess(entry["used_s"], 1 << 33)
        status = self.world.status()
        self.assertEqual(status["pid"], pid)
        self.assertEqual((status["jobs"]["worker_deaths"], status["cache"]["evicted"]), (0, 0))
        self.assertLess(busiest, 0.25)
        figure(f"R21 jumps={len(JUMPS)} early_ends=0 hangs=0 evicted=0 wrong=0 cpu_at_rest={busiest * 100:.0f}%")

    def test_while_a_compiler_runs(self):
        toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", toolkit)
        self.world.env["ASCEND_HOME_PATH"] = str(toolkit)
        (toolkit / "fake-atc.conf").write_text(f"FAKE_SLEEP_MS=1500\nFAKE_GATE={self.world.root}/gate\n")
        self.settings(compile_limit="60s")
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--json")
        wait_until(lambda: [pid for pid, (_, _, line) in processes().items()
                            if "atc.bin" in line and str(self.world.root) in line], what="the compiler")
        for ahead in (YEAR, -YEAR, HOUR):
            self.clock.jump(ahead)
            time.sleep(0.1)
        (self.world.root / "gate").touch()
        result = self.ok(self.world.finish(proc)).json["data"]
        self.assertEqual(result["result"], "miss")
        self.assertEqual(self.world.status()["jobs"]["retries"], 0)
        [entry] = self.entries()
        self.assertTrue(1000 <= entry["compile_ms"] < 600_000, entry)
        self.assertEqual(self.made(self.model, backend=None)["result"], "hit")

    def test_a_remote_that_failed_is_left_alone(self):
        """The breaker waits by another clock: no jump makes the daemon ask again and again."""
        server = Failing("refused", self.world.root)
        self.addCleanup(server.close)
        self.settings(remote_url=server.url, remote_retry="20s")
        self.world.env.update(no_proxy="*")
        models = self.models(3 + 2 * len(JUMPS))
        for model in models[:3]:
            self.made(model)
        begun = time.monotonic()
        before = self.world.status()["remote"]
        self.assertEqual(before["breaker"], "open")
        for model, ahead in zip(models[3:], 2 * list(JUMPS.values())):
            self.clock.jump(ahead)
            self.made(model)
        after = self.world.status()["remote"]
        if time.monotonic() - begun < 15:  # else a probe was due
            self.assertEqual(after["counters"]["looks"], before["counters"]["looks"])
            self.assertEqual(after["breaker"], "open")
        self.assertEqual(len(self.entries()), len(models))


class Lives(Jumps):
    def test_between_two_lives(self):
        jobs, lives = [], 0
        want = self.made(self.model, output="ref/m")
        for name, ahead in JUMPS.items():
            with self.subTest(name):
                self.entries()
                self.restart()
                self.clock.jump(ahead)
                again = self.made(self.model)
                self.assertEqual((again["result"], again["key"]), ("hit", want["key"]))
                self.assertEqual(self.sha(), self.sha("ref/m"))
                jobs.append(self.made(self.world.zoo("g1", "--seed", str(lives + 7), name=f"l{lives}.onnx"))["job"])
                lives += 1
        self.assertEqual(jobs, sorted(set(jobs)), "a job's id was used again")
        self.assertLess(max(jobs), 1 << 53)
        self.assertEqual(len(self.entries()), lives + 1)
        odd = [line for line in self.world.log().splitlines() if not LOG_LINE.match(line)]
        self.assertEqual(odd, [])
        figure(f"R21 lives={lives} lost=0 wrong=0 job_ids=ascending")

    def test_indexes_set_aside_at_one_time(self):
        """Each keeps a name of its own, though the clock shows the same second again."""
        self.made(self.model)
        for _ in range(3):
            self.restart()
            (self.world.cache / "index.sqlite").write_bytes(os.urandom(8192))
            self.clock.jump(-time.time() - 100)
            self.made(self.model)
        self.assertEqual(len([p for p in self.world.cache.iterdir() if ".corrupt-" in p.name
                              and not p.name.endswith("-wal")]), 3)


class Keeping(Jumps):
    def present(self, models):
        """Which of the models are in the cache; asks without using."""
        return [i for i, m in enumerate(models)
                if self.world.omcc("cache", "has", "--", f"--model={m}", "--framework=5",
                                   f"--soc_version={SOC}", "--output=out/m", "--backend=builtin").status == 0]

    def test_the_order_of_eviction(self):
        """By use, whatever the clock showed then."""
        self.settings(cache_entries=3)
        models = self.models(6)
        for i, ahead in enumerate((0, YEAR, -YEAR)):
            self.clock.jump(ahead)
            self.made(models[i])
            self.entries()
        self.clock.jump(JUMPS["before 1970"])
        self.assertEqual(self.made(models[0])["result"], "hit")  # now 1 is the oldest
        for new, left in ((3, [0, 2, 3]), (4, [0, 3, 4]), (5, [3, 4, 5])):
            self.clock.jump(YEAR * (-1) ** new)
            self.made(models[new])
            wait_until(lambda: self.present(models) == left, what=f"{left}")

    def test_pins_end_by_the_clock(self):
        self.settings(cache_entries=2)
        models = self.models(6)
        kept = self.made(models[0])["key"]
        self.entries()
        self.ok(self.world.omcc("cache", "pin", kept, "--for", "1h"))
        for i, ahead in ((1, -YEAR), (2, JUMPS["before 1970"]), (3, HOUR // 2)):
            self.clock.jump(ahead)
            self.made(models[i])
            wait_until(lambda: self.present(models) == [0, i], what=f"0 and {i}")
        self.clock.jump(2 * HOUR)
        self.made(models[4])
        wait_until(lambda: self.present(models) == [3, 4], what="the end of the pin")
        # The farthest end there is, from the latest clock: it must not turn into the past.
        self.clock.jump(JUMPS["2100"])
        last = self.made(models[4])["key"]
        self.ok(self.world.omcc("cache", "pin", last, "--for", "9000000000000000000s"))
        self.made(models[5])
        wait_until(lambda: self.present(models) == [4, 5], what="the pinned one and the newest")

    def test_ages(self):
        """What was used under a clock that was ahead is not old; no age reaches before the beginning."""
        models = self.models(3)
        self.clock.jump(YEAR)
        self.made(models[0])
        self.entries()
        self.clock.jump(0)
        self.made(models[1])
        self.entries()

        def gone(age, *more):
            return self.data("cache", "gc", "--older-than", age, *more)["counters"]["entries"]

        self.assertEqual([gone(a, "--dry-run") for a in ("1h", "1000d", "9000000000000000000s")], [0, 0, 0])
        self.clock.jump(JUMPS["1970"])
        self.made(models[2])
        self.entries()
        self.assertEqual([gone(a) for a in ("100s", "110s", "1h", "7d")], [0, 0, 0, 0])
        self.clock.jump(0)
        text = self.ok(self.world.omcc("cache", "list")).out
        self.assertNotRegex(text, r"used -|used \d{7,}")
        self.assertEqual(self.present(models), [0, 1, 2])
        self.assertEqual(gone("7d", "--dry-run"), 1)  # used in 1970, says the clock of then
        self.clock.jump(HOUR)
        self.assertEqual(gone("1800s", "--dry-run"), 2)

    def hits_since(self, age):
        return self.data("cache", "stats", "--since", age)["counters"].get("hits", 0)

    def test_figures_since(self):
        """What was counted under a clock that was years ahead is not recent; an hour back hides nothing."""
        self.made(self.model)
        self.entries()
        for ahead, hits in ((0, 2), (50 * YEAR, 3), (HOUR, 1), (JUMPS["before 1970"], 1)):
            self.clock.jump(ahead)
            before = self.hits_since("1h")
            for _ in range(hits):
                self.assertEqual(self.made(self.model)["result"], "hit")
            wait_until(lambda: self.hits_since("1h") == before + hits, what="the figures of this hour")
        self.clock.jump(0)
        self.assertEqual(self.hits_since("3h"), 3)
        self.assertEqual(self.hits_since("9000000000000000000s"), 4)
        self.assertEqual(self.data("cache", "stats")["counters"]["hits"], 7)


class Memo(Jumps):
    def hits(self):
        return self.data("cache", "stats")["counters"]["memo_hits"]

    def test_a_file_of_the_future_is_digested_each_time(self):
        path = self.world.work / self.model
        old = time.time() - 100
        os.utime(path, (old, old))
        for ahead in (-HOUR, -YEAR):  # to that clock every file here is of the future
            self.clock.jump(ahead)
            for _ in range(3):
                self.made(self.model)
        self.assertEqual(self.hits(), 0)
        self.clock.jump(0)
        future = time.time() + HOUR
        os.utime(path, (future, future))
        for _ in range(3):
            self.made(self.model)
        self.assertEqual(self.hits(), 0)

    def test_rewritten_between_jumps(self):
        """R18 with a clock that jumps: the old bytes' result is never taken for the new ones'."""
        path = self.world.work / self.model
        versions = [(self.world.work / m).read_bytes() for m in self.models(4)]
        self.assertEqual(len({len(v) for v in versions}), 1)
        self.ok(self.world.omcc("daemon", "start"))
        keys, rounds = {}, 0
        for ahead in (*JUMPS.values(), 2 * HOUR, -2 * HOUR, YEAR, 0):
            self.clock.jump(ahead)
            for number, content in enumerate(versions):
                path.write_bytes(content)
                os.utime(path, (10**9, 10**9))
                keys.setdefault(number, set()).add(self.made(self.model)["key"])
                rounds += 1
        self.assertEqual([len(k) for k in keys.values()], [1] * len(versions))
        self.assertEqual(len(set.union(*keys.values())), len(versions))
        figure(f"R21 memo rounds={rounds} wrong=0")


del Jumps
if __name__ == "__main__":
    main()
