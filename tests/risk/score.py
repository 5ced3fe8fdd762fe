#!/usr/bin/env python3
"""Scores risk analysis: score.py RISK_MODELS ZOOGEN FOLDER SOURCE

Hazard models have nodes called hot... that fail in float16: each must be flagged, and none is
when the keep_dtype list names them. Flags on models that are fine in float16, and on the other
nodes of hazard models, are counted; docs/risk.md publishes the counts, which must be these.
"""
import os
import re
import subprocess
import sys

SOC, MODE = "Ascend910B1", "fp16"
# What the causes must be called, besides whatever else is found.
HAZARDS = {"hz-overflow": ["risk-overflow"], "hz-underflow": ["risk-weights-vanish", "risk-underflow"],
           "hz-residual": ["constant-out-of-fp16-range", "risk-overflow"], "hz-variance": ["risk-underflow"],
           "hz-cancel": ["risk-absorbed"], "hz-mask": ["constant-out-of-fp16-range", "risk-overflow"],
           "hz-massive": ["constant-out-of-fp16-range", "risk-overflow"], "hz-logsum": ["risk-exp"],
           "hz-longsum": ["risk-long-sum"], "hz-gelu": []}
BENIGN = [("resnet50", ["--layers", "1,1,1,1", "--width", "16", "--image", "64", "--classes", "10"]),
          ("bert-base", ["--layers", "2", "--width", "128", "--heads", "4", "--ffn", "512", "--vocab", "500"]),
          ("g1", []), ("g2", [])]


def main(program, zoogen, folder, source):
    os.makedirs(folder, exist_ok=True)
    wrong, rows = [], []

    def flags(model, *keep):
        out = subprocess.run([program, source, SOC, MODE, model, *keep], check=True,
                             capture_output=True, text=True).stdout.splitlines()
        return int(out[0].split()[1]), {re.search(r" line=(\S+)", line)[1]: line for line in out[1:]}

    def make(kind, args=()):
        path = f"{folder}/{kind}.onnx"
        subprocess.run([zoogen, kind, "-o", path, *args], check=True, capture_output=True)
        return path

    for kind, ids in HAZARDS.items():
        path = make(kind)
        data = open(path, "rb").read()
        hot = sorted({m.decode() for m in re.findall(rb"hot_[a-z0-9_]+(?![a-z0-9_.])", data)
                      if not m.endswith(b"_output_0")})
        ops, found = flags(path)
        missed = [n for n in hot if n not in found and not n.endswith("_output_0")]
        if missed:
            wrong.append(f"{kind}: not flagged: {missed}")
        seen = {line.split()[0] for line in found.values()}
        wrong += [f"{kind}: no finding '{i}'" for i in ids if i not in seen]
        others = [n for n in found if n not in hot]
        rows.append((kind, ops, len(hot) - len(missed), len(hot), len(others)))
        if hot:
            keep = f"{folder}/{kind}.keep"
            with open(keep, "w") as f:
                f.write("".join(n + "\n" for n in hot))
            _, left = flags(path, keep)
            still = [n for n in left if n in hot]
            if still:
                wrong.append(f"{kind}: flagged although kept: {still}")
    for kind, args in BENIGN:
        ops, found = flags(make(kind, args))
        rows.append((kind, ops, 0, 0, len(found)))
        for line in found.values():
            print("benign", kind, line)
    table = "".join(f"| {k} | {o} | {f} of {h} | {x} |\n" for k, o, f, h, x in rows)
    print(table)
    published = open(f"{source}/docs/risk.md").read() if os.path.exists(f"{source}/docs/risk.md") else ""
    if table not in published:
        wrong.append("docs/risk.md does not have this table")
    print("\n".join(wrong) or "every hazard is found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
