"""Two statements of the precision rules must agree: precision_vectors (the resolver of omcc) and rules.py.

    test_second.py PRECISION_VECTORS GOLDEN [--cases N] [--seed N]

First rules.py is held against the golden cases themselves, then both against random changes of them. A
difference is printed with the seed that makes it again.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from casts import Edges
from mutate import Mutator
from resolver import Graph
from rules import JudgeError, mode_of

A_FILE = 100  # cases


def expect(case):
    try:
        graph = Graph(case)
    except JudgeError:
        return {"status": "judge_error"}
    nodes = {}
    for op in graph.ops:
        nodes[op.name] = {"inputs": [t["got"] for t in op.inputs], "outputs": [t["got"] for t in op.outputs]}
        for key, value in (("engine", op.engine), ("column", op.column)):
            if value is not None:
                nodes[op.name][key] = value
    result = {"status": "ok", "mode_enum": mode_of(case), "nodes": nodes}
    if case.get("casts", True):
        result["edges"] = Edges(graph).changed()
    return result


def sorted_rows(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def agrees(mine, golden):
    if mine["status"] != golden["status"]:
        return False
    if mine["status"] != "ok":
        return True
    keys = ("inputs", "outputs", "engine", "column")
    return all([mine["nodes"][name].get(k) for k in keys] == [node.get(k) for k in keys]
               for name, node in golden["nodes"].items()) and \
        ("edges" not in golden or sorted_rows(mine["edges"]) == sorted_rows(golden["edges"]))


def golden_cases(folder):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            if case["expect"]["status"] in ("ok", "judge_error"):
                yield case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("golden")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    cases = list(golden_cases(words.golden))
    wrong = [case["id"] for case in cases if not agrees(expect(case), case["expect"])]
    print(f"golden: {len(cases) - len(wrong)} of {len(cases)} agree {' '.join(wrong[:10])}")
    mutator = Mutator(random.Random(words.seed))
    changed = []
    for n in range(words.cases):
        case = mutator.mutate(mutator.random.choice(cases))
        changed.append({**case, "id": f"seed-{words.seed}-{n}", "expect": expect(case)})
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(changed), A_FILE):
            pathlib.Path(folder, f"{at:06}.json").write_text(json.dumps({"schema": 1, "cases": changed[at:at + A_FILE]}))
        run = subprocess.run([words.program, folder], capture_output=True, text=True)
    print(run.stdout[-4000:], run.stderr, sep="")
    return 1 if wrong or run.returncode or f"\n{len(changed)} passed, 0 failed\n" not in "\n" + run.stdout else 0


if __name__ == "__main__":
    sys.exit(main())
