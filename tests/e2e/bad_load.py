"""Many peers that mean no good, or nothing at all: malformed frames, idle connections, peers that
send a byte at a time, stop inside a frame or never read. Used by a short test and a long one with larger numbers."""
import contextlib
import os
import random
import resource
import select
import socket
import struct
import sys
import time

import wire
from harness import PATIENCE, Case, wait_until

PING = wire.field(1, 7) + wire.field(7, b"")


def figure(text):
    print(f"figure {text}", file=sys.stderr)


class BadLoad(Case):
    frames, idle, slow, deaf, halves = 3000, 1500, 200, 30, 100
    asked = 400  # questions in a second of who never reads

    def setUp(self):
        super().setUp()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        folder = self.world.root / "home" / ".config" / "omcc"
        folder.mkdir(parents=True)
        (folder / "omccd.yaml").write_text("max_connections: 20000\n")
        self.ok(self.world.omcc("daemon", "start"))
        self.pid = self.world.daemon_pid()
        self.good = wire.Peer(self.world.socket)
        self.addCleanup(self.good.close)

    def rss(self):
        with open(f"/proc/{self.pid}/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    def ping_us(self):
        begun = time.perf_counter()
        self.good.send(wire.frame(PING))
        self.assertIsNotNone(self.good.receive())
        return (time.perf_counter() - begun) * 1e6

    def pings(self, n=300):
        took = sorted(self.ping_us() for _ in range(n))
        return took[n // 2], took[n * 99 // 100]

    def descriptors(self):
        """How many of those that the peers have sent the daemon holds."""
        found = 0
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{self.pid}/fd/{fd}")
                found += target == str(self.world.work)
        return found

    def still_the_same(self):
        self.assertEqual(self.world.daemon_pid(), self.pid, self.world.log())

    def malformed(self, rng):
        """One bad stream: a header that is wrong, a body that is noise, an order that is not."""
        kind = rng.randrange(7)
        noise = rng.randbytes(rng.randrange(1, 200))
        if kind == 0:
            return noise
        if kind == 1:
            return wire.frame(noise, magic=rng.getrandbits(32))
        if kind == 2:
            return wire.frame(noise, version=rng.randrange(2, 256))
        if kind == 3:
            return wire.frame(noise, length=rng.randrange(1 << 20, 1 << 32))
        if kind == 4:
            return wire.frame(noise, n_fds=rng.randrange(1, 256))
        if kind == 5:
            return wire.hello() + wire.hello()
        return wire.hello() + wire.frame(bytes(rng.randbytes(40)))

    def test_malformed_frames(self):
        """R6: each closes its own connection, and nothing of it stays."""
        rng = random.Random(3)
        took = []
        before = self.rss()
        for i in range(self.frames):
            with socket.socket(socket.AF_UNIX) as s, contextlib.suppress(OSError):
                s.settimeout(PATIENCE)
                s.connect(str(self.world.socket))
                s.sendall(self.malformed(rng))
                s.shutdown(socket.SHUT_WR)
                while s.recv(4096):
                    pass
            if i % 10 == 0:
                took.append(self.ping_us())
        self.still_the_same()
        grown = self.rss() - before
        took.sort()
        self.assertLess(grown, 4 << 20)
        figure(f"R6 frames={self.frames} crashes=0 grown_kib={grown / 1024:.0f} "
               f"good_ping_us p50={took[len(took) // 2]:.0f} p99={took[len(took) * 99 // 100]:.0f}")

    def test_idle_connections(self):
        """R7: what a connection that does nothing costs."""
        before = self.rss()
        peers = []
        self.addCleanup(lambda: [p.close() for p in peers])
        for _ in range(self.idle):
            peers.append(wire.Peer(self.world.socket))
        each = (self.rss() - before) / self.idle
        p50, p99 = self.pings()
        for peer in peers:
            peer.close()
        peers.clear()
        self.still_the_same()
        self.assertLess(each, 16384)
        figure(f"R7 idle={self.idle} bytes_each={each:.0f} ping_us p50={p50:.0f} p99={p99:.0f}")

    def test_slow_and_deaf_peers(self):
        """R8: one byte a second before the greeting is cut off in time; who asks and never reads is
        not listened to, and cut off in time too. Neither costs more than 64 KiB meanwhile."""
        before = self.rss()
        greeting = wire.hello()
        opened = time.monotonic()
        slow = [socket.socket(socket.AF_UNIX) for _ in range(self.slow)]
        for s in slow:
            s.connect(str(self.world.socket))
            s.setblocking(False)
        deaf = [wire.Peer(self.world.socket) for _ in range(self.deaf)]
        connected = self.rss()
        peak = connected
        begun = time.monotonic()
        worst = []
        for second in range(len(greeting) - 1):
            for s in slow:
                with contextlib.suppress(OSError):
                    s.send(greeting[second:second + 1])
            for peer in deaf:
                peer.socket.setblocking(False)
                with contextlib.suppress(OSError):
                    for _ in range(self.asked):
                        peer.socket.send(wire.frame(PING))
            worst.append(self.pings(50)[1])
            peak = max(peak, self.rss())
            if self.closed(slow):
                break
            time.sleep(max(0.0, begun + second + 1 - time.monotonic()))
        cut = time.monotonic() - begun
        self.assertTrue(self.closed(slow))
        self.assertGreaterEqual(time.monotonic() - opened, 10)  # nobody is cut off before
        each = (peak - before) / (self.slow + self.deaf)
        deaf_each = (peak - connected) / self.deaf
        for s in slow:
            s.close()
        wait_until(lambda: self.hung_up(deaf), 60, "who does not take its answers is not cut off")
        cut_deaf = time.monotonic() - begun
        for peer in deaf:
            peer.close()
        self.still_the_same()
        self.assertLess(each, 65536)
        self.assertLess(deaf_each, 65536)
        worst.sort()
        figure(f"R8 slow={self.slow} deaf={self.deaf} slow_closed_after_s={cut:.0f} "
               f"deaf_closed_after_s={cut_deaf:.0f} kib_each={each / 1024:.1f} kib_each_deaf={deaf_each / 1024:.1f} "
               f"good_ping_us p99_of_the_worst_second={worst[-1]:.0f}")

    def test_stopped_inside_a_frame(self):
        """A frame that has begun must be complete within 10 s, whoever greeted or not; what came with
        it goes too. One that comes in pieces, and soon, is a frame like any other."""
        before = self.rss()
        begun = time.monotonic()
        halves = []
        self.addCleanup(lambda: [s.close() for s in halves])
        for i in range(self.halves):
            peer = wire.Peer(self.world.socket)
            head = wire.frame(b"", n_fds=i % 3, length=40000)
            held = [os.open(self.world.work, os.O_RDONLY) for _ in range(i % 3)]
            peer.send((head + bytes(30000))[:(1, 7, 12, 500, 30000)[i % 5]], held)
            for fd in held:
                os.close(fd)
            peer.socket.setblocking(False)
            halves.append(peer.socket)
        ping = wire.frame(PING)
        pieces, worst = [ping[:1], ping[1:12], ping[12:]], []
        steady = wire.Peer(self.world.socket)
        wait_until(self.descriptors, what="the descriptors")
        while not self.closed(halves):
            self.assertLess(time.monotonic() - begun, PATIENCE)
            if pieces and time.monotonic() - begun > 2 * (3 - len(pieces)):
                steady.send(pieces.pop(0))
            worst.append(self.pings(50)[1])
            time.sleep(0.2)
        cut = time.monotonic() - begun
        grown = self.rss() - before
        self.assertGreaterEqual(cut, 10)
        self.assertEqual(pieces, [])
        self.assertIsNotNone(steady.receive())
        self.still_the_same()
        self.assertIn("the rest of a frame did not come in 10 s", self.world.log())
        steady.close()
        self.assertEqual(self.descriptors(), 0)
        worst.sort()
        figure(f"R8 stopped_inside_a_frame={self.halves} closed_after_s={cut:.0f} grown_mib={grown / 1048576:.1f} "
               f"descriptors_left=0 good_ping_us p99_of_the_worst={worst[-1]:.0f}")

    @staticmethod
    def hung_up(peers):
        """The daemon has closed them all, whatever of its answers is still unread."""
        poll = select.poll()
        for peer in peers:
            poll.register(peer.socket, 0)
        return len([events for _, events in poll.poll(0) if events & select.POLLHUP]) == len(peers)

    @staticmethod
    def closed(sockets):
        for s in sockets:
            try:
                if s.recv(1, socket.MSG_PEEK):
                    return False
            except BlockingIOError:
                return False
            except OSError:
                pass
        return True
