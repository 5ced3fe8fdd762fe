"""A second statement of the precision rules, to hold the first one against.

Written from the description of the vendor's behaviour alone, one operator at a time and
without any care for speed or reasons. A case is a dict as in precision_vectors/golden.
"""
import json
import re

FLOATS = ("float32", "float16", "bfloat16")
PRIORITY = {"float32": 100000, "bfloat16": 200000, "float16": 200001}
FIXED = ("Data", "Const", "Constant", "Variable", "NetOutput")
CUBE = """MatMul MatMulV2 BatchMatMul BatchMatMulV2 Conv2DBackpropFilterD Conv2DBackpropFilter
    Conv2DBackpropInputD Conv2DBackpropInput Conv2DTransposeD Conv2DTranspose Conv2D DepthwiseConv2D
    DepthwiseConv2DBackpropFilterD DepthwiseConv2DBackpropFilter DepthwiseConv2DBackpropInputD
    DepthwiseConv2DBackpropInput Conv2DCompress FullyConnection GEMM Conv3D Conv3DBackpropInputD
    Conv3DTransposeD Conv3DBackpropInput Conv3DTranspose Conv3DBackpropFilter Conv3DBackpropFilterD
    Deconvolution""".split()

FORCE_FP16, FP32_TO_FP16, MIX_FP16, ORIGIN, FORCE_FP32, FP32_TO_BF16, MIX_BF16, CUBE_HIF8, MIX_HIF8 = \
    0, 1, 2, 3, 4, 6, 8, 9, 10
MODES = {"force_fp16": 0, "allow_fp32_to_fp16": 1, "allow_mix_precision": 2, "allow_mix_precision_fp16": 2,
         "must_keep_origin_dtype": 3, "force_fp32": 4, "cube_fp16in_fp32out": 4, "allow_fp32_to_bf16": 6,
         "allow_mix_precision_bf16": 8}
MODES_V2 = {"fp16": 0, "mixed_float16": 2, "origin": 3, "cube_fp16in_fp32out": 4, "mixed_bfloat16": 8,
            "cube_hif8": 9, "mixed_hif8": 10}


class JudgeError(Exception):
    """The vendor's compilation ends while dtypes are chosen."""


def mode_of(case):
    if case["precision_mode"]:
        return MODES[case["precision_mode"]]
    if case["precision_mode_v2"]:
        return MODES_V2[case["precision_mode_v2"]]
    return FORCE_FP16 if case.get("run_mode", "0") == "0" else FP32_TO_FP16


# ---------------------------------------------------------------- matchers: an ordered set and one tensor's columns

def exact(chosen, columns, want, forbidden):
    return [k for k in chosen if columns[k] == want != forbidden]


def rise(chosen, columns, want, forbidden):
    if want not in FLOATS:
        return exact(chosen, columns, want, forbidden)
    return exact(chosen, columns, want, forbidden) or exact(chosen, columns, "float32", forbidden)


def reduce(chosen, columns, want, forbidden):
    """A map from the distance of two dtypes to a column, which the vendor keeps, gaps and all."""
    if want not in FLOATS:
        return exact(chosen, columns, want, forbidden)
    found, later = {}, 1
    for k in chosen:
        gap = PRIORITY.get(columns[k], 0) - PRIORITY[want]
        if columns[k] == forbidden or gap <= 0:
            continue
        if gap in found:
            gap += later
            later += 1
        found.setdefault(gap, k)
    return [found[gap] for gap in sorted(found)]


# ---------------------------------------------------------------- promotion

INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]


def promoted(a, b):
    """The common dtype of two; None where the vendor's table has none."""
    if a == b:
        return a
    if a is None or b is None:
        return None
    if {a, b} & {"hifloat8", "float8_e5m2", "float8_e4m3fn"}:
        return "float32"
    if a in ("uint16", "uint32", "uint64") and b in ("complex64", "complex128"):
        return "complex128" if b == "complex128" or a == "uint64" else "complex64"
    if {a, b} & {"uint16", "uint32", "uint64", "string", "int4", "uint1"}:
        return None
    for wide in ("complex128", "complex64", "complex32"):
        if wide in (a, b):
            other = b if a == wide else a
            if other == "float64":
                return "complex128"
            return "complex64" if wide == "complex32" and other in ("float32", "bfloat16") else wide
    if "float64" in (a, b):
        return "float64"
    floats = [x for x in (a, b) if x in FLOATS]
    if floats:
        return "float32" if len(floats) == 2 else floats[0]
    if {a, b} == {"uint8", "int8"}:
        return "int16"
    return max(a, b, key=INTEGERS.index)


# ---------------------------------------------------------------- lists

def keep_marks(case, ops):
    for line in (case["keep_dtype"] or "").split("\n"):
        line = line.strip(" \t\r")
        for op in ops if line else []:
            if line.startswith("OpType::"):
                op.kept |= op.type == line[len("OpType::"):]
            else:
                op.kept |= line == op.name or line in (op.attrs.get("_datadump_original_op_names") or [])


def custom_entries(text):
    """Two dicts, by name and by type, of (input dtypes, output dtypes); None does not care."""
    by_name, by_type = {}, {}
    for line in (text or "").removesuffix("\n").split("\n") if text else []:
        if len(line) >= 1024:
            break
        of_type = line.startswith("OpType::")
        line = (line[len("OpType::"):] if of_type else line).strip()
        at_in, at_out = line.find("InputDtype"), line.find("OutputDtype")
        inputs = line[at_in + 11:at_out if at_out >= 0 else None] if at_in >= 0 else ""
        outputs = line[at_out + 12:] if at_out >= 0 else ""
        words = [[{"": None, "float": "float32", "double": "float64"}.get(w.strip().lower(), w.strip().lower())
                  for w in side.split(",")] for side in (inputs, outputs)]
        (by_type if of_type else by_name).setdefault(line[:line.find(":")], words)
    return by_name, by_type


def policies(case):
    policy = {kind: entry.get("policy", "gray") for kind, entry in case["op_table"].items()}
    text = (case.get("modify_mixlist") or "{}").lstrip()
    wishes = [(kind, action, colour.removesuffix("-list"))
              for colour, actions in json.JSONDecoder().raw_decode(text)[0].items()
              for action, kinds in actions.items() for kind in kinds if kind in policy]
    for kind, action, colour in wishes:
        if action == "to-remove" and policy[kind] == colour:
            policy[kind] = "gray"
    for colour in ("white", "black"):
        for kind, action, wished in wishes:
            if action == "to-add" and wished == colour:
                policy[kind] = colour
    return policy


# ---------------------------------------------------------------- tensors and the table's entries

class Op:
    def __init__(self, node, table):
        self.name, self.type = node["name"], node["type"]
        self.attrs = dict(node.get("attrs") or {})
        self.kept = bool(self.attrs.get("_keep_dtype"))
        self.engine, self.column = (None, None) if self.type in FIXED else ("other", None)
        self.entry = table.get(self.type)
        self.inputs = self._tensors(node, "inputs", "x")
        self.outputs = self._tensors(node, "outputs", "y")

    def _tensors(self, node, side, letter):
        rows = (self.entry or {}).get(side, [])
        return [{**t, "got": t["dtype"],
                 "name": t.get("name") or (rows[i]["name"] if i < len(rows) else f"{letter}{i}")}
                for i, t in enumerate(node.get(side) or [])]

    def bind(self):
        """Gives every tensor its row; False when number or names do not fit."""
        for side, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            rows = self.entry.get(side, [])
            for i, t in enumerate(tensors):
                t["row"] = row_of(t["name"], i, len(tensors), rows, side == "outputs")
                if t["row"] is None:
                    return False
            for row in rows:
                n = sum(t["row"] is row for t in tensors)
                param = row.get("param", "required")
                if (param == "required" and n != 1) or (param == "dynamic" and n < 1):
                    return False
        self.tensors = self.inputs + self.outputs
        self.n_columns = len(((self.entry.get("inputs") or []) + (self.entry.get("outputs") or []))[0]["dtypes"])
        return True


def row_of(name, i, n, rows, is_output):
    repeated = [r for r in rows if r.get("param") == "dynamic"]
    if is_output and len(rows) == 1 and repeated:
        return rows[0]
    for row in rows:
        digits = r"\d*" if row in repeated else ""
        if re.fullmatch(re.escape(row["name"]) + digits, name):
            return row
    if n == len(rows):
        return rows[i]
    if len(repeated) == 1:
        return repeated[0]
    needed = sum(r.get("param") != "optional" for r in rows)
    return rows[i] if needed <= n <= len(rows) else None
