"""Killed in the middle, where the middle is a named place: the artifact is right all the
same, after one retry (worker) or one restart (private daemon), and nothing is left."""
import contextlib
import os
import re
import shutil
import signal

from harness import SOC, SOURCE_DIR, Case, main, processes, wait_until

WORKER = ["after-import", "after-infer", "after-resolve", "after-plan-sent", "after-prepare",
          "before-build", "after-build"]
DAEMON = ["after-digest", "after-lookup", "after-plan", "after-built", "before-store", "after-store"]
# There the client has its answer already.
ANSWERED = ["before-store", "after-store"]


class StopPoints(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")
        self.expected = self.reference()

    def reference(self):
        self.ok(self.world.compile(self.model, "--quiet", output="ref/m"))
        content = self.world.om("ref/m").read_bytes()
        self.ok(self.world.omcc("daemon", "stop"))
        shutil.rmtree(self.world.cache)
        return content

    def begin(self, place):
        return self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--backend=builtin", env={"OMCC_STOP_AT": place})

    def right_and_clean(self, proc, killed):
        result = self.ok(self.world.finish(proc))
        self.summary(result)
        self.assertEqual(self.world.om().read_bytes(), self.expected)
        self.no_leftovers(allowed=("m.om",))
        wait_until(lambda: killed not in processes(), what="the end of the killed one")
        wait_until(lambda: not self.stopped(), what="the end of what it had stopped")
        return result

    def stopped(self):
        found = []
        for pid in self.world.alive():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "T":
                    found.append(pid)
        return found

    def test_places_are_known(self):
        code = "\n".join(p.read_text() for room in ("worker", "server")
                         for p in (SOURCE_DIR / "daemon" / room).glob("*.c"))
        names = set(re.findall(r'stop_point\([^;]*?"([a-z-]+)"\)', code, re.S))
        self.assertEqual(names - {"after-accept", "after-run"}, set(WORKER) | set(DAEMON))

    def test_worker_killed(self):
        for place in WORKER:
            with self.subTest(place):
                proc = self.begin(place)
                worker = self.world.wait_stopped("omcc-worker")
                os.kill(worker, signal.SIGKILL)
                self.right_and_clean(proc, worker)
                self.assertIn("worker", self.world.log())
            self.tearDownDaemon()

    def tearDownDaemon(self):
        self.world.omcc("daemon", "stop", "--now")
        shutil.rmtree(self.world.cache, ignore_errors=True)
        shutil.rmtree(self.world.work / "out", ignore_errors=True)

    def test_daemon_killed(self):
        for place in DAEMON:
            with self.subTest(place):
                proc = self.begin(place)
                daemon = self.world.wait_stopped("omccd")
                children = {p for p in self.world.alive() if p != daemon and p != proc.pid}
                os.kill(daemon, signal.SIGKILL)
                result = self.right_and_clean(proc, daemon)
                wait_until(lambda: not children & set(processes()), what="the end of the daemon's children")
                # The store is whole: the same request is answered, with the right bytes.
                again = self.ok(self.world.compile(self.model, output="out/again"))
                self.assertEqual(self.world.om("out/again").read_bytes(), self.expected)
                if place != "before-store":
                    self.assertTrue(self.summary(again).startswith("hit"), str(again))
                if place not in ANSWERED:
                    self.assertIn("the daemon went away", result.err)
            self.tearDownDaemon()


if __name__ == "__main__":
    main()
