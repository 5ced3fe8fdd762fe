"""A small validator for the JSON schemas of schema/json: as much of the language as they use."""
import json
import re

from harness import SOURCE_DIR

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$id", "title", "description", "type", "required", "properties", "items",
         "enum", "const", "pattern", "additionalProperties", "if", "then"}


def load(name):
    return json.loads((SOURCE_DIR / "schema" / "json" / f"{name}.json").read_text())


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(value, schema, path="$"):
    """Everything that is wrong with `value`, as sentences."""
    unknown = set(schema) - KNOWN
    assert not unknown, f"the validator does not know {unknown}"
    found = []
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_type(value, n) for n in names):
            return [f"{path}: {value!r} is no {names}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is none of {schema['enum']}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{path}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, dict):
        found += [f"{path}: '{k}' is missing" for k in schema.get("required", []) if k not in value]
        for key, inner in value.items():
            if key in schema.get("properties", {}):
                found += problems(inner, schema["properties"][key], f"{path}.{key}")
            elif isinstance(schema.get("additionalProperties"), dict):
                found += problems(inner, schema["additionalProperties"], f"{path}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, inner in enumerate(value):
            found += problems(inner, schema["items"], f"{path}[{i}]")
    if "if" in schema and not problems(value, schema["if"], path):
        found += problems(value, schema.get("then", {}), path)
    return found


def check(test, result, name):
    """The output of a --json command is one object of this schema."""
    value = result.json
    test.assertEqual(problems(value, load(name)), [], str(result))
    test.assertEqual(value["ok"], result.status == 0)
    return value
