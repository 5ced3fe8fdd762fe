#!/usr/bin/env python3
"""Checks what zoogen writes, with a protobuf reader and a weight rule of its own.

  check_zoo.py ZOOGEN FOLDER

Every kind is written twice and must come out byte for byte the same; the models are read back
and compared with what the kind promises; a few weights are computed again from their names.
"""
import math
import os
import struct
import subprocess
import sys

MASK = 2**64 - 1
GOLD = 0x9E3779B97F4A7C15


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """All fields of one message: number -> list of values."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a length reaches behind the end")
        elif tag & 7 == 5:
            value, at = struct.unpack("<f", data[at:at + 4])[0], at + 4
        else:
            raise ValueError("wire type %d" % (tag & 7))
        found.setdefault(tag >> 3, []).append(value)
    return found


def text(message, number):
    return bytes(message.get(number, [b""])[0]).decode()


class Model:
    def __init__(self, path):
        with open(path, "rb") as file:
            model = fields(memoryview(file.read()))
        self.opsets = {text(fields(o), 1): fields(o)[2][0] for o in model[8]}
        graph = fields(model[7][0])
        self.nodes = [fields(n) for n in graph.get(1, [])]
        self.weights = {text(fields(t), 8): fields(t) for t in graph.get(5, [])}
        self.inputs = [text(fields(v), 1) for v in graph.get(11, [])]
        self.outputs = [text(fields(v), 1) for v in graph.get(12, [])]

    def types(self):
        return [text(n, 4) for n in self.nodes]

    def count(self):
        return sum(math.prod(t.get(1, [])) for t in self.weights.values() if t[2][0] == 1 and t.get(1))


def noise(name, seed, index, scale):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    z = (h + seed * GOLD + (index + 1) * GOLD) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    u = (z ^ z >> 31) >> 40
    single = lambda v: struct.unpack("<f", struct.pack("<f", v))[0]
    return single(single((u + 0.5) * 2.0**-23 - 1) * scale)


def check(what, got, want):
    if got != want:
        sys.exit("check_zoo: %s: %r, expected %r" % (what, got, want))


def check_weight(model, name, std, seed=0):
    scale = struct.unpack("<f", struct.pack("<f", struct.unpack("<f", struct.pack("<f", std))[0] * math.sqrt(3)))[0]
    raw = bytes(model.weights[name][9][0])
    for index in (0, 1, len(raw) // 8, len(raw) // 4 - 1):
        got = struct.unpack_from("<f", raw, 4 * index)[0]
        check("%s[%d]" % (name, index), got, noise(name, seed, index, scale))


SMALL = {
    "resnet50": ["--layers", "1,1,1,1", "--width", "8", "--image", "32", "--classes", "10"],
    "bert-base": ["--layers", "2", "--width", "32", "--heads", "4", "--vocab", "100", "--seq", "16"],
    "big-external": ["--megabytes", "8"],
}

# kind -> node types in order
TYPES = {
    "relu": ["Relu"], "sign-bf16": ["Sign"], "maxpool": ["MaxPool"], "conv": ["Conv"],
    "softmax": ["Softmax"], "unknown-op": ["NoSuchOperator"], "cycle": ["Add", "Relu", "Relu", "Relu"],
    "g1": ["Conv", "Relu", "Conv", "InstanceNormalization", "Flatten", "Gemm"],
    "g2": ["Mul", "ReduceMean", "Add", "Sqrt", "Div"], "g3": ["Mul"], "g4": ["Conv", "Reshape"],
    "g5": ["Conv", "Relu", "Scramble", "Conv", "InstanceNormalization", "Flatten", "Gemm"],
    "external": ["MatMul"], "big-external": ["MatMul", "MatMul"],
}


def write(zoogen, kind, path, options=()):
    subprocess.run([zoogen, kind, "-o", path, *options], check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        return file.read()


def main():
    zoogen, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    listing = subprocess.run([zoogen, "list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    kinds = [line.split()[0] for line in listing.splitlines()]
    check("kinds are there", sorted(set(TYPES) - set(kinds)), [])
    for kind in kinds:
        path = os.path.join(folder, kind + ".onnx")
        first = write(zoogen, kind, path, SMALL.get(kind, ()))
        check(kind + " twice", write(zoogen, kind, path, SMALL.get(kind, ())) == first, True)
        model = Model(path)
        if kind in TYPES:
            check(kind, model.types(), TYPES[kind])
        check("domains of " + kind, sorted(model.opsets), ["", "pkg.local"] if kind == "g5" else [""])
        check("opset of " + kind, model.opsets[""], 19 if kind == "g6" else 13)

    full = os.path.join(folder, "full.onnx")
    write(zoogen, "resnet50", full)
    model = Model(full)
    check("nodes of resnet50", len(model.nodes), 53 + 53 + 49 + 16 + 1 + 1 + 1 + 1)
    check("parameters of resnet50", model.count(), 25557032 + 53120)  # torchvision's count, and the norms' statistics
    check("names of resnet50", [text(n, 3) for n in model.nodes[:3]],
          ["/conv1/Conv", "/bn1/BatchNormalization", "/relu/Relu"])
    check_weight(model, "conv1.weight", math.sqrt(struct.unpack("<f", struct.pack("<f", 2.0 / 147))[0]))
    check_weight(model, "fc.bias", 0.02)
    os.unlink(full)

    bert = Model(os.path.join(folder, "bert-base.onnx"))
    check("softmaxes of bert", bert.types().count("Softmax"), 2)
    check("erfs of bert", bert.types().count("Erf"), 2)
    check("outputs of bert", bert.outputs, ["last_hidden_state", "pooler_output"])
    check_weight(bert, "embeddings.word_embeddings.weight", 0.02)

    seeded = os.path.join(folder, "seeded.onnx")
    write(zoogen, "matmul", seeded, ["--seed", "7"])
    check_weight(Model(seeded), "w", 0.1, seed=7)

    external = Model(os.path.join(folder, "external.onnx")).weights["w"]
    entries = {text(fields(e), 1): text(fields(e), 2) for e in external[13]}
    check("external data", entries, {"location": "external.onnx.data", "offset": "0", "length": "1024"})
    check("external location", external[14], [1])
    check("size of external data", os.path.getsize(os.path.join(folder, "external.onnx.data")), 1024)

    bad = subprocess.run([zoogen, "no-such-kind", "-o", full], stderr=subprocess.DEVNULL, check=False)
    check("unknown kind", (bad.returncode, os.path.exists(full)), (2, False))
    print("check_zoo: %d kinds" % len(kinds))


main()
