"""Golden cases through `omcc explain` itself: each as a model file, a table of the user's own and lists.

A case is taken from every group whose form such files can express, two of the larger ones:
statuses, error codes, dtypes, engines, marks and the number of Casts are compared. With words on
the command line: every case whose id begins with one of them ('' for all)."""
import collections
import json
import pathlib
import re
import shutil
import sys
import unittest

import vector_files
from harness import BINARY_DIR, SOURCE_DIR, World

GOLDEN = SOURCE_DIR / "tests" / "precision_vectors" / "golden"
SHIPPED = SOURCE_DIR / "schema" / "soc" / "ascend910b.yaml"
PASSES = "--passes=" + ",".join(f"-{p}" for p in ("identity", "cast", "fold", "fold-real", "reshape", "pad-conv",
                                                  "conv-bn", "bias", "retype", "epilogue", "dead"))
LISTS = ("keep_dtype", "customize_dtypes", "modify_mixlist")
PER_GROUP = 2
# Groups that say something files cannot: attributes of the engine, variables, a chip without its Cast row, a
# NetOutput that sees another dtype than its producer gives.
INEXPRESSIBLE = {"edge attr", "edge variable-order", "edge gray-nocast-in-table", "edge io", "edge promote-table"}


def group_of(family, case_id):
    """'edge keep-mode' of edge-003.json and keep-mode/force_fp16/OnlyF16."""
    word = case_id.split("/")[0]
    return f"{family} {re.sub(r'[-0-9]+$', '', word)}"


def expressible():
    """group -> cases with their models."""
    shipped = set(re.findall(r"^  (\w+):", SHIPPED.read_text(), re.M))
    known = vector_files.Known(SOURCE_DIR / "schema")
    groups = collections.defaultdict(list)
    for path in sorted(GOLDEN.glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            group = groups[group_of(path.name.split("-")[0], case["id"])]
            try:
                group.append(vector_files.express(case, shipped, known))
            except vector_files.Inexpressible:
                pass
    return groups


def dtypes(tensors):
    return [{"double": "float64"}.get(t["got"], t["got"]) for t in tensors]


def engine_of(op):
    return {"aicore": "aicore", "framework": "ge"}.get(op["engine"], "other")


class Vectors(unittest.TestCase):
    def explain(self, case, model):
        """What `omcc explain` answers to a user with these files."""
        world = World()
        try:
            soc = "Ascend910B1" if case.get("soc_bf16", True) else "Ascend310P3"
            table = "ascend910b" if case.get("soc_bf16", True) else "ascend310p"
            if vector_files.has_formats(case):
                kit = world.root / "cann"
                shutil.copytree(BINARY_DIR / "fake-atc", kit)
                config = kit / "opp/built-in/op_impl/ai_core/tbe/config" / table
                shutil.rmtree(config, ignore_errors=True)
                config.mkdir(parents=True)
                (config / f"aic-{table}-ops-info.json").write_text(vector_files.ops_info(case))
                world.env["ASCEND_HOME_PATH"] = str(kit)
            else:
                (world.root / "tables").mkdir()
                (world.root / "tables" / "case.yaml").write_text(vector_files.drop_in(case, table))
                settings = world.root / "home" / ".config" / "omcc" / "omccd.yaml"
                settings.parent.mkdir(parents=True)
                settings.write_text(f"tables_extra: {world.root / 'tables'}\n")
            world.write("case.onnx", model)
            flags = [f"--{f}={world.write(f, case[f].encode('utf-8', 'surrogateescape'))}"
                     for f in LISTS if case[f] is not None]
            flags += [f"--{m}={case[m]}" for m in ("precision_mode", "precision_mode_v2") if case[m]]
            result = world.explain("case.onnx", PASSES, *flags, soc=soc)
            return result, result.json
        finally:
            world.close()

    def compare(self, case, model):
        result, value = self.explain(case, model)
        expect, note = case["expect"], f"{case['id']}\n{result}"
        if expect["status"] not in ("ok", "judge_error"):
            self.assertEqual(result.status, 2, note)
            codes = [f["code"] for f in value["findings"]]
            for error in expect.get("errors", []):
                self.assertIn(error["code"], codes, note)
            return
        self.assertTrue(value["data"].get("ops"), note)
        if expect["status"] == "judge_error":
            self.assertEqual(result.status, 2, note)
            return
        self.compare_ops(expect, {o["name"]: o for o in value["data"]["ops"]}, note)
        edges = expect.get("edges")
        if edges is not None and not any("removed" in e for e in edges) and not any(
                n["type"] in vector_files.CONSTANTS for n in case["graph"]):
            self.assertEqual(value["data"]["casts"]["added"], sum(len(e.get("via", [])) for e in edges), note)

    def compare_ops(self, expect, ops, note):
        marked = (expect.get("keep_dtype") or {}).get("marked", [])
        seen = 0
        for name, wanted in expect["nodes"].items():
            if name not in ops or "engine" not in wanted:
                continue
            op = ops[name]
            self.assertEqual(dtypes(op["inputs"]), wanted["inputs"], f"{name} {note}")
            self.assertEqual(dtypes(op["outputs"]), wanted["outputs"], f"{name} {note}")
            self.assertEqual(engine_of(op), wanted["engine"], f"{name} {note}")
            self.assertEqual(op["kept"], name in marked, f"{name} {note}")
            seen += 1
        self.assertEqual(seen, sum("engine" in n for n in expect["nodes"].values()), note)

    def test_a_few_of_every_group(self):
        groups = expressible()
        self.assertEqual({g for g, cases in groups.items() if not cases}, INEXPRESSIBLE)
        chosen = [c for _, cases in sorted(groups.items()) for c in cases[:: max(1, len(cases) // PER_GROUP)][:PER_GROUP]]
        self.assertGreaterEqual(len(chosen), 40)
        for case, model in chosen:
            with self.subTest(case["id"]):
                self.compare(case, model)


def run_by_hand(words):
    test, failed, n = Vectors(), 0, 0
    for cases in expressible().values():
        for case, model in cases:
            if not any(case["id"].startswith(w) for w in words):
                continue
            n += 1
            try:
                test.compare(case, model)
            except AssertionError as e:
                failed += 1
                print(str(e)[:3000])
    print(f"{n - failed} passed, {failed} failed")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_by_hand(sys.argv[1:])
    else:
        unittest.main(verbosity=1)
