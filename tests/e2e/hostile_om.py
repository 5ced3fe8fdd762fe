""".om files that claim more than they hold, written byte by byte from the format's definition: header,
partition tables, model description, inputs and outputs, tasks."""
import struct

from wire import field, varint

HEADER, NEW = 256, 0x20000000
MODEL_DEF, WEIGHTS, TASKS, INOUT = 0, 1, 2, 8
FLOW, BUNDLE = 3, 5


def header(body, models=1, kind=0, version=NEW, length=None, unknown=0):
    h = bytearray(HEADER)
    h[0:4] = b"IMOD"
    struct.pack_into("<II", h, 4, HEADER, version)
    h[82] = kind
    struct.pack_into("<I", h, 156, models)
    struct.pack_into("<Q", h, 184, body if length is None else length)
    h[193] = unknown
    return bytes(h)


def table(parts, count=None, claimed=None):
    """Partitions as (type, bytes); `claimed` replaces the sizes that the table says."""
    at, rows = 0, b""
    for i, (kind, content) in enumerate(parts):
        size = len(content) if claimed is None else claimed[i]
        rows += struct.pack("<IIQQ", kind, 0, at & (1 << 64) - 1, size & (1 << 64) - 1)
        at += size
    return struct.pack("<II", len(parts) if count is None else count, 0) + rows + b"".join(c for _, c in parts)


def om(*parts, **more):
    body = table(parts)
    return header(len(body), **more) + body


def attr(name, value, number=11):
    """An entry of the map of attributes: 11 in a model or graph, 10 in an op."""
    return field(number, field(1, name) + field(2, value))


def strings(values):
    return field(1, b"".join(field(2, v) for v in values) + field(20, 1))


def ints(values, number=3, kind=2):
    return field(1, b"".join(field(number, v) for v in values) + field(20, kind))


def op(name="r", kind="Relu", rest=b""):
    return field(6, field(1, name) + field(2, kind) + rest)


def desc(number, dims=(1, 4), name=""):
    shape = field(3, b"".join(field(1, d) for d in dims))
    return field(number, (field(1, name) if name else b"") + field(2, 1) + shape)


def model(ops=b"", attributes=b"", graph=b""):
    return field(1, "m") + field(7, field(1, "g") + ops + graph) + attributes


def one(ops=b"", attributes=b"", graph=b""):
    return om((MODEL_DEF, model(ops, attributes, graph)), (WEIGHTS, b""), (TASKS, b""))


def inout(entries=b"", count=None, kind=0, n=1):
    body = struct.pack("<I", n if count is None else count) + entries
    return om((MODEL_DEF, model(op())), (INOUT, struct.pack("<II", kind, len(body)) + body))


def io_entry(name=b"x", name_len=None, dims=1, claimed=None):
    size = 8 * dims if claimed is None else claimed
    return struct.pack("<QIIIIII", 16, 2, 0, len(name) if name_len is None else name_len, size, size, 0) \
        + name + b"\1\0\0\0\0\0\0\0" * 2 * dims


def nested(depth):
    inner = field(3, 1)
    for _ in range(depth):
        inner = field(10, field(1, "f") + field(3, field(1, "a") + field(2, inner)))
    return inner


def dictionary(words, uses):
    """Names and values that are numbers in a list: a long word may be used again and again."""
    compressed = b"\0" + bytes([1 + 0])  # number 0 of the names
    attributes = attr("om_compress_version", field(3, 1)) + attr("attr_name_enum", strings(["_datadump_original_op_names"])) \
        + attr("attr_value_enum", strings(words)) + attr("attrs_use_string_value", ints([1], 5, 4))
    return one(op(rest=attr(compressed, ints([0] * uses), 10)), attributes)


def links(n):
    """Names of inputs in the order that makes looking them up one by one slow."""
    names = attr("_input_name_key", strings([f"n{i}" for i in range(n)]), 10)
    return one(op(rest=desc(33) * n + names + attr("_input_name_value", ints(range(n - 1, -1, -1)), 10)))


def overlapping(n, size):
    """A bundle whose partitions all are the same bytes."""
    body = model(op(rest=field(5, "x")) * (size // 12))
    at = 8 + 24 * n
    rows = b"".join(struct.pack("<IIQQ", MODEL_DEF, 0, at, len(body)) for _ in range(n))
    return header(0, kind=BUNDLE) + struct.pack("<II", n, 0) + rows + body


def many_models(n, claimed=None):
    body = b"".join(table([(MODEL_DEF, model()), (WEIGHTS, b"")]) for _ in range(n))
    return header(len(body), models=n if claimed is None else claimed) + body


FILES = {
    "nothing": lambda: b"",
    "header-alone": lambda: header(0),
    "half-a-header": lambda: header(0)[:100],
    "length-that-lies": lambda: header(0, length=1 << 62) + table([(MODEL_DEF, model(op()))]),
    "parts-of-2-to-32": lambda: (lambda b: header(len(b)) + b)(table([(MODEL_DEF, model(op()))], count=0xffffffff)),
    "flow-of-4096-parts": lambda: (lambda b: header(len(b), kind=FLOW) + b)(table([(MODEL_DEF, b"")], count=4096)),
    "part-beyond-the-end": lambda: (lambda b: header(len(b)) + b)(table([(MODEL_DEF, model(op()))], claimed=[1 << 40])),
    "part-of-2-to-64": lambda: (lambda b: header(len(b)) + b)(table(
        [(MODEL_DEF, model(op())), (WEIGHTS, b"")], claimed=[(1 << 64) - 1, 1])),
    "parts-over-each-other": lambda: overlapping(4096, 1 << 18),
    "models-of-2-to-32": lambda: many_models(1, 0xffffffff),
    "models-4096": lambda: many_models(4096),
    "model-that-is-not-there": lambda: many_models(2, 3),
    "noise": lambda: om((MODEL_DEF, bytes(range(256)) * 1000), (WEIGHTS, b"")),
    "string-beyond-the-end": lambda: om((MODEL_DEF, b"\x0a" + varint(1 << 40) + b"m"), (WEIGHTS, b"")),
    "graph-beyond-the-end": lambda: om((MODEL_DEF, b"\x3a" + varint((1 << 63) - 1)), (WEIGHTS, b"")),
    "million-empty-ops": lambda: one(b"\x32\0" * 1000000),
    "million-empty-graphs": lambda: om((MODEL_DEF, b"\x3a\0" * 1000000), (WEIGHTS, b"")),
    "million-empty-attributes": lambda: one(op(rest=b"\x52\0" * 1000000)),
    "hundred-thousand-empty-inputs": lambda: one(op(rest=b"\x8a\x02\0" * 100000)),
    "million-dims": lambda: one(op(rest=desc(33, [1] * 1000000))),
    "million-edges": lambda: one(op(rest=b"\x2a\0" * 1000000)),
    "nested-functions": lambda: one(attributes=attr("a", nested(10000))),
    "hundred-thousand-of-one-name": lambda: one(op("same") * 100000),
    "attributes-of-one-name": lambda: one(op(rest=attr("a", field(3, 1), 10) * 100000)),
    "name-of-16-mb": lambda: one(op("n" * (16 << 20))),
    "names-that-are-no-text": lambda: one(op(b"\xff\xfe\0\x1b[2J") * 1000),
    "dictionary-without-words": lambda: dictionary([], 1),
    "dictionary-of-one-long-word": lambda: dictionary(["w" * 100000], 100000),
    "links-backwards": lambda: links(30000),
    "inputs-of-2-to-32": lambda: inout(io_entry(), count=0xffffffff),
    "input-name-of-4-gb": lambda: inout(io_entry(name_len=0xffffffff)),
    "input-of-2-to-29-dims": lambda: inout(io_entry(claimed=0xfffffff8)),
    "inputs-of-no-size": lambda: inout(io_entry(b"", dims=0) * 100000, n=100000),
    "tasks-of-noise": lambda: om((MODEL_DEF, model(op())), (WEIGHTS, b""), (TASKS, b"\x0a\xff" * 100000)),
    "million-tasks": lambda: om((MODEL_DEF, model(op())), (WEIGHTS, b""), (TASKS, b"\x2a\0" * 1000000)),
}
