"""Frames by hand: what a peer can send that is not our client."""
import array
import os
import socket
import struct

MAGIC = 0x31434D4F


def varint(n):
    out = bytearray()
    while True:
        out.append(n & 0x7F | (0x80 if n > 0x7F else 0))
        n >>= 7
        if not n:
            return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def frame(body, n_fds=0, magic=MAGIC, version=1, reserved=0, length=None):
    return struct.pack("<IBBHI", magic, version, n_fds, reserved,
                       len(body) if length is None else length) + body


def hello(low=1, high=1):
    return frame(field(2, field(1, low) + field(2, high) + field(3, "test") + field(4, os.getpid())))


def submit(flags, files=(), request=1, backend="builtin"):
    """A ToDaemon with Submit; files are (flag, name, sealed)."""
    body = b"".join(field(2, field(1, n) + field(2, v) + field(3, 1)) for n, v in flags)
    body += b"".join(field(3, field(1, flag) + field(2, name) + field(3, i) + field(4, int(sealed)))
                     for i, (flag, name, sealed) in enumerate(files))
    return field(1, request) + field(3, body + field(4, backend))


class Peer:
    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX)
        # With a limit connect() would not wait for room in the listener's queue, but fail.
        self.socket.connect(str(path))
        self.socket.settimeout(180)
        if greet:
            self.send(hello())
            assert self.receive() is not None

    def send(self, data, fds=()):
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([data], ancillary)

    def receive(self):
        """The body of the next frame; None when the daemon has closed."""
        head = self.exactly(12)
        if head is None:
            return None
        return self.exactly(struct.unpack("<IBBHI", head)[4])

    def exactly(self, n):
        data = b""
        while len(data) < n:
            try:
                more, ancillary, _, _ = self.socket.recvmsg(n - len(data), 4096)
            except ConnectionResetError:
                return None
            for _, _, raw in ancillary:
                fds = array.array("i")
                fds.frombytes(raw[:len(raw) - len(raw) % fds.itemsize])
                for fd in fds:
                    os.close(fd)
            if not more:
                return None
            data += more
        return data

    def close(self):
        self.socket.close()
