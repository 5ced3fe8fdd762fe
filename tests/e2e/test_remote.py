"""The remote tier: two machines (daemons) and a real nginx between them, and every way in
which a server can fail. Prints the figures of docs/reliability.md."""
import hashlib
import os
import shutil
import sys
import tempfile
import time

import schemas
from harness import BINARY_DIR, SOC, Case, Stalls, World, main, wait_until
from remote_servers import KINDS, Failing, Nginx

NO_PROXY = {"no_proxy": "*", "http_proxy": "", "https_proxy": "", "all_proxy": ""}
OUTAGE_JOBS = 4
SPARE = 5  # to see that the remote is used again; a trial may be cut on a busy machine
# Where no outage is meant a busy machine must not look like one.
PATIENT = {"remote_connect_limit": "10s", "remote_answer_limit": "30s", "remote_outage_limit": "30s",
           "remote_min_speed": "1"}


def figure(text):
    print(f"figure {text}", file=sys.stderr)


def settings(world, **values):
    folder = world.root / "home" / ".config" / "omcc"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "omccd.yaml").write_text("".join(f"{k}: '{v}'\n" for k, v in values.items()))


class Remote(Case):
    environment = NO_PROXY

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp(prefix="oe-remote-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def nginx(self, rules=""):
        server = Nginx(os.path.join(self.folder, "nginx"), rules)
        self.addCleanup(server.close)
        return server

    def machine(self, url, mode="read", limits=PATIENT, **values):
        """Another world whose daemon uses the remote cache."""
        world = World(**NO_PROXY)
        self.addCleanup(world.close)
        settings(world, remote_url=url, remote_mode=mode, **{**limits, **values})
        return world

    def remote(self, world):
        return world.status()["remote"]

    def counter(self, world, name):
        return self.remote(world)["counters"][name]

    def put(self, world, n=1):
        wait_until(lambda: self.counter(world, "puts") >= n, what="the upload")

    def compiled(self, world, model, *words, **options):
        result = self.ok(world.compile(model, "--json", *words, **options))
        return schemas.check(self, result, "compile")["data"]

    def key(self, world):
        listed = self.ok(world.omcc("cache", "list", "--json")).json
        return listed["data"]["entries"][0]["key"]


class Sharing(Remote):
    def test_what_one_compiled_another_gets(self):
        server = self.nginx()
        a, b = self.machine(server.url, "read-write"), self.machine(server.url)
        model = a.zoo("g1")
        first = self.compiled(a, model)
        self.assertEqual((first["result"], first["hit_kind"]), ("miss", None))
        self.put(a)
        b.zoo("g1")
        second = self.compiled(b, model)
        self.assertEqual((second["result"], second["hit_kind"]), ("hit", "remote"))
        self.assertEqual(second["miss_reasons"], [])
        self.assertEqual(second["key"], first["key"])
        self.assertEqual(a.om().read_bytes(), b.om().read_bytes())
        wait_until(lambda: b.status()["cache"]["entries"] == 1, what="the local entry")
        third = self.compiled(b, model)
        self.assertEqual((third["result"], third["hit_kind"]), ("hit", "exact"))
        shown = [self.ok(w.omcc("cache", "show", first["key"], "--json")).json["data"] for w in (a, b)]
        self.assertEqual(shown[0]["parts"], shown[1]["parts"])
        names = [sorted((m["name"], m["sha256"]) for m in s["members"]) for s in shown]
        self.assertEqual(names[0], names[1])
        self.assertEqual(self.counter(b, "hits"), 1)
        self.assertEqual(b.status()["jobs"]["hits_remote"], 1)
        self.assertEqual(b.status()["jobs"]["misses"], 0)
        self.assertEqual(self.counter(b, "puts"), 0)
        for path in (server.data / "cas").iterdir():
            self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
        self.assertIn("breaker closed", b.omcc("status").out)
        schemas.check(self, b.omcc("status", "--json"), "status")
        figure(f"remote_hits=1 equal_bytes=1 puts={server.asked('PUT', 'cas')}")

    def test_equal_plans_share_bytes(self):
        server = self.nginx()
        a, b = self.machine(server.url, "read-write"), self.machine(server.url)
        model = a.zoo("g1")
        self.compiled(a, model)
        self.put(a)
        b.zoo("g1")
        b.write("keep.txt", "# nothing\n")
        data = self.compiled(b, model, "--keep_dtype=keep.txt")
        self.assertEqual((data["result"], data["hit_kind"]), ("hit", "remote"))
        self.assertNotEqual(data["key"], self.key(a))
        self.assertEqual(a.om().read_bytes(), b.om().read_bytes())

    def test_identical_requests_are_one_question(self):
        server = self.nginx()
        a = self.machine(server.url, "read-write")
        model = a.zoo("g1")
        self.compiled(a, model)
        self.put(a)
        slow = Failing("none", server.data)
        slow.delay = 0.15
        self.addCleanup(slow.close)
        b = self.machine(slow.url, remote_outage_limit="30s")
        b.zoo("g1")
        self.ok(b.omcc("daemon", "start"))
        running = [b.start(f"--model={model}", "--framework=5", f"--soc_version={SOC}", "--json",
                           f"--output=out/m{i}", "--backend=builtin") for i in range(8)]
        results = [self.ok(b.finish(p)).json["data"] for p in running]
        self.assertEqual([r["result"] for r in results if r["result"] == "miss"], [])
        self.assertEqual(self.counter(b, "looks"), 1)
        wanted = a.om().read_bytes()
        wrong = sum(b.om(f"out/m{i}").read_bytes() != wanted for i in range(8))
        self.assertEqual(wrong, 0)
        figure(f"remote_single_flight clients=8 looks=1 wrong={wrong}")

    def test_the_tools_output_and_side_files(self):
        server = self.nginx()
        # Its place is a part of its identity: the same for both machines.
        toolkit = os.path.join(self.folder, "toolkit")
        shutil.copytree(BINARY_DIR / "fake-atc", toolkit)
        with open(os.path.join(toolkit, "fake-atc.conf"), "w") as f:
            f.write(f"FAKE_COUNT_FILE={self.folder}/runs\n")
        a, b = self.machine(server.url, "read-write"), self.machine(server.url)
        for world in (a, b):
            world.env["ASCEND_HOME_PATH"] = toolkit
            world.zoo("g1")
        first = self.ok(a.compile("g1.onnx", backend=None))
        self.put(a)
        second = self.ok(b.compile("g1.onnx", backend=None))
        self.assertTrue(self.summary(second).startswith("hit"), second)
        self.assertEqual(second.out_bytes, first.out_bytes)
        self.assertEqual(a.om().read_bytes(), b.om().read_bytes())
        with open(os.path.join(self.folder, "runs")) as f:
            self.assertEqual(f.read().count("run"), 1)

    def test_uploads_are_finished_before_the_end(self):
        server = self.nginx()
        a = self.machine(server.url, "read-write")
        self.compiled(a, a.zoo("g1"))
        self.ok(a.omcc("daemon", "stop"))
        wait_until(lambda: not a.alive(), what="the daemon's end")
        self.assertEqual(len(list((server.data / "ac").iterdir())), 2)  # request and plan


class Questions(Remote):
    """Requests that may start nothing ask the remote cache too."""

    def has(self, world, model, *words):
        result = world.omcc("cache", "has", "--json", "--", f"--model={model}", "--framework=5",
                            f"--soc_version={SOC}", "--backend=builtin", *words)
        data = schemas.check(self, result, "cache-has")["data"]
        self.assertEqual(result.status, 0 if data["cached"] else 1)
        return data

    def shared(self, kind="g1"):
        """A machine that has put one result there, and an empty one."""
        server = self.nginx()
        a, b = self.machine(server.url, "read-write"), self.machine(server.url)
        model = a.zoo(kind)
        self.compiled(a, model)
        self.put(a)
        b.zoo(kind)
        self.ok(b.omcc("daemon", "start"))
        return server, a, b, model

    def test_has(self):
        """Says where it is, and fetches no bytes. A worker looks which files a model names that was never
        here; nothing is planned for good, nothing compiled."""
        server, a, b, model = self.shared("external")
        self.assertEqual(self.has(a, model)["where"], "local")
        fetched = server.asked("GET", "cas")
        data = self.has(b, model)
        self.assertEqual((data["cached"], data["where"], data["reasons"]), (True, "remote", []))
        self.assertEqual(data["key"], self.key(a))
        self.assertEqual(server.asked("GET", "cas"), fetched)
        words = ["--", f"--model={model}", "--framework=5", f"--soc_version={SOC}", "--backend=builtin"]
        self.assertEqual(self.ok(b.omcc("cache", "has", *words)).out, "cached (remote)\n")
        self.assertIn("cached in the remote cache", self.ok(b.omcc("why", *words)).out)
        absent = self.has(b, model, "--output_type=FP16")
        self.assertEqual((absent["cached"], absent["where"]), (False, None))
        status = b.status()
        self.assertEqual((status["cache"]["entries"], status["jobs"]["compiles"]), (0, 0))
        self.assertEqual(status["jobs"]["misses"], 0)
        # Bytes that a server has dropped are not there.
        for path in (server.data / "cas").iterdir():
            if path.stat().st_size == a.om().stat().st_size:
                path.unlink()
        self.assertFalse(self.has(b, model)["cached"])

    def test_cached_only(self):
        server, a, b, model = self.shared("external")
        data = self.compiled(b, model, "--cached_only")
        self.assertEqual((data["result"], data["hit_kind"], data["key"]), ("hit", "remote", self.key(a)))
        self.assertEqual(a.om().read_bytes(), b.om().read_bytes())
        wait_until(lambda: b.status()["cache"]["entries"] == 1, what="the local entry")
        asked = server.asked("GET", "ac")
        self.assertEqual(self.compiled(b, model, "--cached_only")["hit_kind"], "exact")
        self.assertEqual(server.asked("GET", "ac"), asked)
        result = b.compile(model, "--cached_only", "--json", soc="Ascend910B1")
        self.assertEqual((result.status, result.json["data"]["result"]), (1, "uncached"))
        jobs = b.status()["jobs"]
        self.assertEqual((jobs["hits_remote"], jobs["compiles"], jobs["misses"]), (1, 0, 0))
        figure("cached_only remote=1 local=1 compiles=0")

    def test_an_outage(self):
        """Costs no more than for a compile, and the answer says why it was not asked."""
        failing = Failing("refused", self.folder)
        self.addCleanup(failing.close)
        b = self.machine(failing.url)
        model = b.zoo("g1")
        self.ok(b.omcc("daemon", "start"))
        for _ in range(2):
            data = self.has(b, model)
            self.assertFalse(data["cached"])
            self.assertIn("remote cache was of no use", data["reasons"][-1])
            result = b.compile(model, "--cached_only", "--json")
            self.assertEqual(result.status, 1, str(result))
        self.assertIn(self.remote(b)["breaker"], ("open", "probing"))
        self.assertIn("not asked for a while", self.has(b, model)["reasons"][-1])
        self.assertEqual(b.status()["jobs"]["compiles"], 0)

    def test_every_worker_is_busy(self):
        """Nobody is there to look which files an unknown model names: the answer says so and comes at once."""
        server, a, b, model = self.shared()
        other = b.zoo("external")
        settings(b, remote_url=server.url, remote_mode="read", workers="1")
        self.ok(b.omcc("daemon", "stop"))
        self.ok(b.omcc("daemon", "start"))
        held = b.start(f"--model={model}", "--framework=5", "--soc_version=Ascend910B1", "--backend=builtin",
                       "--output=out/held", env={"OMCC_STOP_AT": "before-build"})
        b.wait_stopped("omcc-worker")
        reasons = self.has(b, other)["reasons"]
        self.assertIn("no worker is free", reasons[0])
        held.terminate()
        b.finish(held)


class Foreign(Remote):
    def test_records_that_are_not_ours_are_misses(self):
        server = self.nginx()
        a = self.machine(server.url, "read-write")
        model = a.zoo("g1")
        self.compiled(a, model)
        self.put(a)
        record = server.data / "ac" / self.key(a)
        good = record.read_bytes()
        other = next(p for p in record.parent.iterdir() if p != record)
        bad = {"empty": b"", "noise": os.urandom(300), "text": b"<html>hello</html>",
               "anothers": b"\x20\x00", "cut": good[:len(good) // 2],
               "another_key": other.read_bytes(),
               "older": good.replace(b"omcc.remote.v1.Entry", b"omcc.remote.v0.Entry")}
        other.unlink()
        for name, content in bad.items():
            with self.subTest(name):
                record.write_bytes(content)
                b = self.machine(server.url)
                b.zoo("g1")
                data = self.compiled(b, model)
                self.assertEqual(data["result"], "miss", data)
                self.assertEqual(self.counter(b, "foreign"), 1)
                self.assertEqual(self.remote(b)["breaker"], "closed")
                self.assertEqual(a.om().read_bytes(), b.om().read_bytes())
        figure(f"remote_foreign_records={len(bad)} errors=0")

    def test_a_part_that_is_gone_is_a_miss(self):
        server = self.nginx()
        a, b = self.machine(server.url, "read-write"), self.machine(server.url)
        model = a.zoo("g1")
        self.compiled(a, model)
        self.put(a)
        for path in (server.data / "cas").iterdir():
            path.unlink()
        b.zoo("g1")
        self.assertEqual(self.compiled(b, model)["result"], "miss")
        self.assertEqual(self.counter(b, "failures"), 0)


class Settings(Remote):
    def test_logins(self):
        server = self.nginx(rules='if ($http_authorization != "Bearer secret") { return 401; }')
        header = os.path.join(self.folder, "header")
        with open(header, "w") as f:
            f.write("# for the cache\nAuthorization: Bearer secret\n")
        os.chmod(header, 0o600)
        a = self.machine(server.url, "read-write", remote_header_file=header)
        model = a.zoo("g1")
        self.compiled(a, model)
        self.put(a)
        stranger = self.machine(server.url)
        stranger.zoo("g1")
        result = self.ok(stranger.compile(model))
        self.assertIn("remote-cache-denied", result.ids)
        self.assertIn("HTTP status 401", result.err)
        self.assertNotIn("secret", a.omcc("status").out + a.log())

    def test_netrc(self):
        # "user:word" in base64
        server = self.nginx(rules='if ($http_authorization != "Basic dXNlcjp3b3Jk") { return 401; }')
        netrc = os.path.join(self.folder, "netrc")
        with open(netrc, "w") as f:
            f.write("machine 127.0.0.1 login user password word\n")
        os.chmod(netrc, 0o600)
        a = self.machine(server.url, "read-write", remote_netrc=netrc)
        self.compiled(a, a.zoo("g1"))
        self.put(a)

    def test_settings_that_cannot_be_right(self):
        open_file = os.path.join(self.folder, "open")
        with open(open_file, "w") as f:
            f.write("Authorization: Bearer secret\n")
        os.chmod(open_file, 0o644)
        closed = os.path.join(self.folder, "closed")
        with open(closed, "w") as f:
            f.write("secret without a name\n")
        os.chmod(closed, 0o600)
        good = "http://127.0.0.1:1"
        rows = [({"remote_url": "ftp://x"}, "must begin with http:// or https://"),
                ({"remote_url": "http://"}, "names no host"),
                ({"remote_url": "http://user:word@host"}, "remote_netrc"),
                ({"remote_url": "http://host/?a=b"}, "plain place"),
                ({"remote_url": good, "remote_mode": "write"}, "must be one of"),
                ({"remote_url": good, "remote_ca": "/nowhere/ca.pem"}, "'remote_ca'"),
                ({"remote_url": good, "remote_netrc": open_file}, "make it 0600"),
                ({"remote_url": good, "remote_header_file": open_file}, "make it 0600"),
                ({"remote_url": good, "remote_header_file": closed}, "must hold lines like"),
                ({"remote_url": good, "remote_header_file": self.folder}, "no regular file")]
        for values, wanted in rows:
            with self.subTest(values):
                settings(self.world, **values)
                result = self.world.omcc("daemon", "start")
                self.assertNotEqual(result.status, 0)
                self.assertIn(wanted, result.err)
                self.assertNotIn("word@", result.err)
                self.assertNotIn("secret", result.err)


class Outages(Remote):
    """R27: what an outage costs, what it delivers, and when the remote is used again."""

    def fill(self, jobs):
        """A server that has results of so many jobs and the spare ones."""
        server = self.nginx()
        a = self.machine(server.url, "read-write")
        self.wanted, self.baseline = [], []
        self.ok(a.omcc("daemon", "start"))
        for i in range(jobs + SPARE):
            a.zoo("g1", "--seed", str(i + 1), name=f"m{i}.onnx")
            started = time.monotonic()
            self.compiled(a, f"m{i}.onnx")
            self.baseline.append(time.monotonic() - started)
            self.wanted.append(a.om().read_bytes())
        self.put(a, jobs + SPARE)
        self.models = [(a.work / f"m{i}.onnx").read_bytes() for i in range(jobs + SPARE)]
        return server

    def one(self, world, i):
        """Seconds, and the answer; never wrong bytes."""
        started = time.monotonic()
        data = self.compiled(world, f"m{i}.onnx")
        seconds = time.monotonic() - started
        self.wrong += world.om().read_bytes() != self.wanted[i]
        return seconds, data

    def outage(self, kind, server, **values):
        failing = Failing(kind, server.data, self.folder)
        self.addCleanup(failing.close)
        if failing.ca:
            values["remote_ca"] = failing.ca
        b = self.machine(failing.url, limits={}, **values)
        for i, content in enumerate(self.models):
            b.write(f"m{i}.onnx", content)
        self.ok(b.omcc("daemon", "start"))
        spent = 0.0
        with Stalls() as self.stalls:
            for i in range(len(self.models) - SPARE):
                seconds, data = self.one(b, i)
                self.assertEqual(data["result"], "miss", (kind, data))
                self.assertTrue(any("remote cache was of no use" in r for r in data["miss_reasons"]),
                                (kind, data))
                spent += seconds
        return failing, b, spent

    def recovery(self, failing, world):
        failing.heal()
        started = time.monotonic()
        with Stalls() as self.stalls:
            for spare in range(SPARE, 0, -1):
                wait_until(lambda: self.remote(world)["breaker"] in ("half-open", "closed"), what="the probe")
                _, data = self.one(world, len(self.models) - spare)
                if data["result"] == "hit":
                    break
        self.assertEqual((data["result"], data["hit_kind"]), ("hit", "remote"), data)
        self.assertEqual(self.remote(world)["breaker"], "closed")
        return time.monotonic() - started

    def test_matrix(self):
        server = self.fill(OUTAGE_JOBS)
        self.wrong, worst_lost, worst_back = 0, 0, 0.0
        for kind in KINDS:
            with self.subTest(kind):
                failing, b, spent = self.outage(kind, server, remote_retry="500ms")
                lost = self.counter(b, "lost_ms")
                wall = (spent - sum(self.baseline[:OUTAGE_JOBS])) * 1000
                if kind in ("wrong_bytes", "short"):
                    self.assertGreaterEqual(self.counter(b, "wrong_bytes"), 1)
                self.assertEqual("remote_wrong_bytes" in b.log(), kind == "wrong_bytes" or kind == "short")
                self.assertIn("state=open", b.log())
                # By the daemon's own account, and by the client's clock with room for the machine.
                self.assertLessEqual(lost, 1000 + self.stalls.ms, kind)
                self.assertLess(wall, 1000 + 1000 * OUTAGE_JOBS + 3 * self.stalls.ms, kind)
                back = None
                if kind != "no_name":
                    back = self.recovery(failing, b)
                    self.assertLessEqual(back, 30 + self.stalls.ms / 1000)
                    worst_back = max(worst_back, back)
                worst_lost = max(worst_lost, lost)
                figure(f"remote_outage kind={kind} jobs={OUTAGE_JOBS} lost_ms={lost} wall_extra_ms={wall:.0f}"
                       + (f" used_again_after_s={back:.1f}" if back is not None else ""))
        self.assertEqual(self.wrong, 0)
        figure(f"remote_outages kinds={len(KINDS)} worst_lost_ms={worst_lost} wrong={self.wrong} "
               f"worst_used_again_after_s={worst_back:.1f} (retry 500ms)")

    def test_recovery_with_the_defaults(self):
        server = self.fill(3)
        self.wrong = 0
        failing, b, _ = self.outage("status_500", server)
        back = self.recovery(failing, b)
        self.assertLessEqual(back, 30 + self.stalls.ms / 1000)
        self.assertEqual(self.wrong, 0)
        figure(f"remote_recovery retry=default used_again_after_s={back:.1f}")

    def test_a_slow_line_holds_nobody_back(self):
        """An artifact that takes 13 s to come, at a speed that is allowed: compiled meanwhile."""
        server = self.fill(1)
        line = Failing("slow_line", server.data)
        self.addCleanup(line.close)
        b = self.machine(line.url, remote_outage_limit="500ms")
        b.write("m0.onnx", self.models[0])
        self.ok(b.omcc("daemon", "start"))
        data = self.compiled(b, "m0.onnx")
        self.assertEqual(data["result"], "miss", data)
        self.assertEqual(line.transferred, 0, "the job waited for the remote's bytes")
        self.assertEqual(b.om().read_bytes(), self.wanted[0])
        self.assertEqual(b.status()["jobs"]["misses"], 1)
        wait_until(lambda: b.status()["cache"]["entries"] == 1, what="the local entry")
        figure(f"remote_slow_line transfer_ms>=13000 answered_after_ms={data['elapsed_ms']}")

    def test_certificates_are_a_finding(self):
        server = self.nginx()
        failing = Failing("tls_expired", server.data, self.folder)
        self.addCleanup(failing.close)
        b = self.machine(failing.url, remote_ca=failing.ca, remote_connect_limit="5s")
        result = self.ok(b.compile(b.zoo("g1")))
        self.assertIn("remote-cache-certificate", result.ids)


if __name__ == "__main__":
    main()
