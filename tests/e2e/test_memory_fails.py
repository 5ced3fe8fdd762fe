"""R14: memory runs out at the Nth call of a client, and of a daemon that serves it. The client
ends with the right file or with a documented status; nothing is corrupt."""
import hashlib
import os
import signal
import sys
import unittest

import faults
from harness import BIN, SOC, Case, main, wait_until

STEPS = int(os.environ.get("OMCC_MEMORY_STEPS", "25"))
STATUSES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 70}


def figure(text):
    print(f"figure {text}", file=sys.stderr)


@unittest.skipIf("asan" in str(BIN), "the shim cannot stand before a sanitizer")
class MemoryFails(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")
        self.ok(self.world.compile(self.model, "--quiet", output="ref/m"))
        self.expected = self.sha("ref/m")
        wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the entry")

    def sha(self, name):
        return hashlib.sha256(self.world.om(name).read_bytes()).hexdigest()

    def compile(self, env=None, output="out/m"):
        return self.world.finish(self.world.start(
            f"--model={self.model}", "--framework=5", f"--soc_version={SOC}", f"--output={output}",
            "--backend=builtin", env=env))

    def judge(self, result, name, what):
        self.assertIn(result.status, STATUSES, f"{what}\n{result}")
        if result.status == 0:
            self.assertEqual(self.sha(name), self.expected, what)
            self.world.om(name).unlink()
        self.no_leftovers()
        return result.status == 0

    def test_client(self):
        fault = faults.Fault(self.world.root, "omcc")
        self.addCleanup(fault.close)
        fault.arm(faults.NONE, classes=faults.MEMORY)
        self.ok(self.compile(fault.environment))
        self.world.om("out/m").unlink()
        calls = fault.order.seen
        self.assertGreater(calls, 10)
        right = refused = 0
        for nth in self.steps(calls):
            fault.arm(faults.FAIL, nth, faults.MEMORY, 12, sticky=nth % 2 == 0)
            if self.judge(self.compile(fault.environment), "out/m", f"call {nth} of {calls}"):
                right += 1
            else:
                refused += 1
        self.ok(self.compile())
        figure(f"R14 client calls={calls} failed_at={right + refused} right={right} refused={refused} "
               "wrong=0 signals=0")

    @staticmethod
    def steps(calls):
        return range(1, calls + 1, max(1, calls // STEPS))

    def daemon(self, fault):
        proc = self.world.start(f"--socket={self.world.socket}", f"--cache_dir={self.world.cache}",
                                f"--log_file={self.world.socket}.log",
                                argv0=str(BIN / "omccd"), env=fault.environment)
        wait_until(lambda: self.world.omcc("status").status == 0, what="the daemon")
        return proc

    def test_daemon(self):
        """A miss and its storing, with the daemon's Nth allocation failing; it lives on."""
        self.ok(self.world.omcc("daemon", "stop"))
        fault = faults.Fault(self.world.root, "omccd")
        self.addCleanup(fault.close)
        proc = self.daemon(fault)
        self.world.omcc("cache", "clear")
        fault.arm(faults.NONE, classes=faults.MEMORY)
        self.ok(self.compile())
        calls = fault.order.seen
        self.world.om("out/m").unlink()
        right = refused = ended = 0
        for nth in self.steps(calls):
            fault.disarm()
            if proc.poll() is not None:
                self.assertGreaterEqual(proc.returncode, 0, f"the daemon died at call {nth}: {self.world.finish(proc)}")
                ended += 1
                proc = self.daemon(fault)
            self.world.omcc("cache", "clear")
            fault.arm(faults.FAIL, nth, faults.MEMORY, 12)
            with self.subTest(nth, of=calls, call=fault.order.call):
                if self.judge(self.compile(), "out/m", f"call {nth} of {calls}"):
                    right += 1
                else:
                    refused += 1
        fault.disarm()
        self.ok(self.compile())
        self.ok(self.world.omcc("cache", "verify"))
        if proc.poll() is None:
            proc.send_signal(signal.SIGTERM)
        self.assertEqual(self.world.finish(proc).status, 0)
        figure(f"R14 daemon calls={calls} failed_at={right + refused} right={right} refused={refused} "
               f"ended={ended} wrong=0 signals=0")


if __name__ == "__main__":
    main()
