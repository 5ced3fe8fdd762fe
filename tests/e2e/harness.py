"""What every end-to-end test uses: the built programs, a daemon of its own, models.

A World is a temporary folder with its own socket, cache and HOME. Its daemon is started
by the client, as users' daemons are, and must be gone with all its processes when the
World ends: a test that leaves a process or a temporary file behind fails.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

BINARY_DIR = pathlib.Path(os.environ["OMCC_BINARY_DIR"])
SOURCE_DIR = pathlib.Path(os.environ["OMCC_SOURCE_DIR"])
BIN = BINARY_DIR / "bin"
SOC = "Ascend310P3"
# A wait that takes this long means that something hangs: sanitizer builds are slower, and a busy
# machine may take twenty times as long as a quiet one. How long things take is printed as figures.
PATIENCE = 180


class Result:
    """One finished command."""

    def __init__(self, args, proc, out, err, seconds):
        self.args, self.status, self.seconds = args, proc.returncode, seconds
        self.out_bytes = out
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def ids(self):
        """Ids of all findings, from JSON or from the text."""
        if self.out.lstrip().startswith("{"):
            return [f["id"] for f in self.json["findings"]]
        import re
        return re.findall(r"^(?:note|warning|error): .*\[([a-z0-9-]+)\]$", self.err + self.out, re.M)

    def __str__(self):
        return f"{self.args}\nstatus {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def processes():
    """pid -> (parent, name, command line) of everything that runs, zombies left out."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            stat = pathlib.Path("/proc", entry, "stat").read_text()
            name, rest = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
            if rest[0] != "Z":
                line = pathlib.Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry)] = (int(rest[1]), name, line.decode("utf-8", "replace"))
    return found


def descendants(pid):
    table = processes()
    found, todo = set(), [pid]
    while todo:
        parent = todo.pop()
        for child, (its_parent, _, _) in table.items():
            if its_parent == parent and child not in found:
                found.add(child)
                todo.append(child)
    return found


def wait_until(condition, seconds=PATIENCE, what="the condition"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true in {seconds} s")


class Stalls:
    """How long this machine kept a process waiting that had something to do: a thread that wants to
    wake every 5 ms and notes by how much it comes late. Nothing on a quiet machine; a limit in
    milliseconds that is to hold on a busy one as well gets it on top."""

    def __enter__(self):
        self.late, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        due = time.monotonic() + 0.005
        while not self.over.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            self.late += max(0.0, now - due - 0.002)
            due = now + 0.005

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()

    @property
    def ms(self):
        return self.late * 1000


class World:
    def __init__(self, **environment):
        # Short, because a socket path has at most 107 bytes.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="oe-", dir="/tmp"))
        self.socket = self.root / "run" / "d.sock"
        self.cache = self.root / "cache"
        self.work = self.root / "work"
        for folder in (self.socket.parent, self.work, self.root / "home"):
            folder.mkdir(mode=0o700)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("OMCC_", "ASCEND_", "XDG_", "FAKE_"))}
        self.env.update(OMCC_SOCKET=str(self.socket), OMCC_CACHE_DIR=str(self.cache),
                        HOME=str(self.root / "home"), NO_COLOR="1", **environment)
        self.clients = []

    # ---- commands

    def start(self, *args, env=None, cwd=None, argv0=None, stdin=subprocess.DEVNULL, **more):
        """Starts `omcc ARGS`; finish() waits for it."""
        full = dict(self.env, **{k: v for k, v in (env or {}).items() if v is not None})
        for key, value in (env or {}).items():
            if value is None:
                full.pop(key, None)
        proc = subprocess.Popen([argv0 or str(BIN / "omcc"), *map(str, args)],
                                cwd=str(cwd or self.work), env=full, stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        proc.begun = time.monotonic()
        self.clients.append(proc)
        return proc

    def finish(self, proc, timeout=PATIENCE):
        try:
            out, err = proc.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            proc.kill()
            out, err = proc.communicate()
            raise AssertionError(f"{proc.args} hangs\n{err.decode('utf-8', 'replace')}\n{self.log()}")
        return Result(proc.args, proc, out, err, time.monotonic() - proc.begun)

    def omcc(self, *args, **options):
        timeout = options.pop("timeout", PATIENCE)
        return self.finish(self.start(*args, **options), timeout)

    def compile(self, model, *args, output="out/m", backend="builtin", soc=SOC, **options):
        own = [f"--backend={backend}"] if backend else []
        return self.omcc(f"--model={model}", "--framework=5", f"--soc_version={soc}",
                         f"--output={output}", *own, *args, **options)

    def explain(self, model, *args, backend="builtin", soc=SOC, **options):
        own = [f"--backend={backend}"] if backend else []
        return self.omcc("explain", "--json", *own, "--", f"--model={model}", "--framework=5",
                         f"--soc_version={soc}", *args, **options)

    # ---- files

    def write(self, name, content):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def zoo(self, kind, *options, name=None):
        """Writes a generated model into the work folder and returns its name."""
        name = name or f"{kind}.onnx"
        subprocess.run([str(BIN / "zoogen"), kind, "-o", name, *options], cwd=self.work,
                       check=True, capture_output=True)
        return name

    def om(self, name="out/m"):
        return self.work / f"{name}.om"

    def names(self, folder="out"):
        path = self.work / folder
        return sorted(os.listdir(path)) if path.is_dir() else []

    # ---- the daemon

    def status(self):
        result = self.omcc("status", "--json")
        return result.json["data"] if result.status == 0 else None

    def daemon_pid(self):
        status = self.status()
        return status and status["pid"]

    def log(self):
        path = pathlib.Path(f"{self.socket}.log")
        return path.read_text(errors="replace") if path.exists() else ""

    def alive(self):
        """Processes of this world: whose command line names its folder, and their children."""
        mark = str(self.root)
        found = {pid for pid, (_, _, line) in processes().items() if mark in line}
        for pid in list(found):
            found |= descendants(pid)
        return found - {os.getpid()}

    def wait_stopped(self, name):
        """The pid of this world's process of that name that stopped itself at a stop point."""
        def stopped():
            table = processes()
            for pid in self.alive():
                with contextlib.suppress(OSError):
                    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
                    program = table.get(pid, (0, "", ""))[2].split(" ")[0]
                    if os.path.basename(program) == name and stat.rsplit(")", 1)[1].split()[0] == "T":
                        return pid
            return None
        return wait_until(stopped, what=f"the stop of {name}")

    def close(self):
        for proc in self.clients:
            if proc.poll() is None:
                proc.kill()
                proc.communicate()
        before = self.alive()
        self.omcc("daemon", "stop", "--now")
        try:
            wait_until(lambda: not (self.alive() | (before & set(processes()))),
                       what="the end of all processes")
        except AssertionError:
            table = processes()
            left = {pid: table.get(pid) for pid in self.alive() | (before & set(table))}
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"processes are left: {left}\n{self.log()}") from None
        finally:
            shutil.rmtree(self.root, ignore_errors=True)


class Case(unittest.TestCase):
    """A test with a world of its own."""
    maxDiff = None
    environment = {}

    def setUp(self):
        self.world = World(**self.environment)
        self.addCleanup(self.world.close)

    def ok(self, result):
        self.assertEqual(result.status, 0, f"{result}\n{self.world.log()}")
        return result

    def fails(self, result, status, *ids):
        """The status, and every id among the findings."""
        self.assertEqual(result.status, status, f"{result}\n{self.world.log()}")
        for wanted in ids:
            self.assertIn(wanted, result.ids, str(result))
        return result

    def summary(self, result):
        """The line that begins with hit or miss."""
        lines = [l for l in result.err.splitlines() if l.split("  ")[0] in ("hit", "miss")]
        self.assertEqual(len(lines), 1, str(result))
        return lines[0]

    def no_leftovers(self, folder="out", allowed=()):
        self.assertEqual([n for n in self.world.names(folder) if n not in allowed], [])


def main():
    unittest.main(verbosity=1)
