"""Casts on edges whose ends differ, and the opposite pairs that vanish again. See rules.py."""

LOSSY = {"float32", "float16", "float64", "bfloat16"}
TRANSPARENT = {"Cast", "TransData", "Transpose", "TransposeD", "Reshape", "ReFormat"}


class Cast:
    type = "Cast"

    def __init__(self, name, source, target):
        self.name = name
        self.inputs, self.outputs = [{"got": source}], [{"got": target}]


class Edges:
    """Every linked input, by (name of the op, number): (producer, number of its output)."""

    def __init__(self, graph):
        self.ops, self.link, self.gone = graph.ops, {}, []
        self.before = {(op.name, i): graph.producer(t) for op in graph.ops for i, t in enumerate(op.inputs)
                       if graph.producer(t)}
        for (name, i), (producer, number) in self.before.items():
            have, want = producer.outputs[number]["got"], graph.by_name[name].inputs[i]["got"]
            self.link[name, i] = producer, number
            if have != want:
                cast = Cast(f"inserted {name} {i}", have, want)
                self.link[cast.name, 0] = producer, number
                self.link[name, i] = cast, 0
        for op in self.ops:
            for i in range(len(op.inputs)) if op.type not in TRANSPARENT else []:
                if (op.name, i) in self.link:
                    self.walk((op.name, i))

    def walk(self, end):
        """From a consumer towards the producer; after a removal the walk goes on behind it."""
        path, at = [], self.link[end][0]
        while at.type in TRANSPARENT and (at.name, 0) in self.link:
            path.append(at)
            if len(path) > 1 and self.opposite(path[-1], path[-2]):
                later, earlier = path[-2:]
                below = end if len(path) == 2 else (path[-3].name, 0)
                self.link[below] = self.link[earlier.name, 0]
                del path[-2:]
                self.forget(later)
                self.forget(earlier)
                at = self.link[below][0]
            else:
                at = self.link[at.name, 0][0]

    @staticmethod
    def opposite(earlier, later):
        if earlier.type != "Cast" or later.type != "Cast":
            return False
        a, b = earlier.inputs[0]["got"], earlier.outputs[0]["got"]
        if (a, b) != (later.outputs[0]["got"], later.inputs[0]["got"]):
            return False
        return {a, b} <= LOSSY or (isinstance(earlier, Cast) and isinstance(later, Cast))

    def forget(self, cast):
        if not any(producer is cast for producer, _ in self.link.values()):
            del self.link[cast.name, 0]
            self.gone.append(cast.name)

    def changed(self):
        """As the golden cases say it."""
        rows = [{"removed": op.name} for op in self.ops if op.name in self.gone]
        for (name, i), before in self.before.items():
            if name in self.gone:
                continue
            (producer, number), via = self.link[name, i], []
            while isinstance(producer, Cast):
                via.insert(0, {"type": "Cast", "src": producer.inputs[0]["got"], "dst": producer.outputs[0]["got"]})
                producer, number = self.link[producer.name, 0]
            if via or producer is not before[0] or number != before[1]:
                rows.append({"from": f"{producer.name}:{number}", "to": f"{name}:{i}", "via": via})
        return rows
