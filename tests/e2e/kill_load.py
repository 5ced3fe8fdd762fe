"""R2: eight clients compile without a pause while their daemon is killed every two seconds. Each
client must end with the right file, in time. Used by a short test and a long one."""
import hashlib
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time

from harness import PATIENCE, SOC, Case, processes

CLIENTS = 8
MODELS = 12
KILL_EVERY_S = 2
HUNG_S = 30


class KillLoad(Case):
    seconds = 10

    def setUp(self):
        super().setUp()
        self.models = [self.world.zoo("g1", "--seed", str(i), name=f"m{i}.onnx") for i in range(MODELS)]
        self.expected = []
        for i, model in enumerate(self.models):
            self.ok(self.world.compile(model, "--quiet", output=f"ref/{i}"))
            self.expected.append(hashlib.sha256(self.world.om(f"ref/{i}").read_bytes()).digest())
        self.ok(self.world.omcc("daemon", "stop"))
        shutil.rmtree(self.world.cache)
        self.end = time.monotonic() + self.seconds
        self.enough = False
        self.lock = threading.Lock()
        self.runs = self.hits = self.wrong = 0
        self.failed, self.longest = [], 0.0

    def client(self, number):
        rng = random.Random(number)
        while not self.enough:
            i = rng.randrange(MODELS)
            name = f"out{number}/{i}"
            result = self.world.finish(self.world.start(
                f"--model={self.models[i]}", "--framework=5", f"--soc_version={SOC}",
                f"--output={name}", "--backend=builtin"), HUNG_S)
            content = self.world.om(name).read_bytes() if result.status == 0 else b""
            with self.lock:
                self.runs += 1
                self.hits += result.err.startswith("hit") or "\nhit" in result.err
                self.longest = max(self.longest, result.seconds)
                if result.status:
                    self.failed.append(str(result))
                elif hashlib.sha256(content).digest() != self.expected[i]:
                    self.wrong += 1

    def kill_daemon(self):
        """By the pid in the cache's lock, if that is a daemon of this world."""
        try:
            pid = int((pathlib.Path(self.world.cache) / "lock").read_text())
        except (OSError, ValueError):
            return 0
        if "omccd" not in processes().get(pid, (0, "", ""))[2]:
            return 0
        os.kill(pid, signal.SIGKILL)
        return 1

    def run_load(self):
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        for t in threads:
            t.start()
        kills = 0
        # On a busy machine the daemon may not be back when the next kill is due.
        while time.monotonic() < self.end + (kills < 2) * PATIENCE:
            time.sleep(KILL_EVERY_S)
            kills += self.kill_daemon()
        self.enough = True
        for t in threads:
            t.join()
        self.assertEqual(self.failed, [])
        self.assertEqual(self.wrong, 0)
        self.assertGreater(kills, 1)
        self.assertGreater(self.hits, 0)
        # The last daemon's store is whole.
        self.ok(self.world.compile(self.models[0], output="last/m"))
        self.ok(self.world.omcc("cache", "verify"))
        print(f"figure R2 seconds={self.seconds} clients={CLIENTS} kills={kills} runs={self.runs} "
              f"hits={self.hits} wrong=0 failed=0 longest_s={self.longest:.1f}", file=sys.stderr)
