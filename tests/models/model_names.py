#!/usr/bin/env python3
"""Every real model resolves for Ascend910B1, and every node is found again by its name.

    model_names.py --bin build/dev/bin --npm build/npm

Models with something that nobody has get the finding that is expected of them. Of an ONNX
model the names of all nodes (read here, from the format's definition; those in branches and
bodies with the sub-graph's name in front) must be the names and original names that
`omcc explain --json` gives: lists select by exactly these. What is in the answer and no
node's name must come from inputs, outputs and weights of a graph, or from an op that was
made for a node and names it as its origin.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from real_models import more_models, npm_models

SOC = "Ascend910B1"
WEIGHT = re.compile(r".*_Initializer_[0-9]+")  # weights that were folded away are ops as well
ENDS = ("Data", "NetOutput")
GRAPH_ATTRS = {"then_branch": 0, "else_branch": 1, "body": 0}


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
    """Names of the nodes of all graphs; unnamed ones as the vendor numbers them: over all
    graphs, breadth first."""
    graphs = [(next(v for n, v in fields(model) if n == 7), "")]
    names, unnamed = set(), 0
    for graph, prefix in graphs:
        for number, node in fields(graph):
            if number != 1:
                continue
            parts = dict((n, v) for n, v in fields(node) if n in (3, 4))
            name, kind = parts.get(3, b"").decode(), parts.get(4, b"").decode()
            if not name:
                name, unnamed = f"{kind}_{unnamed}", unnamed + 1
            names.add(prefix + name)
            for attr in (dict(fields(v)) for n, v in fields(node) if n == 5):
                which = attr.get(1, b"").decode()
                if 6 in attr and which in GRAPH_ATTRS:
                    graphs.append((attr[6], f"{prefix}{name}_{GRAPH_ATTRS[which]}_{which}/"))
    return names


def check_names(model, ops):
    wanted = node_names(model.path.read_bytes())
    origins = {name for op in ops for name in op.get("origin_names", [])}
    plain = {op["name"] for op in ops if not op.get("origin_names") and op["type"] not in ENDS}
    lost = wanted - {op["name"] for op in ops} - origins
    invented = {name for name in (origins | plain) - wanted if not WEIGHT.fullmatch(name)}
    print(f"{model}: {len(wanted)} nodes, {len(ops)} ops, {len(lost)} lost, {len(invented)} invented")
    for name in sorted(lost)[:10]:
        print(f"  lost: {name}", file=sys.stderr)
    for name in sorted(invented)[:10]:
        print(f"  no node's name: {name}", file=sys.stderr)
    return not lost and not invented


def check(omcc, model, env):
    done = subprocess.run([omcc, "explain", "--json", "--backend=builtin", "--", *model.words,
                           f"--soc_version={SOC}"], env=env, capture_output=True, text=True, timeout=900)
    answer = json.loads(done.stdout)
    errors = [f for f in answer["findings"] if f["severity"] == "error"]
    if model.refused:
        fine = done.returncode in (0, 2) and any(f["id"] == model.refused for f in answer["findings"])
        print(f"{model}: refused ({model.refused})")
    else:
        fine = done.returncode == 0 and answer["ok"]
        if fine and model.onnx:
            return check_names(model, answer["data"]["ops"])
        print(f"{model}: {'resolved' if fine else 'NOT resolved'}")
    if not fine:
        print(f"{model}: exit {done.returncode} {answer.get('message', '')}", file=sys.stderr)
        for f in errors[:5]:
            print(f"  {f['id']}: {f['text']}", file=sys.stderr)
    return fine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--npm", nargs="?", default="")
    args = parser.parse_args()
    models, absent = npm_models(args.npm)
    if absent:
        print(f"model_names: skipped, the npm packages of tests/run are not installed: {absent}")
        return 77
    models += more_models()
    omcc = os.path.join(args.bin, "omcc")
    with tempfile.TemporaryDirectory(prefix="omcc-names-") as work:
        env = dict(os.environ, OMCC_SOCKET=f"{work}/s", OMCC_CACHE_DIR=f"{work}/cache")
        try:
            fine = [check(omcc, model, env) for model in models]
        finally:
            subprocess.run([omcc, "daemon", "stop"], env=env, capture_output=True, timeout=900)
    print(f"{len(models)} models, {fine.count(False)} not as expected")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
