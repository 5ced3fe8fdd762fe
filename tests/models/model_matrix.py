#!/usr/bin/env python3
"""Resolves every real model for every target and mode, and prints the table.

    model_matrix.py --bin build/dev/bin --zoogen build/dev/bin/zoogen --npm build/npm
                    [--write docs/models.md] [--check]

A cell is `resolved`, or names what forbids the build: the finding's code (or id), the op
types concerned and the dtype. `unknown` stands for a cell with an op that no table knows.
--check fails when such a cell exists for Ascend910B1 or Ascend310P3, or when --write's
file is not what this run prints.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from real_models import npm_models

SOCS = ["Ascend310", "Ascend310P3", "Ascend310B1", "Ascend910A", "Ascend910B1", "Ascend910_9391"]
MODES = [
    ("force_fp16", "--precision_mode_v2=fp16"),
    ("allow_fp32_to_fp16", "--precision_mode=allow_fp32_to_fp16"),
    ("mixed_float16", "--precision_mode_v2=mixed_float16"),
    ("origin", "--precision_mode_v2=origin"),
]
# Two that are made here.
MADE = ["resnet50", "bert-base"]
MUST_BE_KNOWN = {"Ascend910B1", "Ascend310P3"}
UNKNOWN_IDS = {"op-unknown", "shape-unknown-op", "op-not-tabled"}


def explain(omcc, model, soc, flag, env):
    command = [omcc, "explain", "--json", "--backend=builtin", "--", f"--model={model}", "--framework=5",
               f"--soc_version={soc}", flag]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"no JSON from {' '.join(command)} (exit {done.returncode}): {done.stderr[-400:]}")


def cell(status, answer):
    """One cell of the table, and whether an op in it is unknown."""
    findings = answer["findings"]
    unknown = any(f["id"] in UNKNOWN_IDS for f in findings)
    if unknown:
        return "unknown", True
    if status == 0 and answer["ok"]:
        return "resolved", False
    by_subject = {}
    ops = {op["name"]: op for op in (answer.get("data") or {}).get("ops", [])}
    for f in findings:
        if f["severity"] != "error":
            continue
        op = ops.get(f["subject"])
        what = f["id"]
        if op:
            dtypes = sorted({t["orig"] for t in op["inputs"]})
            what = f"{f['id']}: {op['type']} {'/'.join(dtypes)} ({op['engine']})"
        by_subject[what] = by_subject.get(what, 0) + 1
    if not by_subject:
        return f"exit {status}: {answer['message']}", True
    return "; ".join(f"{k} x{n}" if n > 1 else k for k, n in sorted(by_subject.items())), False


def table(omcc, models, env):
    lines, bad = [], []
    for model in models:
        lines += [f"## {model.name}", "", "| target | " + " | ".join(m for m, _ in MODES) + " |",
                  "|---|" + "---|" * len(MODES)]
        for soc in SOCS:
            row = []
            for name, flag in MODES:
                text, unknown = cell(*explain(omcc, model, soc, flag, env))
                row.append(text)
                if unknown and soc in MUST_BE_KNOWN:
                    bad.append(f"{model.name} {soc} {name}: {text}")
            lines.append(f"| {soc} | " + " | ".join(row) + " |")
        lines.append("")
    return lines, bad


def head():
    return ["# Real models, targets and modes", "",
            "Every cell is one `omcc explain`: `resolved` means that each operator has an engine and a dtype.",
            "Anything else names what forbids the build: the finding (see findings.md), operator type, the",
            "model's dtypes and the engine that was asked last.", "",
            "Made by `tests/models/model_matrix.py`; the test `model_matrix` fails when this page is out of date.", ""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--zoogen", required=True)
    parser.add_argument("--npm", nargs="?", default="")
    parser.add_argument("--write")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    found, absent = npm_models(args.npm)
    models = [m.path for m in found]
    if absent:
        print(f"model_matrix: skipped, the npm packages of tests/run are not installed: {absent}")
        return 77
    omcc = os.path.join(args.bin, "omcc")
    with tempfile.TemporaryDirectory(prefix="omcc-matrix-") as work:
        env = dict(os.environ, OMCC_SOCKET=f"{work}/s", OMCC_CACHE_DIR=f"{work}/cache")
        for kind in MADE:
            models.append(pathlib.Path(work, f"{kind}.onnx"))
            subprocess.run([args.zoogen, kind, "-o", models[-1]], check=True, capture_output=True)
        try:
            lines, bad = table(omcc, models, env)
        finally:
            subprocess.run([omcc, "daemon", "stop"], env=env, capture_output=True, timeout=900)
    text = "\n".join(head() + lines)
    print(text)
    for b in bad:
        print(f"unknown cell: {b}", file=sys.stderr)
    if args.write and args.check and pathlib.Path(args.write).read_text() != text + "\n":
        print(f"{args.write} is out of date", file=sys.stderr)
        return 1
    if args.write and not args.check:
        pathlib.Path(args.write).write_text(text + "\n")
    return 1 if args.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
