"""What a docstring says: a description, and of parameters; in the styles of Google, NumPy and
Sphinx."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple


class Docs(NamedTuple):
    #: All before the first section.
    description: str
    #: By the parameters' names.
    params: Dict[str, str]


_PARAMETERS = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "attributes"}
_SECTIONS = _PARAMETERS | {
    "returns", "return", "yields", "yield", "raises", "example", "examples", "note", "notes",
    "see also", "warning", "warnings", "warns", "references", "todo", "other parameters",
}  # fmt: skip
# `name (type): text`, `name: text`, `*args: text`.
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
# `name : type` or `name`, several with commas; the text is on the next lines.
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
# `:param type name: text`.
_SPHINX = re.compile(r":(param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")


def read(docstring: str) -> Docs:
    """Takes a docstring apart."""
    lines = _dedented(docstring)
    description: List[str] = []
    params: Dict[str, List[str]] = {}
    section = ""
    numpy = False
    # What an indented line goes on with, and the indentation of what it belongs to.
    current: List[List[str]] = []
    level = 0
    for at, line in enumerate(lines):
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        following = lines[at + 1].strip() if at + 1 < len(lines) else ""
        name = text.rstrip(":").lower()
        if name in _SECTIONS and len(following) >= 3 and set(following) <= set("-="):
            section, numpy, current = name, True, []
        elif name in _SECTIONS and text.endswith(":"):
            section, numpy, current, level = name, False, [], indent
        elif text.startswith(":") and re.match(r":\w[^:]*:", text):
            section, current = "sphinx", []
            found = _SPHINX.match(text)
            if found:
                params[found[2]] = [found[3]]
                current, level = [params[found[2]]], indent
        elif not section:
            description.append(text)
        elif numpy and set(text) <= set("-=") and text:
            continue
        elif not text:
            if section == "sphinx":
                current = []
        elif current and indent > level:
            for part in current:
                part.append(text)
        elif section in _PARAMETERS or section == "other parameters":
            found = (_NUMPY if numpy else _GOOGLE).match(text)
            if found is None or (not numpy and indent == 0):
                current = []
                if not numpy and indent == 0:
                    # Text behind the section.
                    section = "end"
                continue
            names = [one.strip().lstrip("*") for one in found[1].split(",")]
            for one in names:
                params[one] = [] if numpy else [found[2]]
            current, level = [params[one] for one in names], indent
    joined = {name: " ".join(part for part in parts if part).strip() for name, parts in params.items()}
    return Docs("\n".join(description).strip(), {name: text for name, text in joined.items() if text})


def _dedented(docstring: str) -> List[str]:
    """The lines without the indentation that all but the first have in common."""
    lines = docstring.expandtabs().splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    return [line.strip() if at == 0 else line[margin:].rstrip() for at, line in enumerate(lines)]
