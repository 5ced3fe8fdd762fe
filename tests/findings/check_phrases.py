"""Every sentence that importers, inference, AIPP and lists put into a finding has its Chinese
(client/render/phrase_list.c), and the list holds nothing that nobody says any more.

    check_phrases.py SOURCE_DIR
"""
import pathlib
import re
import sys

# Functions of those rooms that take a reason in words.
SAY = ("onnx_refuse", "onnx_differs", "onnx_tell", "tf_refuse", "import_malformed", "import_tell",
       "infer_conflict", "bad", "bad_line", "refuse", "complain", "tell", "tell_value",
       "output_bad", "damaged")
ROOMS = ("daemon/compiler/import", "daemon/compiler/infer", "daemon/compiler/aipp",
         "daemon/compiler/precision", "daemon/cache", "proto/lists")
STRING = r'"(?:[^"\\]|\\.)*"'
# These are subjects, which stay as they are: a subject is somebody's name nearly everywhere.
SUBJECTS = ("the end of the file", "the file")
# Neighbouring literals and the format macros between them are one text.
TEXT = rf'{STRING}(?:\s*(?:PRI[a-zX0-9]+\s*)?{STRING})*'


def text_of(token):
    """A literal as the list spells it: '%' for each value."""
    token = re.sub(r"PRI[a-zX0-9]+", "", token)
    body = "".join(s[1:-1] for s in re.findall(STRING, token)).replace('\\"', '"')
    return re.sub(r"%[-+.0-9*]*(?:ll|z|l)?[a-z](?![a-z])|%", "%", body)


def call_end(text, start):
    depth, at = 0, start
    for m in re.compile(rf"{STRING}|[()]").finditer(text, start):
        at = m.end()
        depth += {"(": 1, ")": -1}.get(m.group(), 0)
        if depth == 0:
            break
    return at


def said(source):
    for room in ROOMS:
        for path in sorted((source / room).rglob("*.c")):
            text = path.read_text()
            for call in re.finditer(rf"\b({'|'.join(SAY)})\(", text):
                inside = text[call.end() - 1:call_end(text, call.end() - 1)]
                for token in re.findall(TEXT, inside):
                    if " " in token and text_of(token) not in SUBJECTS:
                        yield text_of(token), path.relative_to(source)


def listed(source):
    text = (source / "client/render/phrase_list.c").read_text()
    for row in re.finditer(rf"{{ ({TEXT}),\s*({TEXT}) }}", text):
        yield text_of(row.group(1)), text_of(row.group(2))


def spoken_anywhere(source):
    whole = set()
    for room in ("daemon", "proto", "client/cli", "client/lib"):
        for path in (source / room).rglob("*.c"):
            whole.update(text_of(t) for t in re.findall(TEXT, path.read_text()))
    return whole


def main():
    source = pathlib.Path(sys.argv[1])
    phrases = dict(listed(source))
    complaints = []
    for text, path in said(source):
        if text not in phrases:
            complaints.append(f"{path}: no Chinese for \"{text}\"")
    anywhere = spoken_anywhere(source)
    # A phrase may be put together: "the AI Core has no such op, AI CPU %" and what AI CPU says.
    built = re.compile("|".join(".*".join(map(re.escape, t.split("%"))) for t in anywhere
                                if "%" in t and len(t.replace("%", "")) >= 10))
    for en, zh in phrases.items():
        if en not in anywhere and not built.fullmatch(en):
            complaints.append(f"phrase_list.c: nobody says \"{en}\"")
        if en.count("%") != zh.count("%"):
            complaints.append(f"phrase_list.c: other values in the Chinese of \"{en}\"")
        if not re.search("[\u4e00-\u9fff]", zh):
            complaints.append(f"phrase_list.c: no Chinese in the Chinese of \"{en}\"")
    for line in dict.fromkeys(complaints):
        print(line)
    print(f"phrases: {len(phrases)}, {len(set(complaints))} complaints")
    return 1 if complaints or not phrases else 0


if __name__ == "__main__":
    sys.exit(main())
