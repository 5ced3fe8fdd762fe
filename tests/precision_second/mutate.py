"""Random changes of golden cases, by seed: modes, tables, dtypes, lists, edges, attributes, formats."""
import copy

from rules import MODES, MODES_V2, mode_of

DTYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool",
          "hifloat8", "complex64", "complex32", "int4", "string", "float8_e5m2"]
TABLE_FORMATS = ["ND", "NCHW", "NHWC", "NC1HWC0", "FRACTAL_NZ"]
MIX_WORDS = ("allow_mix_precision", "allow_mix_precision_fp16", "allow_mix_precision_bf16", "mixed_float16",
             "mixed_bfloat16", "mixed_hif8")


def sides(thing):
    return (thing.get("inputs") or []) + (thing.get("outputs") or [])


class Mutator:
    def __init__(self, random):
        self.random = random

    def dtype(self):
        return self.random.choice(DTYPES[:3] if self.random.random() < .8 else DTYPES)

    def mutate(self, case):
        case = {k: copy.deepcopy(v) for k, v in case.items() if k not in ("note", "expect")}
        changes = [self.mode] * 5 + [self.column] * 3 + [self.model_dtype] * 3 + \
            [self.policy, self.policy, self.keep, self.keep, self.customize, self.customize, self.edge, self.attribute,
             self.promotion, self.promotion, self.kernel, self.cube, self.formats]
        for _ in range(self.random.randint(1, 6)):
            self.random.choice(changes)(case)
        if (case["precision_mode"] or case["precision_mode_v2"]) not in MIX_WORDS:
            case["modify_mixlist"] = None
        if mode_of(case) in (6, 8):
            case.pop("soc_bf16", None)
        return case

    def entry(self, case):
        kinds = list(case["op_table"])
        return case["op_table"][self.random.choice(kinds)] if kinds else {}

    def mode(self, case):
        case["precision_mode"] = case["precision_mode_v2"] = ""
        if self.random.random() < .6:
            case["precision_mode"] = self.random.choice(list(MODES))
        elif self.random.random() < .9:
            case["precision_mode_v2"] = self.random.choice(list(MODES_V2))
        else:
            case["run_mode"] = self.random.choice("01")

    def policy(self, case):
        self.entry(case)["policy"] = self.random.choice(["white", "black", "gray"])

    def column(self, case):
        rows = sides(self.entry(case))
        if not rows:
            return
        n = len(rows[0]["dtypes"])
        if n < 8 and self.random.random() < .3:
            k = self.random.randrange(n)
            for row in rows:
                row["dtypes"].append(row["dtypes"][k])
                if "formats" in row:
                    row["formats"].append(row["formats"][k])
        row = self.random.choice(rows)
        row["dtypes"][self.random.randrange(len(row["dtypes"]))] = self.dtype()

    def model_dtype(self, case):
        tensors = sides(self.random.choice(case["graph"]))
        if tensors:
            self.random.choice(tensors)["dtype"] = self.dtype()

    def name_or_type(self, case):
        node = self.random.choice(case["graph"])
        return node["name"] if self.random.random() < .6 else "OpType::" + node["type"]

    def keep(self, case):
        lines = [self.name_or_type(case) for _ in range(self.random.randint(0, 3))] + ["missing_op"]
        case["keep_dtype"] = self.random.choice(["\n", "\r\n"]).join(lines)

    def customize(self, case):
        lines = []
        for _ in range(self.random.randint(0, 2)):
            words = [self.random.choice(["float32", "float16", "bfloat16", "", " FLOAT16 ", "int32"])
                     for _ in range(self.random.randint(1, 3))]
            lines.append(self.name_or_type(case) + ":" + self.random.choice(
                ["InputDtype:", "OutputDtype:", f"InputDtype:{words[0]},OutputDtype:"]) + ",".join(words))
        case["customize_dtypes"] = "\n".join(lines) if lines else None

    def edge(self, case):
        at = self.random.randrange(len(case["graph"]))
        node = case["graph"][at]
        earlier = [f"{n['name']}:{i}" for n in case["graph"][:at] for i in range(len(n.get("outputs") or []))]
        if node.get("inputs") and earlier and node["type"] != "Data":
            self.random.choice(node["inputs"])["from"] = self.random.choice(earlier)

    def attribute(self, case):
        node = self.random.choice(case["graph"])
        if node["type"] != "NetOutput":
            name = self.random.choice(["_inherit_dtype_from_predecessor", "_force_fp32_to_fp16", "_keep_dtype"])
            node.setdefault("attrs", {})[name] = 1

    def promotion(self, case):
        entry = self.entry(case)
        names = [row["name"] for row in entry.get("inputs") or []] + ["nobody"]
        if len(names) > 2:
            entry["promote"] = [self.random.sample(names, self.random.randint(2, len(names)))
                                for _ in range(self.random.randint(1, 2))]

    def kernel(self, case):
        entry = self.entry(case)
        if self.random.random() < .5:
            entry["op_file"] = self.random.choice(["Null", "AICore_Null"])
        elif entry.get("inputs"):
            self.random.choice(entry["inputs"])["param"] = self.random.choice(["required", "optional", "dynamic"])

    def cube(self, case):
        case["cube_ops"] = [kind for kind in case["op_table"] if self.random.random() < .4]

    def formats(self, case):
        node = self.random.choice(case["graph"])
        for tensor in sides(node):
            tensor["format"] = self.random.choice(["ND", "NCHW", "NHWC"])
        for row in sides(case["op_table"].get(node["type"], {})):
            row["formats"] = [self.random.choice(TABLE_FORMATS) for _ in row["dtypes"]]
