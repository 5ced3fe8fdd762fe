"""Model files that claim more than they hold, written byte by byte from the formats' definitions."""
import struct

from wire import field, varint

FLOAT, INT64, STRING = 1, 7, 8  # ONNX's numbers of element types


def each(write, values):
    """What `write` makes of every value, made once for equal ones."""
    values = list(values)
    made = {v: write(v) for v in set(values)}
    return b"".join(map(made.__getitem__, values))


def packed(number, values):
    return field(number, each(lambda v: varint(v & (1 << 64) - 1), values))


# ---- ONNX

def onnx(graph, opset=13):
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


def node(op, inputs=(), outputs=(), attributes=b"", name=""):
    return field(1, each(lambda i: field(1, i), inputs) + each(lambda o: field(2, o), outputs)
                 + (field(3, name) if name else b"") + field(4, op) + attributes)


def value(number, name, dims, kind=FLOAT):
    shape = each(lambda d: field(1, field(1, d & (1 << 64) - 1)), dims)
    return field(number, field(1, name) + field(2, field(1, field(1, kind) + field(2, shape))))


def tensor(name, dims, raw=b"", kind=FLOAT, rest=b""):
    return packed(1, dims) + field(2, kind) + field(8, name) + (field(9, raw) if raw else b"") + rest


def ints(name, values):
    return field(5, field(1, name) + packed(8, values) + field(20, 7))


def in_out(nodes, initializers=b"", dims=(1, 4)):
    return onnx(nodes + initializers + value(11, "x", dims) + value(12, "y", dims))


def made_from(op, shape, *more, attributes=b""):
    """x -> Add -> y, where the other summand is made by `op` from a constant shape."""
    return in_out(node(op, ("shape", *more), ("big",), attributes) + node("Add", ("x", "big"), ("y",)),
                  field(5, tensor("shape", [len(shape)], struct.pack(f"<{len(shape)}q", *shape), INT64))
                  + b"".join(field(5, tensor(m, [1], struct.pack("<f", 1))) for m in more))


def nested_ifs(depth):
    """If in the then_branch of If in ..., `depth` times, built from the inside."""
    inner = node("Relu", ("x",), ("t",))
    for _ in range(depth):
        graph = inner + field(12, field(1, "t"))
        inner = node("If", ("c",), ("t",), field(5, field(1, "then_branch") + field(6, graph) + field(20, 5)))
    return in_out(inner + node("Relu", ("t",), ("y",)))


def nested_types(depth):
    """An input that is a sequence of sequences of ..."""
    kind = field(1, field(1, FLOAT))
    for _ in range(depth):
        kind = field(4, field(1, kind))
    return onnx(node("Identity", ("s",), ("y",)) + field(11, field(1, "s") + field(2, kind)) + value(12, "y", (1,)))


def numbered(one, n):
    """`one(names)` n times over: its "0000000" and "0000001" become numbers that count up."""
    text = one.replace(b"%", b"%%").replace(b"0000000", b"%(a)07d").replace(b"0000001", b"%(b)07d")
    return b"".join(text % {b"a": i, b"b": i + 1} for i in range(n))


def chain(n):
    nodes = numbered(node("Relu", ("t0000000",), ("t0000001",)), n)
    return in_out(node("Relu", ("x",), ("t0000000",)) + nodes + node("Relu", (f"t{n:07d}",), ("y",)))


def long_names(n, length):
    """A chain of ops whose names are as long as names may be."""
    names = [f"t{i}" for i in range(n)]
    return in_out(b"".join(node("Relu", (names[i - 1] if i else "x",), (names[i],), name=f"{i:05}" + "n" * length)
                           for i in range(n)) + node("Relu", (names[-1],), ("y",)))


ONNX = {
    "claimed-4-gb": lambda: in_out(node("Add", ("x", "w"), ("y",)),
                                   field(5, tensor("w", [1 << 15, 1 << 15], b"\0" * 64))),
    "claimed-4-gb-of-floats": lambda: in_out(node("Add", ("x", "w"), ("y",)),
                                             field(5, tensor("w", [1 << 30], rest=field(4, b"\0" * 64)))),
    "dims-overflow": lambda: in_out(node("Relu", ("x",), ("y",)), dims=(1 << 62, 1 << 62)),
    "dims-negative": lambda: in_out(node("Add", ("x", "w"), ("y",)), field(5, tensor("w", [-1 << 62, 3], b"\0" * 64))),
    "product-overflows": lambda: in_out(node("MatMul", ("x", "w"), ("t",)) + node("Relu", ("t",), ("y",)),
                                        dims=(1 << 40, 1 << 40)),
    "million-dims": lambda: in_out(node("Relu", ("x",), ("y",)), dims=[1] * 1000000),
    "million-dims-of-a-weight": lambda: in_out(node("Add", ("x", "w"), ("y",)),
                                               field(5, tensor("w", [1] * 1000000, b"\0" * 4))),
    "constant-of-4-tb": lambda: made_from("ConstantOfShape", [1 << 20, 1 << 20]),
    "expand-to-4-tb": lambda: in_out(node("Expand", ("x", "shape"), ("big",)) + node("Relu", ("big",), ("y",)),
                                     field(5, tensor("shape", [3], struct.pack("<3q", 1 << 38, 1, 4), INT64))),
    "tile-a-constant": lambda: in_out(
        node("Tile", ("one", "times"), ("big",)) + node("Add", ("x", "big"), ("y",)),
        field(5, tensor("one", [1], struct.pack("<q", 1), INT64))
        + field(5, tensor("times", [1], struct.pack("<q", 1 << 40), INT64))),
    "range-of-2-to-40": lambda: in_out(
        node("Range", ("a", "b", "c"), ("big",)) + node("Cast", ("big",), ("y",), field(5, field(1, "to") + field(3, 1) + field(20, 2))),
        b"".join(field(5, tensor(n, [], struct.pack("<q", v), INT64)) for n, v in (("a", 0), ("b", 1 << 40), ("c", 1)))),
    "pad-by-2-to-40": lambda: in_out(node("Pad", ("x", "pads"), ("big",)) + node("Relu", ("big",), ("y",)),
                                     field(5, tensor("pads", [4], struct.pack("<4q", 0, 1 << 40, 1 << 40, 0), INT64))),
    "one-hot-of-2-to-40": lambda: in_out(
        node("OneHot", ("i", "depth", "v"), ("big",)) + node("Relu", ("big",), ("y",)),
        field(5, tensor("i", [1], struct.pack("<q", 1), INT64)) + field(5, tensor("depth", [1], struct.pack("<q", 1 << 40), INT64))
        + field(5, tensor("v", [2], struct.pack("<2f", 0, 1)))),
    "nested-ifs": lambda: nested_ifs(10000),
    "nested-types": lambda: nested_types(10000),
    "ring": lambda: in_out(node("Relu", ("b",), ("a",)) + node("Relu", ("a",), ("b",)) + node("Add", ("x", "a"), ("y",))),
    "reads-itself": lambda: in_out(node("Add", ("x", "y"), ("y",))),
    "ring-of-100000": lambda: in_out(b"".join(node("Relu", (f"t{i}",), (f"t{(i + 1) % 100000}",)) for i in range(100000))
                                     + node("Add", ("x", "t0"), ("y",))),
    "chain-of-a-million": lambda: chain(1000000),
    "sum-of-a-million": lambda: in_out(node("Sum", ["x"] * 1000000, ("y",))),
    "concat-of-a-million": lambda: in_out(node("Concat", ["x"] * 1000000, ("y",), field(5, field(1, "axis") + field(3, 0) + field(20, 2)))),
    "split-into-a-million": lambda: in_out(node("Split", ("x",), [f"t{i}" for i in range(1000000)]) + node("Relu", ("t0",), ("y",))),
    "million-attributes": lambda: in_out(node("Relu", ("x",), ("y",), b"".join(
        field(5, field(1, f"a{i}") + field(3, i) + field(20, 2)) for i in range(300000)))),
    "million-ints": lambda: in_out(node("Transpose", ("x",), ("y",), ints("perm", range(1000000)))),
    "hundred-thousand-of-one-name": lambda: in_out(b"".join(
        node("Relu", ("x",), (f"t{i}",), name="same") for i in range(100000)) + node("Relu", ("x",), ("y",), name="same")),
    "hundred-thousand-of-one-output": lambda: in_out(b"".join(
        node("Relu", ("x",), ("t",)) for i in range(100000)) + node("Relu", ("t",), ("y",))),
    "hundred-thousand-weights-of-one-name": lambda: in_out(node("Add", ("x", "w"), ("y",)), b"".join(
        field(5, tensor("w", [1], b"\0" * 4)) for i in range(100000))),
    "many-tensors": lambda: in_out(node("Relu", ("x",), ("y",)), field(5, b"") * 4000000),
    "hundred-thousand-outputs": lambda: onnx(node("Relu", ("x",), ("y",)) + value(11, "x", (1,)) + value(12, "y", (1,)) * 100000),
    "external-files": lambda: in_out(node("Add", ("x", "w0"), ("y",)), b"".join(
        field(5, tensor(f"w{i}", [1], rest=field(13, field(1, "location") + field(2, f"f{i}.data")) + field(14, 1)))
        for i in range(5000))),
    "long-names-of-external-files": lambda: in_out(node("Add", ("x", "w0"), ("y",)), b"".join(
        field(5, tensor(f"w{i}", [1], rest=field(13, field(1, "location") + field(2, f"{i:04}" + "f" * 200)) + field(14, 1)))
        for i in range(4000))),
    "name-of-16-mb": lambda: in_out(node("Relu", ("x",), ("y",), name="n" * (16 << 20))),
    "type-of-16-mb": lambda: in_out(node("N" * (16 << 20), ("x",), ("y",))),
    "many-functions": lambda: in_out(node("Relu", ("x",), ("y",))) + b"".join(
        field(25, field(1, f"f{i}") + field(10, "pkg.local")) for i in range(100000)),
}


# ---- TensorFlow

def graph_def(*nodes):
    return b"".join(nodes) + field(4, field(1, 134))


def tf_attr(name, kind):
    return field(5, field(1, name) + field(2, kind))


def tf_node(name, op, inputs=(), *attributes):
    return field(1, field(1, name) + field(2, op) + each(lambda i: field(3, i), inputs) + b"".join(attributes))


def tf_shape(dims):
    return each(lambda d: field(2, field(1, d & (1 << 64) - 1)), dims)


def tf_const(name, dims, content=b"", values=b"", dtype=1):
    body = field(1, dtype) + field(2, tf_shape(dims)) + (field(4, content) if content else b"") + values
    return tf_node(name, "Const", (), tf_attr("dtype", field(6, dtype)), tf_attr("value", field(8, body)))


def tf_input(name="x", dims=(1, 4)):
    return tf_node(name, "Placeholder", (), tf_attr("dtype", field(6, 1)), tf_attr("shape", field(7, tf_shape(dims))))


ONE = field(5, struct.pack("<f", 1))


def tf_nested_values(depth):
    """A list with a function with an attribute that is a list with ..."""
    inner = field(3, 1)
    for _ in range(depth):
        inner = field(1, field(9, field(1, "f") + field(2, field(1, "a") + field(2, inner))))
    return graph_def(tf_input(), tf_node("r", "Relu", ("x",), tf_attr("a", inner)))


def tf_chain(n):
    return graph_def(tf_input(), tf_node("n0000000", "Relu", ("x",)), numbered(tf_node("n0000001", "Relu", ("n0000000",)), n))


def tf_function(name, calls):
    signature = field(1, name) + field(2, field(1, "a") + field(3, 1)) + field(3, field(1, "r") + field(3, 1))
    call = field(1, "c") + field(2, "PartitionedCall") + field(3, "a") + tf_attr("f", field(10, field(1, calls)))
    return field(1, field(1, signature) + field(3, call) + field(4, field(1, "r") + field(2, "c:output:0")))


def tf_calls(name, *functions):
    return graph_def(tf_input(), tf_node("p", "PartitionedCall", ("x",), tf_attr("f", field(10, field(1, name))))) \
        + field(2, b"".join(functions))


TENSORFLOW = {
    "claimed-4-gb": lambda: graph_def(tf_input(), tf_const("w", [1 << 15, 1 << 15], b"\0" * 64), tf_node("a", "Add", ("x", "w"))),
    "one-value-for-4-gb": lambda: graph_def(tf_input(), tf_const("w", [1 << 30], values=ONE), tf_node("a", "Add", ("x", "w"))),
    "no-value-for-4-gb": lambda: graph_def(tf_input(), tf_const("w", [1 << 30]), tf_node("a", "Add", ("x", "w"))),
    "dims-overflow": lambda: graph_def(tf_input(dims=(1 << 62, 1 << 62)), tf_node("r", "Relu", ("x",))),
    "dims-of-a-weight-overflow": lambda: graph_def(tf_input(), tf_const("w", [1 << 62, 1 << 62], values=ONE), tf_node("a", "Add", ("x", "w"))),
    "million-dims": lambda: graph_def(tf_input(dims=[1] * 1000000), tf_node("r", "Relu", ("x",))),
    "fill-4-tb": lambda: graph_def(tf_input(), tf_const("d", [2], struct.pack("<2i", 1 << 20, 1 << 20), dtype=3),
                                   tf_const("v", [], values=ONE), tf_node("f", "Fill", ("d", "v")), tf_node("a", "Add", ("x", "f"))),
    "nested-values": lambda: tf_nested_values(10000),
    "function-that-calls-itself": lambda: tf_calls("f", tf_function("f", "f")),
    "functions-in-a-ring": lambda: tf_calls("f", tf_function("f", "g"), tf_function("g", "f")),
    "functions-10000-deep": lambda: tf_calls("f0", *(tf_function(f"f{i}", f"f{i + 1}") for i in range(10000))),
    "ring": lambda: graph_def(tf_input(), tf_node("a", "Add", ("x", "b")), tf_node("b", "Relu", ("a",))),
    "ring-of-100000": lambda: graph_def(*(tf_node(f"n{i}", "Relu", (f"n{(i + 1) % 100000}",)) for i in range(100000))),
    "ring-of-control": lambda: graph_def(tf_input(), tf_node("a", "Relu", ("x", "^b")), tf_node("b", "Relu", ("x", "^a"))),
    "chain-of-a-million": lambda: tf_chain(1000000),
    "hundred-thousand-of-one-name": lambda: graph_def(tf_input(), *(tf_node("same", "Relu", ("x",)) for _ in range(100000))),
    "sum-of-a-million": lambda: graph_def(tf_input(), tf_node("a", "AddN", ["x"] * 1000000, tf_attr("N", field(3, 1000000)))),
    "output-of-number-2-to-31": lambda: graph_def(tf_input(), tf_node("r", "Relu", ("x:2147483647",))),
    "name-of-16-mb": lambda: graph_def(tf_input(), tf_node("n" * (16 << 20), "Relu", ("x",))),
    "split-into-2-to-40": lambda: graph_def(tf_input(), tf_const("a", [], values=field(7, 0), dtype=3),
                                            tf_node("s", "Split", ("a", "x"), tf_attr("num_split", field(3, 1 << 40))), tf_node("r", "Relu", ("s:1",))),
}
