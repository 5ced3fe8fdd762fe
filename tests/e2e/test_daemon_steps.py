"""R1 for the whole daemon: it is killed after its Nth call that changes its cache, while it serves a
hit, a miss, and a result that evicts another. Each client ends with the right file, and the next
daemon answers with what was stored.

OMCC_DAEMON_STEPS: at how many of the calls (all when it is more than there are)."""
import hashlib
import os
import signal
import sys
import unittest

import faults
from harness import BIN, SOC, Case, main, processes, wait_until

STEPS = int(os.environ.get("OMCC_DAEMON_STEPS", "7"))


@unittest.skipIf("asan" in str(BIN), "the shim cannot stand before a sanitizer")
class DaemonSteps(Case):
    def setUp(self):
        super().setUp()
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("cache_entries: 2\n")
        self.models = [self.world.zoo("g1", "--seed", str(i), name=f"m{i}.onnx") for i in range(3)]
        self.fault = faults.Fault(self.world.root, "omccd", self.world.cache)
        self.addCleanup(self.fault.close)

    def compile(self, i, name):
        result = self.world.finish(self.world.start(
            f"--model={self.models[i]}", "--framework=5", f"--soc_version={SOC}", f"--output={name}",
            "--backend=builtin"))
        self.ok(result)
        return result

    def sha(self, name):
        return hashlib.sha256(self.world.om(name).read_bytes()).hexdigest()

    def daemon(self):
        proc = self.world.start(f"--socket={self.world.socket}", f"--cache_dir={self.world.cache}",
                                f"--log_file={self.world.socket}.log",
                                argv0=str(BIN / "omccd"), env=self.fault.environment)
        wait_until(lambda: self.world.omcc("status").status == 0, what="the daemon")
        return proc

    def stop(self, proc):
        pid = self.world.daemon_pid()
        self.world.omcc("daemon", "stop")
        if pid:
            wait_until(lambda: pid not in processes(), what="the daemon's end")
        self.world.finish(proc)

    def round(self, nth, mode):
        """The calls of one round; or whether the daemon was killed in it."""
        proc = self.daemon()
        self.fault.arm(mode, nth)
        for i in (0, 1, 2):
            self.compile(i, f"out/{i}")
        if proc.poll() is None:
            self.world.omcc("cache", "pin", "0" * 64)  # a question that the writer answers last
        seen = self.fault.order.seen
        self.fault.disarm()
        killed = proc.poll() is not None
        if killed:
            self.assertEqual(proc.returncode, -signal.SIGKILL)
        return proc, seen, killed

    def test_every_call(self):
        for i in (0, 1, 2):
            self.compile(i, f"ref/{i}")
        self.ok(self.world.omcc("daemon", "stop"))
        expected = [self.sha(f"ref/{i}") for i in range(3)]
        proc, calls, _ = self.round(1, faults.NONE)
        self.stop(proc)
        kills, answers = 0, []
        for nth in range(1, calls + 1, max(1, calls // STEPS)):
            proc, _, killed = self.round(nth, faults.KILL_AFTER)
            kills += killed
            self.assertEqual([self.sha(f"out/{i}") for i in range(3)], expected, f"call {nth}")
            answers.append(self.compile(2, "out/again").seconds)
            self.assertEqual(self.sha("out/again"), expected[2])
            self.ok(self.world.omcc("cache", "verify"))
            self.stop(proc)
            self.assertEqual(os.listdir(self.world.cache / "tmp"), [], f"call {nth}")
        self.assertGreater(kills, 0)
        self.assertNotIn("cache_set_aside", self.world.log())
        answers.sort()
        print(f"figure R1 daemon calls={calls} killed_after={kills} wrong=0 lost=0 answer_ms "
              f"p50={answers[len(answers) // 2] * 1e3:.0f} max={answers[-1] * 1e3:.0f}", file=sys.stderr)


if __name__ == "__main__":
    main()
