#!/usr/bin/env python3
"""Every TensorFlow file below $OMCC_FACTS_DIR/models/files: written, or refused by findings.

    tf_models.py COMPILE_MODEL [MUTATIONS]

Each file and MUTATIONS changed versions of the small ones go through the whole compiler for
Ascend910B1; nothing may crash, and what is not written must say why.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile


def compile_model(program, model, out, *words):
    done = subprocess.run([program, *words, str(model), str(out)], capture_output=True, text=True,
                          errors="replace", timeout=900)
    if done.returncode not in (0, 2):
        return f"exit {done.returncode}: {done.stderr[-600:]}"
    if done.returncode == 2 and "error " not in done.stdout:
        return "refused without a finding"
    return None


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        how = rng.randrange(3)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del data[at:at + rng.randint(1, 8)]
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
    return bytes(data)


def main():
    program, mutations = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    folder = pathlib.Path(os.environ.get("OMCC_FACTS_DIR", "absent"), "models", "files")
    files = sorted(folder.glob("tf_*/*.pb"))
    if not files:
        print(f"tf_models: SKIPPED, no TensorFlow files below '{folder}' (OMCC_FACTS_DIR)")
        return 77
    bad, rng = [], random.Random(5)
    with tempfile.TemporaryDirectory(prefix="omcc-tf-") as work:
        out, changed = pathlib.Path(work, "out.om"), pathlib.Path(work, "changed.pb")
        for model in files:
            for words in ((), ("--input_shape=Mfcc:1,49,10",)):
                why = compile_model(program, model, out, *words)
                if why:
                    bad.append(f"{model.name} {words}: {why}")
        small = [f.read_bytes() for f in files if f.stat().st_size < 400_000]
        for i in range(mutations):
            changed.write_bytes(mutated(small[i % len(small)], rng))
            why = compile_model(program, changed, out)
            if why:
                bad.append(f"mutation {i}: {why}")
    print(f"{len(files)} files, {mutations} mutations, {len(bad)} bad")
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
