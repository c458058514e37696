"""The catalogue of texts with a code: ``messages.tsv``, made from the source without running it.

Columns are the code, the text and, of errors, what to do next. Reworded texts are one diff of it.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CATALOGUE = Path(__file__).with_name("messages.tsv")
FOLDERS = ("testbed", "topologies", "dashboards")
ROOTS = {"Message", "TestbedError", "InvalidValue"}
"""Classes whose first arguments are a code and a text; classes made from them are the same."""
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")


@dataclass(order=True, frozen=True)
class Entry:
    """A text in the source."""

    code: str
    template: str
    hint: str
    place: str = field(compare=False)
    """File and line."""
    keywords: frozenset[str] = field(compare=False)

    def row(self) -> str:
        """Its line in the catalogue."""
        return "\t".join(
            text.replace("\\", r"\\").replace("\n", r"\n") for text in (self.code, self.template, self.hint)
        )


def sources(checkout: Path = CHECKOUT) -> dict[str, ast.Module]:
    """The modules, by their place in the checkout."""
    files = (file for folder in FOLDERS for file in sorted((checkout / folder).rglob("*.py")))
    return {str(file.relative_to(checkout)): ast.parse(file.read_text()) for file in files}


def classes(modules: dict[str, ast.Module]) -> set[str]:
    """Names of the classes whose instances are made of a code and a text."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for module in modules.values()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
    }
    found = set(ROOTS)
    while more := {name for name, of in bases.items() if of & found and name not in found}:
        found |= more
    return found


def read(modules: dict[str, ast.Module]) -> tuple[list[Entry], list[str]]:
    """All texts, and what is wrong with the source of any."""
    names, wrong = classes(modules), []
    entries: list[Entry] = []
    for file, module in modules.items():
        constants = _constants(module)
        for call in _calls(module, names | {"unknown", "add_message"}):
            place = f"{file}:{call.lineno}"
            if _name(call.func) == "unknown":
                entries += _unknown_names(call, place, constants)
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                if file not in ("testbed/errors.py", "testbed/message.py"):
                    wrong.append(f"{place}: write each parameter by its name")
                continue
            texts = [_text(argument, constants) for argument in call.args]
            if not 2 <= len(texts) <= 3 or None in texts:
                if file not in ("testbed/errors.py", "testbed/message.py"):
                    wrong.append(f"{place}: begin with a code and a text, then perhaps a hint, all of them literal")
                continue
            code, template, hint = (str(text) for text in [*texts, ""][:3])
            entries.append(Entry(code, template, hint, place, frozenset(str(k.arg) for k in call.keywords)))
    return entries, wrong + list(_mistakes(entries))


def _unknown_names(call: ast.Call, place: str, constants: dict[str, str]) -> Iterator[Entry]:
    """The entry of a call of :func:`testbed.message.unknown`, whose text is the same for all."""
    code, kind = (_text(argument, constants) for argument in call.args[:2])
    if code is not None:
        text = f"there is no {kind or '{kind}'} {{name!r}}{{guess}}"
        yield Entry(code, text, "", place, frozenset(_placeholders(text)))


def _mistakes(entries: list[Entry]) -> Iterator[str]:
    first: dict[str, Entry] = {}
    for entry in entries:
        if not CODE.fullmatch(entry.code):
            yield f"{entry.place}: {entry.code!r} should be words with dots between them, like result.no-folder"
        if (before := first.setdefault(entry.code, entry)).template != entry.template:
            yield f"{entry.place}: {entry.code} has another text at {before.place}; give it a code of its own"
        if "place" in entry.keywords:
            yield f"{entry.place}: {entry.code}: 'place' is what Message.at gives; choose another name"
        placeholders = _placeholders(entry.template) | _placeholders(entry.hint)
        if placeholders != entry.keywords:
            yield f"{entry.place}: {entry.code}: not both in text and parameters: {placeholders ^ entry.keywords}"


def _placeholders(text: str) -> set[str]:
    """The parameters that a text names, with or without an attribute or item (``{agent.host}``, ``{row[sent]}``)."""
    return {re.split(r"[.\[]", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _calls(module: ast.Module, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _name(node.func) in names:
            yield node


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _constants(module: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found |= {target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)}
    return found


def _text(node: ast.expr, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def catalogue(entries: list[Entry]) -> str:
    """The text of ``messages.tsv``."""
    return "".join(f"{entry.row()}\n" for entry in sorted(set(entries)))


def write() -> None:
    """Write the catalogue, and say whether it changed."""
    found = catalogue(read(sources())[0])
    if not CATALOGUE.is_file() or CATALOGUE.read_text() != found:
        CATALOGUE.write_text(found)
        print(f"written: {CATALOGUE.name}")
