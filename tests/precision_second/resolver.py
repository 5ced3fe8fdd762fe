"""Resolves a case: which engine takes each op, which column it gets. See rules.py."""
from rules import (CUBE, CUBE_HIF8, FLOATS, FORCE_FP16, FORCE_FP32, FP32_TO_BF16, FP32_TO_FP16, MIX_BF16, MIX_FP16,
                   MIX_HIF8, ORIGIN, JudgeError, Op, custom_entries, exact, keep_marks, mode_of, policies, promoted,
                   reduce, rise)

HIF8_WIDE = {"hifloat8": ["hifloat8", "float16", "float32"], "bfloat16": ["hifloat8", "bfloat16", "float32"],
             "float16": ["hifloat8", "float16", "float32"], "float32": ["hifloat8", "float16", "float32"]}
HIF8_NARROW = {"bfloat16": ["bfloat16", "float32"], "float16": ["float16", "float32"], "float32": ["float32"]}


class Graph:
    def __init__(self, case):
        self.case, self.mode = case, mode_of(case)
        self.table, self.policy = case["op_table"], policies(case)
        self.cube = case.get("cube_ops", CUBE)
        self.ops = [Op(node, self.table) for node in case["graph"]]
        self.by_name = {op.name: op for op in self.ops}
        self.custom_by_name, self.custom_by_type = custom_entries(case.get("customize_dtypes"))
        keep_marks(case, self.ops)
        for op in self.ops:
            if op.engine == "other" and op.entry and op.bind():
                check_engine(self, op)
        for op in self.ops:
            if op.engine in ("aicore", "ge") and op.type != "TransData":
                Judge(self, op).run()

    def producer(self, tensor):
        """(op, number of its output), or None."""
        if not tensor.get("from"):
            return None
        name, number = tensor["from"].rsplit(":", 1)
        return self.by_name[name], int(number)

    def delivers(self, tensor):
        op, number = self.producer(tensor)
        return op.outputs[number]["got"]


# ---------------------------------------------------------------- engine check

def accepts(graph, op, have, offered):
    if have == offered or (have in ("float16", "bfloat16") and offered == "float32"):
        return True
    if op.kept or graph.mode == ORIGIN:
        return False
    black = graph.policy[op.type] == "black"
    if have in ("float32", "bfloat16") and offered == "float16":
        return graph.mode not in (FP32_TO_BF16, MIX_BF16) and not (black and graph.mode in (FORCE_FP32, MIX_FP16))
    if have == "float32" and offered == "bfloat16":
        return graph.mode not in (FP32_TO_FP16, MIX_FP16) and not (black and graph.mode in (FORCE_FP32, MIX_BF16))
    return False


def evaluate_promotion(op):
    """op.groups: (inputs, target, mixed) up to the first group that lacks an input."""
    op.promoted, op.group_broken, op.groups = False, False, []
    names = [t["name"] for t in op.inputs]
    for group in op.entry.get("promote") or []:
        if len(group) < 2:
            continue
        members = [names.index(n) if n in names else None for n in group]
        if None in members[:2]:
            op.group_broken = True
            return
        first, second = (op.inputs[i]["dtype"] for i in members[:2])
        target, mixed = promoted(first, second), first != second
        for i in members[2:]:
            if i is None:
                op.promoted |= mixed
                op.group_broken = True
                return
            if op.inputs[i]["dtype"] != target:
                target, mixed = promoted(op.inputs[i]["dtype"], target), True
        op.promoted |= mixed
        op.groups.append((members, target, mixed))


def passes_promoted(op, tensor):
    if not op.promoted or op.group_broken or tensor not in op.inputs:
        return False
    for members, target, _ in op.groups:
        if any(op.inputs[i] is tensor for i in members):
            return target is not None and any(promoted(target, d) == d for d in tensor["row"]["dtypes"])
    return False


def custom_columns(op):
    """Columns that agree with the entry; None when it says nothing about a tensor."""
    sides = zip(op.custom, (op.inputs, op.outputs))
    wishes = [(t["row"]["dtypes"], w) for words, tensors in sides for w, t in zip(words, tensors) if w]
    return [k for k in range(op.n_columns) if all(d[k] == w for d, w in wishes)] if wishes else None


def check_engine(graph, op):
    evaluate_promotion(op)
    op.custom = graph.custom_by_name.get(op.name) or graph.custom_by_type.get(op.type)
    if op.custom and custom_columns(op) == []:
        return
    if op.type in ("Cast", "TransData"):
        if not any(all(t["row"]["dtypes"][k] == t["dtype"] for t in op.tensors) for k in range(op.n_columns)):
            return
    elif not op.custom:
        for t in op.tensors:
            if not any(accepts(graph, op, t["dtype"], d) for d in t["row"]["dtypes"]) and not passes_promoted(op, t):
                return
    for t in op.tensors:
        formats = t["row"].get("formats", ["ND"])
        if t.get("format", "ND") == "ND" and not set(formats) & {"ND", "FRACTAL_NZ", "FRACTAL_Z"}:
            return
    op.engine = "ge" if op.entry.get("op_file") in ("Null", "AICore_Null") else "aicore"


# ---------------------------------------------------------------- the column

class Judge:
    def __init__(self, graph, op):
        self.graph, self.op, self.chosen = graph, op, []
        self.sticky = bool(op.attrs.get("_force_fp32_to_fp16"))
        self.is_cube = op.type in graph.cube
        self.policy = graph.policy[op.type]
        self.sensitive = op.type == "Cast" or any(t["dtype"].startswith("complex") for t in op.tensors)

    def run(self):
        op, first = self.op, []
        if op.custom:
            first = custom_columns(op)
            if not first:
                raise JudgeError(op.name)
            self.chosen = list(first)
        order = sorted(range(len(op.inputs)), key=lambda i: (self.place(i), i))
        ordered = [op.inputs[i] for i in order]
        if op.promoted:
            self.promote()
        else:
            self.phase(ordered, True)
            self.phase(op.outputs, False)
        if self.chosen and not (op.promoted and op.group_broken):
            self.filter_formats(ordered + op.outputs)
        op.column = (self.chosen or first or [0])[0]
        for t in op.tensors:
            t["got"] = t["row"]["dtypes"][op.column]

    def place(self, i):
        producer = self.graph.producer(self.op.inputs[i])
        late = producer is None or producer[0].type in ("Const", "Constant", "Variable")
        return i + 255 if late else i

    def everything(self):
        return list(range(self.op.n_columns))

    def phase(self, tensors, is_input):
        if tensors and not self.chosen:
            self.chosen = self.everything()
        for t in tensors:
            self.chosen = self.rule(t, is_input)

    def promote(self):
        for members, target, mixed in self.op.groups:
            for i in members if mixed else []:
                columns = self.op.inputs[i]["row"]["dtypes"]
                self.chosen = self.chosen or self.everything()
                same = [k for k in self.chosen if columns[k] == target]
                wider = [k for k in self.chosen if columns[k] != target and promoted(target, columns[k]) == columns[k]]
                self.chosen = same + wider or self.chosen

    def filter_formats(self, tensors):
        if not any("formats" in t["row"] for t in tensors):
            return
        for t in tensors:
            own, formats = t.get("format", "ND"), t["row"].get("formats", ["ND"] * self.op.n_columns)
            fit = [k for k in self.chosen if formats[k] in (own, "ND")]
            if fit:
                self.chosen = fit
            elif own == "ND":
                self.chosen = [k for k in self.chosen if formats[k] != "NC1HWC0"]

    # Each rule returns the new set; where nothing fits, the old one.

    def rule(self, t, is_input):
        mode, dtype = self.graph.mode, t["dtype"]
        if self.op.kept or self.sensitive:
            return self.fp32_to_fp16(t, None)
        if self.op.attrs.get("_inherit_dtype_from_predecessor"):
            return self.mix(t, is_input, MIX_FP16, "gray", None)
        if (self.op.engine == "ge" and mode != FORCE_FP16) or \
                (is_input and (t.get("attrs") or {}).get("_format_continuous")):
            return self.mix(t, is_input, MIX_FP16, self.policy, None)
        if self.sticky and mode == FP32_TO_FP16:
            return self.force_fp16(t, None)
        forbidden = None
        if mode in (FORCE_FP16, FORCE_FP32) or (mode in (FP32_TO_FP16, MIX_FP16) and dtype != "bfloat16"):
            forbidden = "bfloat16"
        elif mode in (FP32_TO_BF16, MIX_BF16) and dtype != "float16":
            forbidden = "float16"
        if mode in (MIX_FP16, MIX_BF16):
            return self.mix(t, is_input, mode, self.policy, forbidden)
        if mode in (CUBE_HIF8, MIX_HIF8):
            return self.hif8(t, is_input)
        return {FORCE_FP16: self.force_fp16, FP32_TO_FP16: self.fp32_to_fp16, FP32_TO_BF16: self.fp32_to_bf16,
                ORIGIN: self.origin, FORCE_FP32: self.force_fp32}[mode](t, forbidden)

    def force_fp16(self, t, forbidden):
        want = "float16" if t["dtype"] in ("float32", "bfloat16") else t["dtype"]
        return rise(self.chosen, t["row"]["dtypes"], want, forbidden) or self.chosen

    def fp32_to_fp16(self, t, forbidden):
        columns, want = t["row"]["dtypes"], t["dtype"]
        if want == "float32" and self.is_cube and not self.op.kept:
            want = "float16"
        found = rise(self.chosen, columns, want, forbidden)
        if not found and want in ("float32", "bfloat16"):
            found = reduce(self.chosen, columns, want, forbidden)
            self.sticky |= bool(found) and want == "float32"
        return found or self.chosen

    def fp32_to_bf16(self, t, forbidden):
        columns, want = t["row"]["dtypes"], t["dtype"]
        found = rise(self.chosen, columns, want, forbidden)
        if not found and want in ("float32", "bfloat16"):
            found = reduce(self.chosen, columns, want, forbidden)
        return found or self.chosen

    def origin(self, t, forbidden):
        return rise(self.chosen, t["row"]["dtypes"], t["dtype"], forbidden) or self.chosen

    def force_fp32(self, t, forbidden):
        columns, want = t["row"]["dtypes"], t["dtype"]
        if want in FLOATS:
            inputs, outputs = self.op.inputs, self.op.outputs
            low_in = self.is_cube and inputs and t is inputs[0] and outputs and \
                ("float16", "float32") in zip(columns, outputs[0]["row"]["dtypes"])
            want = "float16" if low_in else "float32"
        return rise(self.chosen, columns, want, forbidden) or reduce(self.chosen, columns, want, forbidden) or \
            self.chosen

    def mix(self, t, is_input, mode, policy, forbidden):
        columns = t["row"]["dtypes"]
        if policy == "black":
            return self.origin(t, forbidden)
        if policy == "white":
            if t["dtype"] not in FLOATS:
                return self.origin(t, None)
            left = [k for k in self.chosen if columns[k] != forbidden]
            return [k for k in left if columns[k] in ("float16", "bfloat16")] or left
        if not is_input or self.graph.producer(t) is None:
            return (self.fp32_to_fp16 if mode == MIX_FP16 else self.fp32_to_bf16)(t, forbidden)
        want = self.followed(t, mode)
        return rise(self.chosen, columns, want, forbidden) or reduce(self.chosen, columns, want, forbidden) or \
            self.chosen

    def followed(self, t, mode):
        """What the producer delivers; one widening Cast that is not black is looked through."""
        producer, _ = self.graph.producer(t)
        have = self.graph.delivers(t)
        if producer.type != "Cast" or self.graph.policy.get("Cast", "black") == "black":
            return have
        low = "bfloat16" if mode == MIX_BF16 else "float16"
        if producer.inputs[0]["got"] != low or have not in FLOATS or have == low:
            return have
        if self.graph.producer(producer.inputs[0]) is None:
            raise JudgeError(self.op.name)
        return self.graph.delivers(producer.inputs[0])

    def hif8(self, t, is_input):
        dtype, key, wide = t["dtype"], t["dtype"], self.policy == "white"
        if self.graph.mode == CUBE_HIF8:
            wide = self.is_cube
        elif self.policy == "gray" and is_input and self.graph.producer(t):
            key = self.graph.delivers(t)
            if key == "hifloat8":
                return self.first_of(t, HIF8_WIDE["bfloat16" if dtype == "bfloat16" else "float16"])
        return self.first_of(t, (HIF8_WIDE if wide else HIF8_NARROW).get(key, [key]))

    def first_of(self, t, wanted):
        for want in wanted:
            found = exact(self.chosen, t["row"]["dtypes"], want, None)
            if found:
                return found
        return self.chosen
