"""Orders for the shims of tests/fault: which call of a program is to fail (fault.h), and what time its
wall clock shows (clock.c)."""
import ctypes
import mmap
import pathlib
import struct

from harness import BINARY_DIR

SHIM = BINARY_DIR / "lib" / "libomcc_fault.so"
CLOCK = BINARY_DIR / "lib" / "libomcc_clock.so"
OPEN, WRITE, SYNC, NAME, SIZE, MAP, READ, FILES, MEMORY = 1, 2, 4, 8, 16, 32, 64, 127, 128
NONE, FAIL, SHORT, KILL_BEFORE, KILL_AFTER = range(5)


class _Order(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32) for n in ("mode", "error", "classes", "nth", "sticky", "armed",
                                               "seen", "fired")] + \
        [("under", ctypes.c_char * 256), ("call", ctypes.c_char * 32)]


class Fault:
    """One order in a file that programs with `environment` read; arm() and look at .order."""

    def __init__(self, folder, program, under=""):
        path = pathlib.Path(folder) / f"fault-{program}"
        path.write_bytes(bytes(ctypes.sizeof(_Order)))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 0)
        self.order = _Order.from_buffer(self.map)
        self.order.under = str(under).encode()
        self.environment = {"LD_PRELOAD": str(SHIM), "OMCC_FAULT": str(path), "OMCC_FAULT_PROGRAM": program}

    def arm(self, mode, nth=1, classes=FILES, error=0, sticky=False):
        o = self.order
        o.armed = 0
        o.mode, o.nth, o.classes, o.error, o.sticky = mode, nth, classes, error, int(sticky)
        o.seen = o.fired = 0
        o.call = b""
        o.armed = 1

    def disarm(self):
        self.order.armed = 0

    def close(self):
        del self.order
        self.map.close()
        self.file.close()


class Clock:
    """A wall clock for programs with `environment`, so many seconds ahead of the true one."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "clock"
        self.ahead = 0
        self.path.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(CLOCK), "OMCC_CLOCK": str(self.path)}

    def jump(self, ahead):
        self.ahead = int(ahead)
        with open(self.path, "r+b") as f:
            f.write(struct.pack("<q", self.ahead))
