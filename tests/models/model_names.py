#!/usr/bin/env python3
"""Every node of a real model is found again by its name.

    model_names.py --bin build/dev/bin --npm build/npm

The names of all nodes of an ONNX file (read here, from the format's definition) must be the
names and original names that `omcc explain --json` gives: lists select by exactly these. What
is in the answer and no node's name must come from the graph's inputs, outputs and weights, or
from an op that was made for a node and names it as its origin.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from model_matrix import REAL

SOC = "Ascend910B1"


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def node_names(model):
    """Names of the nodes of the main graph; unnamed ones as the vendor numbers them."""
    graph = next(v for n, v in fields(model) if n == 7)
    names, unnamed = set(), 0
    for number, node in fields(graph):
        if number != 1:
            continue
        parts = dict(fields(node))
        name, kind = parts.get(3, b"").decode(), parts.get(4, b"").decode()
        if not name:
            name, unnamed = f"{kind}_{unnamed}", unnamed + 1
        names.add(name)
    return names


def answer(omcc, model, env):
    done = subprocess.run([omcc, "explain", "--json", "--backend=builtin", "--", f"--model={model}", "--framework=5",
                           f"--soc_version={SOC}"], env=env, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout)["data"]["ops"]


def check(omcc, model, env):
    wanted = node_names(model.read_bytes())
    ops = answer(omcc, model, env)
    origins = {name for op in ops for name in op.get("origin_names", [])}
    lost = wanted - {op["name"] for op in ops} - origins
    made = re.compile(r".*_Initializer_[0-9]+")  # weights that were folded away are ops as well
    invented = {name for name in origins - wanted if not made.fullmatch(name)}
    print(f"{model.name}: {len(wanted)} nodes, {len(ops)} ops, {len(lost)} lost, {len(invented)} invented")
    for name in sorted(lost)[:10]:
        print(f"  lost: {name}", file=sys.stderr)
    for name in sorted(invented)[:10]:
        print(f"  no node's name: {name}", file=sys.stderr)
    return not lost and not invented


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--npm", nargs="?", default="")
    args = parser.parse_args()
    models = [pathlib.Path(args.npm or "absent", "node_modules", name) for name in REAL]
    absent = [str(m) for m in models if not m.exists()]
    if absent:
        print(f"model_names: skipped, the npm packages of tests/run are not installed: {absent[0]}")
        return 77
    omcc = os.path.join(args.bin, "omcc")
    with tempfile.TemporaryDirectory(prefix="omcc-names-") as work:
        env = dict(os.environ, OMCC_SOCKET=f"{work}/s", OMCC_CACHE_DIR=f"{work}/cache")
        try:
            fine = [check(omcc, model, env) for model in models]
        finally:
            subprocess.run([omcc, "daemon", "stop"], env=env, capture_output=True, timeout=60)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
