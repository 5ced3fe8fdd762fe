#!/usr/bin/env python3
"""The README is true: its commands are run and must print what it shows.

    test_readme.py --bin build/dev/bin --readme README.md [--write]

Every `$ omcc` line of a ```console block is run, in order, in one temporary directory with
a private daemon, `net.onnx` (zoogen g1) and the keep.cfg below. Times, sizes, keys and
process ids may differ; --write puts the real output into the file.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

KEEP = "/b1/norm/InstanceNormalization\nOpType::Relu\n/b0/conv/Con\n"
VARYING = [
    (re.compile(r"\d+(\.\d+)? (s|ms|min)\b"), "T"),
    (re.compile(r"\d+(\.\d+)? (B|KB|MB|GB)\b"), "SIZE"),
    (re.compile(r"key [0-9a-f]{12}"), "key K"),
]


def normal(text):
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.strip().splitlines()]


def run(command, cwd, env, bin_dir):
    words = shlex.split(command)
    words[0] = os.path.join(bin_dir, words[0])
    done = subprocess.run(words, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=900)
    return done.stdout.rstrip() + "\n"


def blocks(text):
    """(start, end, lines) of the inside of every console block."""
    for match in re.finditer(r"```console\n(.*?)```", text, re.S):
        yield match.start(1), match.end(1), match.group(1)


def settle(env, bin_dir):
    """Storing goes on after an answer: a hit on the next line must not depend on the disk."""
    for _ in range(200):
        out = subprocess.run([os.path.join(bin_dir, "omcc"), "cache", "list"], env=env, capture_output=True, text=True)
        if out.stdout.strip():
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--readme", required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    bin_dir = os.path.abspath(args.bin)
    text = pathlib.Path(args.readme).read_text()
    shown_all, wrong = [], 0
    with tempfile.TemporaryDirectory(prefix="omcc-readme-") as work:
        env = dict(os.environ, OMCC_SOCKET=f"{work}/socket", OMCC_CACHE_DIR=f"{work}/cache", COLUMNS="100",
                   NO_COLOR="1")
        env.pop("OMCC_BACKEND", None)
        subprocess.run([os.path.join(bin_dir, "zoogen"), "g1", "-o", f"{work}/net.onnx"], check=True,
                       capture_output=True)
        pathlib.Path(work, "keep.cfg").write_text(KEEP)
        try:
            for start, end, inside in blocks(text):
                shown = ""
                for command in [line[2:] for line in inside.splitlines() if line.startswith("$ ")]:
                    shown += f"$ {command}\n" + run(command, work, env, bin_dir)
                    if "--output" in command:
                        settle(env, bin_dir)
                if normal(shown) != normal(inside):
                    wrong += 1
                    print(f"this block is not what happens:\n{inside}\nwhat happens:\n{shown}")
                shown_all.append((start, end, shown))
        finally:
            subprocess.run([os.path.join(bin_dir, "omcc"), "daemon", "stop"], env=env, capture_output=True)
    if not shown_all:
        print("the README has no console block")
        return 1
    if args.write:
        for start, end, shown in reversed(shown_all):
            text = text[:start] + shown + text[end:]
        pathlib.Path(args.readme).write_text(text)
        return 0
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
