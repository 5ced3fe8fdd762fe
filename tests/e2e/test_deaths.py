"""Who dies in the middle: workers, compilers, runners, clients, daemons. The middle is a named
place (stop points) or a compile of fake-atc that takes its time. Each test prints its figure."""
import hashlib
import os
import shutil
import signal
import sys
import time

from harness import BIN, BINARY_DIR, SOC, Case, main, processes, wait_until

PLACES = ["after-import", "after-infer", "after-resolve", "after-plan-sent", "after-prepare",
          "before-build", "after-build"]


def figure(text):
    print(f"figure {text}", file=sys.stderr)


class Deaths(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")

    def begin(self, *words, place=None, output="out/m", backend="builtin"):
        return self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                f"--output={output}", f"--backend={backend}", *words,
                                env={"OMCC_STOP_AT": place} if place else None)

    def jobs(self):
        return self.world.status()["jobs"]

    def all_waiting(self, n):
        """n requests have come since the daemon's start, and none is still being read."""
        wait_until(lambda: self.world.log().count(" request job=") >= n and not self.jobs()["reading"],
                   what=f"{n} requests")

    def sha(self, name):
        return hashlib.sha256(self.world.om(name).read_bytes()).hexdigest()

    def kill(self, proc):
        proc.kill()
        proc.communicate()

    def forget(self):
        self.world.omcc("cache", "clear")


class Workers(Deaths):
    def test_killed_once(self):
        """R4: tried once more; another job meanwhile does not notice; the pool is full again."""
        self.ok(self.world.compile(self.model, output="ref/m"))
        other = self.world.zoo("relu")
        points = 0
        for number in (signal.SIGKILL, signal.SIGSEGV):
            for place in PLACES[points % 2::2] if number == signal.SIGSEGV else PLACES:
                with self.subTest((place, number)):
                    self.forget()
                    proc = self.begin(place=place)
                    worker = self.world.wait_stopped("omcc-worker")
                    self.ok(self.world.compile(other, output=f"out/other{points}"))
                    os.kill(worker, number)
                    if number != signal.SIGKILL:
                        os.kill(worker, signal.SIGCONT)
                    self.ok(self.world.finish(proc))
                    self.assertEqual(self.sha("out/m"), self.sha("ref/m"))
                    points += 1
        jobs = self.jobs()
        self.assertEqual((jobs["worker_deaths"], jobs["retries"]), (points, points))
        begun = time.monotonic()
        size = os.cpu_count()
        wait_until(lambda: len(self.world.status()["workers"]) >= min(size, 1), what="the pool")
        figure(f"R4 points={points} retried={points} wrong=0 pool_back_ms={(time.monotonic() - begun) * 1e3:.0f}")

    def toolkit(self, **knobs):
        toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", toolkit)
        self.world.env["ASCEND_HOME_PATH"] = str(toolkit)
        (toolkit / "fake-atc.conf").write_text("".join(f"{k}={v}\n" for k, v in knobs.items()))

    def compilers(self):
        return {pid for pid, (_, _, line) in processes().items()
                if "atc.bin" in line and str(self.world.root) in line}

    def test_a_runner_killed_in_the_compile(self):
        """The run is made once more; the second death is reported soon, with its signal."""
        gate = self.world.root / "gate"
        self.toolkit(FAKE_GATE=gate)
        proc = self.begin(backend="atc")
        wait_until(self.compilers, what="the compiler")
        runner = self.runners()
        os.kill(runner, signal.SIGKILL)
        wait_until(lambda: self.jobs()["retries"] == 1, what="the second run")
        gate.touch()
        self.ok(self.world.finish(proc))
        self.assertEqual(self.jobs()["retries"], 1)
        self.forget()
        gate.unlink()
        proc = self.begin(backend="atc", output="out/second")
        first = wait_until(self.runners_or_none, what="the runner")
        wait_until(self.compilers, what="the compiler")
        os.kill(first, signal.SIGKILL)
        second = wait_until(lambda: self.runners_or_none() not in (None, first) and self.compilers()
                            and self.runners_or_none(), what="the second runner")
        os.kill(second, signal.SIGKILL)
        begun = time.monotonic()
        result = self.world.finish(proc)
        reported = time.monotonic() - begun
        self.assertNotEqual(result.status, 0)
        self.assertIn("signal 9", result.err)
        wait_until(lambda: not self.compilers(), what="the compiler's end")
        self.no_leftovers(allowed=("m.om",))
        figure(f"R4 runner deaths=3 retried=2 second_death_reported_ms={reported * 1e3:.0f}")

    def runners_or_none(self):
        found = {pid: parent for pid, (parent, name, line) in processes().items()
                 if name.startswith("omcc-runner") and pid in self.world.alive()}
        # Not the watcher that it forked.
        return next((pid for pid, parent in found.items() if parent not in found), None)

    def runners(self):
        return wait_until(self.runners_or_none, what="the runner")


class Clients(Deaths):
    def test_killed_alone(self):
        """R5: the last waiter takes its compile along."""
        worst = 0
        for place in PLACES:
            with self.subTest(place):
                self.world.omcc("daemon", "start")
                proc = self.begin(place=place)
                worker = self.world.wait_stopped("omcc-worker")
                self.kill(proc)
                begun = time.monotonic()
                wait_until(lambda: worker not in processes(), what="the worker's end")
                worst = max(worst, time.monotonic() - begun)
                self.no_leftovers()
                wait_until(lambda: self.jobs()["running"] == 0, what="the free slot")
        self.assertEqual(os.listdir(self.world.cache / "tmp"), [])
        figure(f"R5 points={len(PLACES)} worker_gone_ms={worst * 1e3:.0f} files_left=0")

    def test_killed_with_another_waiting(self):
        """R5, R22: the other waiter gets the one compile's result."""
        places = PLACES[::3]
        requests = 0
        for place in places:
            with self.subTest(place):
                leader = self.begin(place=place, output="out/leader")
                worker = self.world.wait_stopped("omcc-worker")
                follower = self.begin(output="out/follower")
                self.all_waiting(requests := requests + 2)
                self.kill(leader)
                time.sleep(0.1)
                os.kill(worker, signal.SIGCONT)
                self.ok(self.world.finish(follower))
                jobs = self.jobs()
                self.assertEqual((jobs["compiles"], jobs["worker_deaths"]), (1, 0))
                self.ok(self.world.omcc("daemon", "stop", "--now"))
                shutil.rmtree(self.world.cache)
                requests = self.world.log().count(" request job=")
        figure(f"R5 points={len(places)} other_waiter=served compiles_each=1")


class Crowd(Deaths):
    def test_hundred_clients_and_their_leader_dies(self):
        """R22: 100 identical requests are one compile; with the worker of it killed, one more."""
        n = 100
        self.ok(self.world.compile(self.model, output="ref/m"))
        self.forget()
        before = self.jobs()
        requests = self.world.log().count(" request job=")
        leader = self.begin(place="before-build", output="out/leader")
        worker = self.world.wait_stopped("omcc-worker")
        others = [self.begin(output=f"out/{i}") for i in range(n - 1)]
        self.all_waiting(requests + n)
        os.kill(worker, signal.SIGKILL)
        self.kill(leader)
        for proc in others:
            self.ok(self.world.finish(proc))
        self.assertEqual({self.sha(f"out/{i}") for i in range(n - 1)}, {self.sha("ref/m")})
        jobs = self.jobs()
        self.assertEqual(jobs["retries"] - before["retries"], 1)
        self.assertEqual(jobs["compiles"] - before["compiles"], 1)
        figure(f"R22 clients={n} leader=killed worker=killed compiles_begun=2 compiles_done=1 wrong=0")


class Inputs(Deaths):
    def test_rewritten_at_every_place(self):
        """R19: what comes of a model that changes in the middle is not stored under its key."""
        good = (self.world.work / self.model).read_bytes()
        bad = bytearray(good)
        bad[len(bad) // 2] ^= 1
        places = [*PLACES, "after-digest", "after-lookup", "after-plan"]
        stored = 0
        for place in places:
            with self.subTest(place):
                daemon = place in ("after-digest", "after-lookup", "after-plan")
                proc = self.begin(place=place)
                stopped = self.world.wait_stopped("omccd" if daemon else "omcc-worker")
                path = self.world.work / self.model
                path.write_bytes(bytes(bad))
                os.kill(stopped, signal.SIGCONT)
                self.world.finish(proc)
                path.write_bytes(good)
                wait_until(lambda: self.jobs()["storing"] == 0, what="the end of storing")
                stored += self.world.status()["cache"]["entries"]
                self.world.omcc("daemon", "stop", "--now")
                shutil.rmtree(self.world.cache)
        self.assertEqual(stored, 0)
        figure(f"R19 points={len(places)} entries_under_the_old_key=0")


class Daemons(Deaths):
    def test_the_next_one_starts_at_once(self):
        """R20: after kill -9 no lock is left to wait for; R1: the first answer comes soon."""
        self.ok(self.world.compile(self.model))
        wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the entry")
        took = []
        for _ in range(5):
            pid = self.world.daemon_pid()
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: pid not in processes(), what="the daemon's end")
            result = self.ok(self.world.compile(self.model, output="out/again"))
            self.assertTrue(self.summary(result).startswith("hit"))
            took.append(result.seconds * 1e3)
        took.sort()
        figure(f"R20 kills=5 next_start_and_hit_ms p50={took[2]:.0f} max={took[4]:.0f}")
        # Beside a start that finds nothing left over, on the same machine in the same state.
        self.ok(self.world.omcc("daemon", "stop"))
        wait_until(lambda: not self.world.alive(), what="the daemon's end")
        clean = self.ok(self.world.compile(self.model, output="out/again")).seconds * 1e3
        self.assertLess(took[0], 1000 + 4 * clean)

    def damage(self, kind):
        index = self.world.cache / "index.sqlite"
        if kind == "deleted":
            index.unlink()
        elif kind == "truncated":
            os.truncate(index, index.stat().st_size // 2 // 4096 * 4096)
        elif kind == "noise":
            index.write_bytes(os.urandom(index.stat().st_size))
        elif kind == "wrong schema version":
            data = bytearray(index.read_bytes())
            data[60:64] = (0).to_bytes(4, "big")  # user_version
            index.write_bytes(bytes(data))
        elif kind == "log missing":
            (self.world.cache / "index.sqlite-wal").unlink()

    def test_bad_databases(self):
        """R16: the daemon starts all the same, soon; the old file is kept aside."""
        self.ok(self.world.compile(self.model, output="ref/m"))
        worst = 0
        for kind in ("deleted", "truncated", "noise", "wrong schema version", "log missing"):
            with self.subTest(kind):
                self.ok(self.world.compile(self.model, "--quiet", output="out/m"))
                wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the entry")
                pid = self.world.daemon_pid()
                if kind == "log missing":
                    os.kill(pid, signal.SIGKILL)
                else:  # orderly, so that no log has the pages that the damage is to hit
                    self.ok(self.world.omcc("daemon", "stop"))
                wait_until(lambda: pid not in processes(), what="the daemon's end")
                self.damage(kind)
                result = self.ok(self.world.compile(self.model, output="out/m"))
                worst = max(worst, result.seconds)
                self.assertEqual(self.sha("out/m"), self.sha("ref/m"))
                aside = list(self.world.cache.glob("index.sqlite.corrupt-*"))
                if kind in ("truncated", "noise", "wrong schema version"):
                    self.assertTrue(aside, kind)
                    self.assertIn("cache_set_aside", self.world.log())
                for path in aside:
                    path.unlink()
        figure(f"R16 databases=5 wrong=0 start_and_answer_ms_max={worst * 1e3:.0f}")


del Deaths
if __name__ == "__main__":
    main()
