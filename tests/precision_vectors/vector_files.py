"""A golden case as the files that a user would have: an ONNX model, a table of operators, lists.

Every operator stands in a domain of its own, so the importer takes its type as it is, with the
results that the model declares. Types that omcc knows get another name, or its own shape and dtype
rules would join in; those of the cube list keep theirs, and their tensors get the names that the IR
has. What such files cannot say makes a case inexpressible."""
import copy
import json
import re

import onnx_file
from wire import field

DTYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
          "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16}
LONG = {"float32": "float", "float64": "double"}
CONSTANTS = ("Const", "Constant")
SHAPE = (2, 3, 5)
DOMAIN = "vector"
GRAPH_TYPES = ("Data", "NetOutput", *CONSTANTS)


class Inexpressible(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Inexpressible(why)


# ---- other names

class Known:
    """What omcc itself knows of types."""

    def __init__(self, schema):
        ir = (schema / "ops" / "ir.yaml").read_text()
        self.ir = {}
        for name, inputs, outputs in re.findall(r"^  (\w+):([^|\n]*?)->([^|\n]*)", ir, re.M):
            self.ir[name] = {"inputs": inputs.split(), "outputs": outputs.split()}
        families = (schema / "soc" / "families.yaml").read_text()
        self.cube = set(re.search(r"^cube: \[([^]]*)\]", families, re.M).group(1).replace(",", " ").split())


def rename_types(case, known):
    types = set(case["op_table"]) | {n["type"] for n in case["graph"]}
    new = {t: t + "V" for t in types if t in known.ir and t not in known.cube and t not in (*GRAPH_TYPES, "Cast")}
    need(not types & set(new.values()), "names that collide")
    case["op_table"] = {new.get(t, t): op for t, op in case["op_table"].items()}
    for node in case["graph"]:
        node["type"] = new.get(node["type"], node["type"])
    for old, name in new.items():
        for flag, pattern in (("keep_dtype", rf"(?<=OpType::){old}(?![A-Za-z0-9])"),
                              ("customize_dtypes", rf"(?<=OpType::){old}(?![A-Za-z0-9])"),
                              ("modify_mixlist", rf'(?<="){old}(?=")')):
            if case[flag] is not None:
                case[flag] = re.sub(pattern, name, case[flag])


def name_tensors(case, known):
    for name, op in case["op_table"].items():
        if name not in known.cube or name not in known.ir:
            continue
        for side in ("inputs", "outputs"):
            words = [w.rstrip("?") for w in known.ir[name][side]]
            need(len(op[side]) <= len(words) and not any("*" in w for w in words), "another signature than the IR's")
            new = {t["name"]: w for t, w in zip(op[side], words)}
            for t in op[side]:
                t["name"] = new[t["name"]]
            if side == "inputs":
                op["promote"] = [[new.get(m, m) for m in group] for group in op.get("promote", [])]
    for node in case["graph"]:
        if node["type"] in known.cube:
            tensors = node["inputs"] + node["outputs"]
            need(all(t["dtype"] == tensors[0]["dtype"] for t in node["outputs"]), "another result than the IR's")
            need(all(t["dtype"] not in ("int8", "uint8") for t in node["outputs"]), "another result than the IR's")


# ---- the model

def value_info(name, dtype, shape=SHAPE):
    need(dtype in DTYPES, f"ONNX has no {dtype}")
    return onnx_file.value_info(name, DTYPES[dtype], shape)


def initializer(name, dtype):
    sizes = {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4,
             "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8}
    need(dtype in sizes, f"no constant of {dtype}")
    count = 1
    for d in SHAPE:
        count *= d
    return (b"".join(field(1, d) for d in SHAPE) + field(2, DTYPES[dtype]) + field(8, name) +
            field(9, bytes(sizes[dtype] * count)))


class Model:
    def __init__(self, case):
        self.nodes = {n["name"]: n for n in case["graph"]}
        self.table = case["op_table"]
        self.parts = b""
        for node in case["graph"]:
            need(not node.get("attrs"), "attributes of the engine")
            for t in node.get("inputs", []) + node.get("outputs", []):
                need(not t.get("attrs"), "attributes of the engine")
            self.add(node)
        self.bytes = onnx_file.model(self.parts, [(DOMAIN, 1)])

    def tensor(self, source, dtype):
        """The name of a tensor, whose dtype must be what its reader says."""
        name, out = source.rsplit(":", 1)
        producer = self.nodes[name]
        need(producer["outputs"][int(out)]["dtype"] == dtype, "a reader sees another dtype than the producer")
        return name if producer["type"] in ("Data", *CONSTANTS) else source

    def add(self, node):
        kind, name = node["type"], node["name"]
        need(kind != "Variable", "variables")
        if kind == "Data":
            self.parts += field(11, value_info(name, node["outputs"][0]["dtype"]))
        elif kind in CONSTANTS:
            self.parts += field(5, initializer(name, node["outputs"][0]["dtype"]))
        elif kind == "NetOutput":
            sources = [t.get("from") for t in node["inputs"]]
            need(sources and all(sources) and len(set(sources)) == len(sources), "outputs that are not linked")
            for t in node["inputs"]:
                producer = self.nodes[t["from"].rsplit(":", 1)[0]]
                need(producer["type"] not in ("Data", *CONSTANTS), "an input that is an output")
                self.parts += field(12, value_info(self.tensor(t["from"], t["dtype"]), t["dtype"]))
        else:
            self.add_op(node)

    def add_op(self, node):
        inputs, outputs = node.get("inputs", []), node.get("outputs", [])
        need(inputs and outputs and all(t.get("from") for t in inputs), "inputs that are not linked")
        row = self.table.get(node["type"])
        for tensors, side in ((inputs, "inputs"), (outputs, "outputs")):
            need(not any(t.get("name") for t in tensors) or (row and len(row[side]) == 1), "names of tensors")
        attrs, domain = b"", DOMAIN
        if node["type"] == "Cast":
            need(outputs[0]["dtype"] in DTYPES, "ONNX has no such dtype")
            attrs, domain = field(5, field(1, "to") + field(3, DTYPES[outputs[0]["dtype"]]) + field(20, 2)), ""
        self.parts += onnx_file.node(node["type"], [self.tensor(t["from"], t["dtype"]) for t in inputs],
                                     [f"{node['name']}:{i}" for i in range(len(outputs))], node["name"], domain, attrs)
        for i, t in enumerate(outputs):
            self.parts += field(13, value_info(f"{node['name']}:{i}", t["dtype"]))


# ---- the table

def has_formats(case):
    return any("formats" in t for op in case["op_table"].values() for t in op["inputs"] + op["outputs"])


def row(t):
    need(re.fullmatch(r"[A-Za-z0-9_]+", t["name"]), "a name that is no word")
    param = {"optional": "/opt", "dynamic": "/dyn"}.get(t.get("param"), "")
    return f"\"{t['name']}{param} {' '.join(t['dtypes'])}\""


def drop_in(case, table):
    """The case's operators as a user's own table."""
    lines = ["schema: omcc/soc/1", f"id: {table}", "ops:"]
    for name, op in case["op_table"].items():
        lines += [f"  {name}:"]
        for side in ("in", "out"):
            lines += [f"    {side}: [{', '.join(row(t) for t in op[side + 'puts'])}]"]
        if op.get("policy", "gray") != "gray":
            lines += [f"    policy: {op['policy']}"]
        if op.get("op_file"):
            lines += ["    flags: nokernel"]
        if op.get("promote"):
            lines += ["    promote: " + " / ".join(" ".join(g) for g in op["promote"])]
    return "\n".join(lines) + "\n"


def ops_info(case):
    """The same as a toolkit's file, which can also say formats."""
    ops = {}
    for name, op in case["op_table"].items():
        entry = ops[name] = {}
        for side in ("input", "output"):
            for i, t in enumerate(op[side + "s"]):
                entry[f"{side}{i}"] = {"name": t["name"], "dtype": ",".join(LONG.get(d, d) for d in t["dtypes"]),
                                       "format": ",".join(t.get("formats", ["ND"] * len(t["dtypes"]))),
                                       "paramType": t.get("param", "required")}
        if op.get("policy", "gray") != "gray":
            entry["precision_reduce"] = {"flag": "true" if op["policy"] == "white" else "false"}
        if op.get("op_file"):
            entry["opFile"] = {"value": op["op_file"]}
        if op.get("promote"):
            entry["promoteType"] = {"value": ";".join(",".join(g) for g in op["promote"])}
    return json.dumps(ops)


def tolerated(case):
    """Lines that the vendor refuses and omcc passes over with a note."""
    text = case["customize_dtypes"] or ""
    return case["expect"]["status"] == "customize_dtypes_error" and any(
        not line.strip() or line.strip().startswith("#") for line in text.removesuffix("\n").split("\n"))


def express(original, shipped, known):
    """The case in names that files can hold, and its model; Inexpressible when they cannot."""
    case = copy.deepcopy(original)
    need(not tolerated(case), "a line that omcc tolerates")
    need("cube_ops" not in case, "a cube list of its own")
    need(case.get("run_mode", "0") == "0", "training")
    rename_types(case, known)
    name_tensors(case, known)
    types = {n["type"] for n in case["graph"]} - set(GRAPH_TYPES)
    need(all(t in case["op_table"] or t not in shipped for t in types), "a type that only the shipped table has")
    if has_formats(case):
        tensors = [t for n in case["graph"] for t in n.get("inputs", []) + n.get("outputs", [])]
        need(all(t.get("format", "ND") == "ND" for t in tensors), "formats of tensors")
    else:
        drop_in(case, "any")
    return case, Model(case).bytes
