"""The daemon's life: started once, locked, stopped, and unharmed by bad peers."""
import os
import random
import re
import signal
import struct
import subprocess
import time

import wire
from harness import BIN, PATIENCE, SOC, Case, main, processes, wait_until


class Life(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("relu")

    def test_c91_twenty_clients_start_one_daemon(self):
        started = [self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                    f"--output=out/m{i}", "--backend=builtin") for i in range(20)]
        results = [self.ok(self.world.finish(p)) for p in started]
        self.assertEqual(len(self.world.names()), 20)
        self.assertEqual(self.world.log().count(" listening "), 1, self.world.log())
        first = self.world.om("out/m0").read_bytes()
        for i in range(20):
            self.assertEqual(self.world.om(f"out/m{i}").read_bytes(), first)
        words = [self.summary(r).split()[0] for r in results]
        self.assertIn("miss", words)
        compiled = self.world.log().count(" built ")
        self.assertEqual(compiled, 1, self.world.log())

    def daemon(self, *words):
        return subprocess.run([str(BIN / "omccd"), *words], env=self.world.env, timeout=PATIENCE,
                              capture_output=True, text=True)

    def test_two_locks(self):
        self.ok(self.world.omcc("daemon", "start"))
        pid = self.world.daemon_pid()
        second = self.daemon(f"--socket={self.world.root}/run/other.sock",
                             f"--cache_dir={self.world.cache}")
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(str(pid), second.stderr)
        second = self.daemon(f"--socket={self.world.socket}", f"--cache_dir={self.world.root}/other")
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(str(pid), second.stderr)
        self.assertEqual(self.world.daemon_pid(), pid)

    def test_workers_have_a_name(self):
        self.ok(self.world.compile(self.model))
        names = {processes()[pid][1] for pid in self.world.alive() if pid in processes()}
        self.assertEqual(names, {"omccd", "omcc-worker"})

    def test_stale_socket_is_replaced(self):
        self.ok(self.world.omcc("daemon", "start"))
        os.kill(self.world.daemon_pid(), signal.SIGKILL)
        wait_until(lambda: self.world.omcc("status").status == 7, what="the daemon's end")
        self.assertTrue(self.world.socket.exists())
        self.ok(self.world.compile(self.model))

    def test_start_and_stop(self):
        import schemas
        value = schemas.check(self, self.ok(self.world.omcc("daemon", "start", "--json")), "daemon")
        self.assertEqual(value["data"]["state"], "started")
        value = schemas.check(self, self.ok(self.world.omcc("daemon", "start", "--json")), "daemon")
        self.assertEqual(value["data"]["state"], "running")
        pid = value["data"]["pid"]
        value = schemas.check(self, self.ok(self.world.omcc("daemon", "stop", "--json")), "daemon")
        self.assertEqual((value["data"]["state"], value["data"]["pid"]), ("stopped", pid))
        wait_until(lambda: pid not in processes(), what="the daemon's end")
        self.assertFalse(self.world.socket.exists(), "the socket is left")

    def test_run_in_the_foreground(self):
        proc = self.world.start("daemon", "run", f"--socket={self.world.socket}",
                                f"--cache_dir={self.world.cache}")
        wait_until(lambda: self.world.omcc("status").status == 0, what="the daemon")
        self.ok(self.world.compile(self.model))
        proc.send_signal(signal.SIGTERM)
        self.assertEqual(self.world.finish(proc).status, 0)

    def test_inherits_nothing(self):
        path = self.world.work / "held"
        path.write_text("x")
        with open(path) as held:
            proc = self.world.start("daemon", "start", pass_fds=[held.fileno()])
            self.ok(self.world.finish(proc))
        pid = self.world.daemon_pid()
        opened = {os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
        self.assertNotIn(str(path), opened)
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        self.assertTrue(os.path.exists(f"{self.world.socket}.log"))

    def test_wrong_settings(self):
        done = self.daemon("--wrokers=3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("workers", done.stderr)

    def test_killed_client_ends_its_job(self):
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--backend=builtin",
                                env={"OMCC_STOP_AT": "after-import"})
        worker = self.world.wait_stopped("omcc-worker")
        proc.kill()
        wait_until(lambda: worker not in processes(), what="the worker's end")
        self.ok(self.world.compile(self.model))
        self.no_leftovers(allowed=("m.om",))

    def test_ctrl_c_detaches(self):
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--backend=builtin",
                                env={"OMCC_STOP_AT": "after-import"})
        worker = self.world.wait_stopped("omcc-worker")
        proc.send_signal(signal.SIGINT)
        result = self.world.finish(proc)
        self.assertEqual(result.status, 130, str(result))
        self.assertIn("goes on", result.err)
        self.assertIn(worker, processes())
        os.kill(worker, signal.SIGCONT)
        wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the detached result")
        self.assertTrue(self.summary(self.ok(self.world.compile(self.model))).startswith("hit"))

    def interrupted_twice(self):
        """A client that had two signals, and the worker that it waited for."""
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--backend=builtin",
                                env={"OMCC_STOP_AT": "after-import"})
        worker = self.world.wait_stopped("omcc-worker")
        proc.send_signal(signal.SIGINT)
        # Two that wait at one time would be one.
        wait_until(lambda: not pending(proc.pid, signal.SIGINT), what="the first signal's delivery")
        proc.send_signal(signal.SIGINT)
        return self.world.finish(proc), worker

    def test_ctrl_c_twice_cancels(self):
        result, worker = self.interrupted_twice()
        for _ in range(5):  # the second must come within a second and a half of the first
            if "goes on" not in result.err:
                break
            os.kill(worker, signal.SIGKILL)
            self.ok(self.world.omcc("daemon", "stop", "--now"))
            result, worker = self.interrupted_twice()
        self.assertEqual(result.status, 130, str(result))
        self.assertIn("cancelled", result.err)
        wait_until(lambda: worker not in processes(), what="the worker's end")
        self.no_leftovers()

    def test_sigterm_ends_the_client(self):
        proc = self.world.start(f"--model={self.model}", "--framework=5", f"--soc_version={SOC}",
                                "--output=out/m", "--backend=builtin",
                                env={"OMCC_STOP_AT": "after-import"})
        worker = self.world.wait_stopped("omcc-worker")
        proc.send_signal(signal.SIGTERM)
        self.assertEqual(self.world.finish(proc).status, 143)
        wait_until(lambda: worker not in processes(), what="the worker's end")


def pending(pid, number):
    """A signal that the process has not taken yet."""
    with open(f"/proc/{pid}/status") as f:
        masks = re.findall(r"^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)", f.read(), re.M)
    return any(int(m, 16) >> (number - 1) & 1 for m in masks)


class BadPeers(Case):
    """Whatever one connection does, the daemon and other connections go on."""

    def setUp(self):
        super().setUp()
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("workers: 2\n")
        self.model = self.world.zoo("relu")
        self.ok(self.world.omcc("daemon", "start"))
        self.pid = self.world.daemon_pid()
        self.ok(self.world.compile(self.model))
        wait_until(lambda: [w["state"] for w in self.world.status()["workers"]] == ["waiting"] * 2,
                   what="workers that wait")
        self.before = self.descriptors()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def tearDown(self):
        self.assertEqual(self.world.daemon_pid(), self.pid, self.world.log())
        self.ok(self.world.compile(self.model))
        # Every descriptor of the bad connections is closed again.
        wait_until(lambda: self.descriptors() <= self.before, what="the end of all descriptors")

    def closed(self, data, greet=True, fds=()):
        peer = wire.Peer(self.world.socket, greet)
        peer.send(data, fds)
        body = peer.receive()
        while body is not None:
            body = peer.receive()
        peer.close()

    def test_malformed_frames(self):
        ok = wire.field(2, wire.field(1, 1) + wire.field(2, 1))
        rows = {"magic": wire.frame(ok, magic=0x12345678), "version": wire.frame(ok, version=9),
                "reserved": wire.frame(ok, reserved=7), "too long": wire.frame(b"", length=(1 << 20) + 1),
                "huge": wire.frame(b"", length=0xFFFFFFFF), "too many descriptors": wire.frame(ok, n_fds=17),
                "descriptors that do not come": wire.frame(ok, n_fds=3),
                "no protobuf": wire.frame(b"\xff" * 40), "http": b"GET / HTTP/1.0\r\n\r\n" * 3}
        for name, data in rows.items():
            for greet in (False, True):
                with self.subTest(f"{name}, {greet}"):
                    self.closed(data, greet)

    def test_wrong_descriptor_counts(self):
        flags = [("model", "m"), ("framework", "5"), ("soc_version", SOC), ("output", "o")]
        files = [("model", "m", False)]
        with open(self.world.work / self.model) as f:
            for announced, sent in ((0, 1), (1, 0), (1, 2), (2, 1), (16, 1), (0, 30)):
                with self.subTest((announced, sent)):
                    peer = wire.Peer(self.world.socket)
                    peer.send(wire.frame(wire.submit(flags, files), n_fds=announced),
                              [f.fileno()] * sent)
                    peer.socket.shutdown(1)
                    while peer.receive() is not None:
                        pass
                    peer.close()

    def test_descriptors_of_wrong_kinds(self):
        flags = [("model", "m"), ("framework", "5"), ("soc_version", SOC), ("output", "o")]
        for path in ("/dev/zero", "/dev/null", "/"):
            with self.subTest(path):
                fd = os.open(path, os.O_RDONLY)
                peer = wire.Peer(self.world.socket)
                peer.send(wire.frame(wire.submit(flags, [("model", "m", False)]), n_fds=1), [fd])
                body = peer.receive()
                self.assertTrue(body is None or b"input-not-regular" in body, body)
                peer.close()
                os.close(fd)
        # A list that can still change under the daemon.
        with open(self.world.work / self.model) as f:
            self.closed(wire.frame(wire.submit(flags + [("keep_dtype", "k")],
                                               [("model", "m", False), ("keep_dtype", "k", True)]),
                                   n_fds=2), fds=[f.fileno(), f.fileno()])

    def test_two_versions_are_named(self):
        peer = wire.Peer(self.world.socket, greet=False)
        peer.send(wire.hello(90, 99))
        body = peer.receive()
        for word in (b"90", b"99", b"1"):
            self.assertIn(word, body)
        peer.close()

    def test_leaving_at_any_point(self):
        flags = [("model", "m"), ("framework", "5"), ("soc_version", SOC), ("output", "o")]
        whole = wire.frame(wire.submit(flags, [("model", "m", False)]), n_fds=1)
        rng = random.Random(7)
        with open(self.world.work / self.model) as f:
            for cut in [0, 1, 11, 12, 13, len(whole) - 1, len(whole)] + rng.sample(range(len(whole)), 20):
                peer = wire.Peer(self.world.socket)
                if cut:
                    peer.send(whole[:cut], [f.fileno()])
                peer.close()
        for size in (0, 1, 5, 12):
            peer = wire.Peer(self.world.socket, greet=False)
            if size:
                peer.send(wire.hello()[:size])
            peer.close()

    def test_random_bytes_in_right_frames(self):
        rng = random.Random(11)
        for _ in range(150):
            body = bytearray(wire.submit([("model", "m"), ("mode", "0")], request=rng.randrange(9)))
            for _ in range(rng.randrange(1, 6)):
                body[rng.randrange(len(body))] = rng.randrange(256)
            peer = wire.Peer(self.world.socket)
            peer.send(wire.frame(bytes(body)))
            peer.close()

    def test_silent_peer_holds_nobody_up(self):
        silent = [wire.Peer(self.world.socket, greet=False) for _ in range(5)]
        silent[0].send(struct.pack("<IB", wire.MAGIC, 1))
        self.ok(self.world.compile(self.model))
        for peer in silent:
            peer.close()


if __name__ == "__main__":
    main()
