#!/usr/bin/env python3
"""Writes what is made from schema/*.yaml for people and shells.

    docs/generate.py           writes the files
    docs/generate.py --check   fails when a file is not what it would write

    docs/man/omcc.1                  the flag lists between its two marks
    docs/man/omccd.8                 the settings between its two marks
    client/completions/omcc.bash     for bash
    client/completions/_omcc         for zsh

The schemas are plain YAML of one shape (a list of flat mappings), so a reader of a few
lines is enough and python3 needs no package.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schema"


def scalar(text):
    text = text.strip()
    if text.startswith('"'):
        return re.sub(r"\\(.)", r"\1", text[1:text.rindex('"')])
    if text.startswith("["):
        return [scalar(part) for part in text[1:-1].split(",") if part.strip()]
    return text


def rows(name):
    """The mappings of one file in order; "_list" is the key of the list they stand in."""
    key, found = "", []
    for line in (SCHEMA / name).read_text().splitlines():
        top = re.match(r"([a-z]+):\s*$", line)
        if top:
            key = top.group(1)
        entry = re.match(r"(- |  )([a-z_]+): ?(.*)", line)
        if not entry or line.lstrip().startswith("#"):
            continue
        if entry.group(1) == "- ":
            found.append({"_list": key})
        found[-1][entry.group(2)] = scalar(entry.group(3))
    return found


def flags(which):
    return [row for row in rows("flags.yaml") if row["_list"] == which]


def spelled(row):
    """Our own flags in the spelling that people type."""
    return {"as_json": "json", "as_display": "display"}.get(row["name"], row["name"])


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def flag_roff(row):
    shape = "|".join(row.get("choices", [])) or row.get("hint", "")
    head = f"\\-\\-{roff(spelled(row))}" + (f"={roff(shape)}" if shape else "")
    text = roff(row["help"])
    if row.get("normal") and row["type"] != "bool":
        text += f" (default {roff(row['normal'])})"
    return f".TP\n.B {head}\n{text}\n"


def key_roff(row):
    return (f".TP\n.BR {roff(row['name'])} \" ({row['type']}, default {roff(row['default']) or 'empty'})\"\n"
            f"{roff(row['doc'])}\n")


def between(path, name, text):
    old = (ROOT / path).read_text()
    begin, end = f'.\\" begin {name}\n', f'.\\" end {name}\n'
    head, rest = old.split(begin)
    return head + begin + text + end + rest.split(end)[1]


def man_client():
    text = between("docs/man/omcc.1", "own flags", "".join(flag_roff(r) for r in flags("omcc")))
    path = ROOT / "docs/man/omcc.1"
    old = path.read_text()
    path.write_text(text)
    try:
        return between("docs/man/omcc.1", "atc flags", "".join(flag_roff(r) for r in flags("atc")))
    finally:
        path.write_text(old)


def man_daemon():
    return between("docs/man/omccd.8", "settings",
                   "".join(key_roff(row) for row in rows("config.yaml")))


VERBS = ["compile", "explain", "status", "cache", "why", "whence", "inspect", "ops", "lint-lists", "daemon", "help", "version"]
SUB = {"cache": ["stats", "list", "has", "show", "get", "pin", "unpin", "verify", "gc", "clear"], "daemon": ["start", "stop", "run"],
       "help": ["flags", "findings", "status"]}


def bash():
    names = " ".join("--" + spelled(r) + ("" if r["type"] == "bool" else "=")
                     for r in flags("atc") + flags("omcc"))
    cases = ""
    for row in flags("atc") + flags("omcc"):
        if row.get("choices"):
            cases += (f"  --{row['name']})\n"
                      f"    COMPREPLY=($(compgen -W '{' '.join(row['choices'])}' -- \"$value\"))\n"
                      "    return ;;\n")
    subs = "".join(f"  {verb}) words='{' '.join(more)}' ;;\n" for verb, more in SUB.items())
    return f"""# bash completion for omcc. Made from schema/flags.yaml by docs/generate.py.
_omcc()
{{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} flag value words
  COMPREPLY=()
  # bash splits at '=': the flag is then one or two words back.
  if [[ $word == = ]]; then
    flag=$before value=
  elif [[ $before == = ]]; then
    flag=${{COMP_WORDS[COMP_CWORD - 2]}} value=$word
  fi
  flag=${{flag//-/_}}
  flag=--${{flag#__}}
  case $flag in
{cases}  --?*)
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$value"))
    return ;;
  esac
  if [[ $word == -* ]]; then
    compopt -o nospace
    COMPREPLY=($(compgen -W '{names}' -- "$word"))
    return
  fi
  words=
  case $before in
{subs}  esac
  [[ $COMP_CWORD -eq 1 ]] && words='{' '.join(VERBS)}'
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    compopt -o filenames
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F _omcc omcc
"""


def zsh_text(text):
    return re.sub(r"([\[\]:'])", lambda m: "'\\''" if m.group(1) == "'" else "\\" + m.group(1), text)


def zsh():
    lines = ""
    for row in flags("atc") + flags("omcc"):
        text = zsh_text(row["help"])
        if row["type"] == "bool":
            lines += f"  '--{spelled(row)}[{text}]' \\\n"
        elif row.get("choices"):
            lines += f"  '--{spelled(row)}=[{text}]:value:({' '.join(row['choices'])})' \\\n"
        else:
            what = "_files" if row.get("path") else " "
            lines += f"  '--{spelled(row)}=[{text}]:value:{what}' \\\n"
    return f"""#compdef omcc
# zsh completion for omcc. Made from schema/flags.yaml by docs/generate.py.
if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
  compadd {' '.join(VERBS)}
  return
fi
case $words[2] in
""" + "".join(f"{verb}) (( CURRENT == 3 )) && compadd {' '.join(more)} && return ;;\n"
              for verb, more in SUB.items()) + f"""esac
_arguments \\
{lines}  '*:file:_files'
"""


FILES = {
    "docs/man/omcc.1": man_client,
    "docs/man/omccd.8": man_daemon,
    "client/completions/omcc.bash": bash,
    "client/completions/_omcc": zsh,
}


def main():
    stale = []
    for name, make in FILES.items():
        path, text = ROOT / name, make()
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
            print(f"wrote {name}")
    if stale and "--check" in sys.argv[1:]:
        print(f"not up to date, run docs/generate.py: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
