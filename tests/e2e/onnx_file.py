"""ONNX models written by hand: protobuf fields in the order of the format's own numbers."""
from wire import field

FLOAT, INT, INTS = 1, 2, 7
F32, F16, BF16 = 1, 10, 16


def value_info(name, elem_type, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, elem_type) + field(2, dims)))


def ints(name, *values):
    return field(5, field(1, name) + b"".join(field(8, v) for v in values) + field(20, INTS))


def node(op, inputs, outputs, name=None, domain="", attrs=b""):
    body = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    return field(1, body + field(3, name or op) + field(4, op) + attrs + (field(7, domain) if domain else b""))


def model(graph, domains=()):
    imports = b"".join(field(8, (field(1, d) if d else b"") + field(2, v)) for d, v in (("", 13), *domains))
    return field(1, 8) + field(7, graph + field(2, "case")) + imports


def one_op(op, inputs, output, attrs=b""):
    """A model of one node; inputs and output are (name, element type, shape)."""
    graph = node(op, [i[0] for i in inputs], [output[0]], attrs=attrs)
    graph += b"".join(field(11, value_info(*i)) for i in inputs) + field(12, value_info(*output))
    return model(graph)
