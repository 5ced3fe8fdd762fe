"""A cache whose place fails: full, read-only, not permitted, failing. Results are delivered all
the same, status says what is wrong, and storing goes on by itself once there is room again."""
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import unittest

import faults
from harness import BIN, BINARY_DIR, SOC, Case, main, wait_until


def figure(text):
    print(f"figure {text}", file=sys.stderr)


def may_mount():
    if os.geteuid() != 0:
        return False
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    return done.returncode == 0


class Trouble(Case):
    def setUp(self):
        super().setUp()
        self.model = self.world.zoo("g1")
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("cache_free_floor: 0\n")

    def reference(self):
        self.ok(self.world.compile(self.model, "--quiet", output="ref/m"))
        content = self.world.om("ref/m").read_bytes()
        self.ok(self.world.omcc("daemon", "stop"))
        shutil.rmtree(self.world.cache)
        return content

    def other(self, seed):
        return self.world.zoo("g1", "--seed", str(100 + seed), name=f"other{seed}.onnx")

    def compiled(self, name, *words, model=None):
        result = self.ok(self.world.compile(model or self.model, "--json", *words, output=f"out/{name}"))
        return result.json["data"]

    def trouble(self):
        return self.world.status()["cache_trouble"]

    def through_dirs(self):
        return [n for n in os.listdir("/tmp") if n.startswith(f"omcc-through-{os.geteuid()}")]


@unittest.skipUnless(may_mount(), "file systems of a size need root: R11 and the read-only mount")
class Mounted(Trouble):
    def mount(self, *options):
        self.world.cache.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", self.world.cache],
                       check=True)
        self.addCleanup(self.unmount)

    def unmount(self):
        with contextlib.suppress(Exception):
            self.world.omcc("daemon", "stop", "--now")
        subprocess.run(["umount", "-l", self.world.cache], capture_output=True)

    def fill(self, leave):
        """Leaves that many bytes of the cache's file system."""
        path = self.world.cache / "filler"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while os.write(fd, bytes(4096)):
                pass
        os.ftruncate(fd, max(0, os.fstat(fd).st_size - leave))
        os.close(fd)
        return path

    def test_full_disk(self):
        expected = self.reference()
        self.mount("size=4m", "mode=0700")
        self.assertEqual(self.compiled("first")["result"], "miss")
        wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the first result")
        delivered = refused = 0
        for leave in (0, 4096, 16384, 65536, 262144, 300000):
            filler = self.fill(leave)
            data = self.compiled(f"full{leave}", model=self.other(delivered))
            delivered += 1
            if data["stored"] == "no":
                refused += 1
                self.assertIn("full", data["stored_reason"])
                self.assertIn("full", self.trouble())
            filler.unlink()
        # Hits go on while the disk is full.
        self.fill(0)
        self.assertEqual(self.compiled("hit")["result"], "hit")
        (self.world.cache / "filler").unlink()
        pid = self.world.daemon_pid()
        data = self.compiled("again", model=self.other(9))
        self.assertEqual(data["stored"], "pending")
        wait_until(lambda: self.trouble() is None, what="the end of the trouble")
        self.assertEqual(self.world.daemon_pid(), pid)
        self.assertEqual(self.world.om("out/first").read_bytes(), expected)
        self.assertGreaterEqual(refused, 3)
        self.assertGreaterEqual(self.world.status()["jobs"]["not_stored"], refused)
        self.whole()
        figure(f"R11 full_disk jobs={delivered} delivered={delivered} not_stored={refused} partial_files=0 "
               "restarts=0")

    def test_full_disk_with_the_vendors_compiler(self):
        """Its job directory lies on the same file system: a run is delivered, or fails and says of what;
        nothing half-written is placed, stored or left behind."""
        toolkit = self.world.root / "toolkit"
        shutil.copytree(BINARY_DIR / "fake-atc", toolkit)
        (toolkit / "fake-atc.conf").write_text("FAKE_SIZE=200000\n")
        self.world.env["ASCEND_HOME_PATH"] = str(toolkit)
        whole = self.world.compile(self.model, "--quiet", output="ref/m", backend="atc")
        size = len((self.ok(whole), self.world.om("ref/m").read_bytes())[1])
        self.ok(self.world.omcc("daemon", "stop"))
        shutil.rmtree(self.world.cache)
        self.mount("size=4m", "mode=0700")
        self.ok(self.world.compile(self.model, "--quiet", output="out/first", backend="atc"))
        wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the first result")
        delivered = failed = 0
        for leave in (0, 4096, 40960, 131072, 300000, 600000, 1500000):
            filler, name = self.fill(leave), f"out/full{leave}"
            result = self.world.compile(self.other(leave), "--json", output=name, backend="atc")
            filler.unlink()
            if result.status == 0:
                delivered += 1
                self.assertEqual(self.world.om(name).stat().st_size, size)
            else:
                failed += 1
                self.assertIn(result.status, (3, 4), str(result))
                self.assertRegex(result.json["message"] + result.err, "(?i)no space left|KiB left|is full", str(result))
                self.assertFalse(self.world.om(name).exists())
            self.assertEqual([n for n in self.world.names() if not n.endswith(".om")], [])
            wait_until(lambda: os.listdir(self.world.cache / "jobs") == [], what="the end of the job directory")
        self.assertGreater(delivered, 0)
        self.assertGreater(failed, 0)
        data = self.ok(self.world.compile(self.other(9), "--json", output="out/again", backend="atc")).json["data"]
        self.assertEqual(data["stored"], "pending")
        wait_until(lambda: self.trouble() is None and self.world.status()["jobs"]["storing"] == 0,
                   what="the end of trouble and storing")
        self.whole()
        figure(f"R11 full_disk_atc jobs={delivered + failed} delivered={delivered} failed_clearly={failed} partial_files=0")

    def whole(self):
        self.ok(self.world.omcc("cache", "verify"))
        objects = list((self.world.cache / "objects").rglob("[0-9a-f]" * 64))
        self.assertEqual(len(objects), self.world.status()["cache"]["objects"])
        self.assertEqual(os.listdir(self.world.cache / "tmp"), [])

    def test_disk_full_at_the_start(self):
        self.mount("size=1m", "mode=0700")
        self.fill(0)
        self.assertEqual(self.compiled("m")["stored"], "no")
        self.assertTrue(self.trouble())

    def test_read_only(self):
        expected = self.reference()
        self.mount("size=4m", "mode=0700")
        subprocess.run(["mount", "-o", "remount,ro", self.world.cache], check=True)
        data = self.compiled("m")
        self.assertEqual((data["result"], data["stored"]), ("miss", "no"))
        self.assertIn("Read-only file system", data["stored_reason"])
        self.assertIn("Read-only file system", self.trouble())
        self.assertIn("trouble  nothing is stored", self.world.omcc("status").out)
        self.assertEqual(self.world.om().read_bytes(), expected)
        self.ok(self.world.omcc("daemon", "stop"))
        wait_until(lambda: not self.through_dirs(), what="the end of the other cache")
        figure("R12 error=EROFS delivered=1 stored=0 said_by_status=1")


class Refused(Trouble):
    def test_no_permission(self):
        if os.geteuid() != 0:
            self.skipTest("becoming another user needs root: R12 EACCES")
        self.world.cache.mkdir()
        for folder in (self.world.root, *self.world.root.rglob("*")):
            os.chown(folder, 65534, 65534)
        self.world.cache.chmod(0o500)
        self.other_user()
        data = self.compiled("m")
        self.assertEqual(data["stored"], "no")
        self.assertIn("Permission denied", self.trouble())
        self.ok(self.world.omcc("daemon", "stop"))
        figure("R12 error=EACCES delivered=1 stored=0 said_by_status=1")

    def other_user(self):
        begin = self.world.start
        self.world.start = lambda *words, **more: begin(*words, user=65534, group=65534, extra_groups=[], **more)

    def failing(self, error, armed=True):
        """A daemon whose every call that changes the cache fails, from its start on."""
        fault = faults.Fault(self.world.root, "omccd", self.world.cache)
        self.addCleanup(fault.close)
        if armed:
            fault.arm(faults.FAIL, 1, faults.FILES & ~faults.READ, error, sticky=True)
        daemon = self.world.start(f"--socket={self.world.socket}", f"--cache_dir={self.world.cache}",
                                  argv0=str(BIN / "omccd"), env=fault.environment)
        wait_until(lambda: self.world.omcc("status").status == 0, what="the daemon")
        return fault, daemon

    @unittest.skipIf("asan" in str(BIN), "the shim cannot stand before a sanitizer")
    def test_failing_disk(self):
        for error in (errno.EIO, errno.EDQUOT):
            with self.subTest(errno.errorcode[error]):
                fault, daemon = self.failing(error)
                data = self.compiled("m")
                self.assertEqual(data["stored"], "no")
                self.assertIn(os.strerror(error), self.trouble())
                daemon.terminate()
                self.assertEqual(self.world.finish(daemon).status, 0)
                fault.disarm()
                figure(f"R12 error={errno.errorcode[error]} delivered=1 stored=0 said_by_status=1")

    @unittest.skipIf("asan" in str(BIN), "the shim cannot stand before a sanitizer")
    def test_a_disk_that_begins_to_fail(self):
        fault, daemon = self.failing(0, armed=False)
        self.ok(self.world.compile(self.model))
        wait_until(lambda: self.world.status()["cache"]["entries"] == 1, what="the first result")
        fault.arm(faults.FAIL, 1, faults.FILES & ~faults.READ, errno.EIO, sticky=True)
        self.assertEqual(self.compiled("failing", "--soc_version=Ascend910B1")["stored"], "no")
        self.assertTrue(self.trouble())
        fault.disarm()
        self.assertEqual(self.compiled("well", "--soc_version=Ascend310")["stored"], "pending")
        wait_until(lambda: self.world.status()["cache"]["entries"] == 2, what="the next result")
        wait_until(lambda: self.trouble() is None, what="the end of the trouble")
        daemon.terminate()
        self.assertEqual(self.world.finish(daemon).status, 0)
        figure("R12 error=EIO while_running=1 delivered=1 stored_again=1")


del Trouble
class Output(Case):
    def test_a_full_disk_behind_stdout_is_a_failure(self):
        words = [str(BIN / "omcc"), "explain", "--json", "--backend=builtin", "--",
                 f"--model={self.world.zoo('relu')}", "--framework=5", f"--soc_version={SOC}"]
        for out, wanted in (("/dev/full", 4), ("/dev/null", 0)):
            with self.subTest(out), open(out, "wb") as stdout:
                proc = subprocess.run(words, cwd=self.world.work, env=self.world.env, stdout=stdout,
                                      stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(proc.returncode, wanted, proc.stderr)
                self.assertEqual(b"FAILED environment: the output could not be written" in proc.stderr, wanted != 0)

    def test_a_reader_who_leaves_early_is_none(self):
        read, write = os.pipe()
        os.close(read)
        proc = subprocess.run([str(BIN / "omcc"), "help", "flags"], env=self.world.env, stdout=write,
                              stderr=subprocess.PIPE, timeout=60, restore_signals=False)
        os.close(write)
        self.assertEqual((proc.returncode, proc.stderr), (0, b""))


if __name__ == "__main__":
    main()
