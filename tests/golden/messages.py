"""The catalogue of texts with a code: ``messages.tsv``, made from the source without running it.

Columns are the code, the text and, of errors, what to do next. Reworded texts are one diff of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CATALOGUE = Path(__file__).with_name("messages.tsv")
FOLDERS = ("testbed", "topologies", "dashboards")
ROOTS = {"Message", "TestbedError", "InvalidValue"}
"""Classes whose first arguments are a code and a text; classes made from them are the same."""
HANDED_ON = (
    "testbed/cli/wrong_usage.py",
    "testbed/engines/vkernel/run.py",
    "testbed/errors.py",
    "testbed/judge/checks/result.py",
    "testbed/message.py",
)
"""Files whose calls hand on what others have written."""
BRACES = re.compile(r"\{[a-z_.]+(![rs])?(:[^{} ]+)?\}")
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")


@dataclass(order=True, frozen=True)
class Entry:
    """A text in the source."""

    code: str
    text: str
    hint: str
    place: str = field(compare=False)
    """File and line."""

    def row(self) -> str:
        """Its line in the catalogue."""
        return "\t".join(text.replace("\\", r"\\").replace("\n", r"\n") for text in (self.code, self.text, self.hint))


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
        for call in _calls(module, names | {"unknown", "refuse_unknown", "add_message"}):
            place = f"{file}:{call.lineno}"
            if _name(call.func) in ("unknown", "refuse_unknown"):
                entries += _unknown_names(call, place, constants)
                continue
            if any(keyword.arg is None for keyword in call.keywords):
                if file not in HANDED_ON:
                    wrong.append(f"{place}: write each detail by its name")
                continue
            texts = [_text(argument, constants) for argument in call.args]
            if not 2 <= len(texts) <= 3 or None in texts:
                if file not in HANDED_ON:
                    wrong.append(f"{place}: begin with a code and a text, then perhaps a hint, all of them literal")
                continue
            code, text, hint = (str(text) for text in [*texts, ""][:3])
            if any(isinstance(argument, ast.Constant) and BRACES.search(str(argument.value)) for argument in call.args):
                wrong.append(f"{place}: {code}: a name in braces, in a text that is no f-string")
            entries.append(Entry(code, text, hint, place))
    return entries, wrong + list(_mistakes(entries))


def _unknown_names(call: ast.Call, place: str, constants: dict[str, str]) -> Iterator[Entry]:
    """The entry of a call of :func:`testbed.message.unknown` or ``refuse_unknown``, whose text is the same for all."""
    code, kind = (_text(argument, constants) for argument in call.args[:2])
    if code is not None:
        yield Entry(code, f"there is no {kind or '{kind}'} {{name!r}}{{guess}}", "", place)


def _mistakes(entries: list[Entry]) -> Iterator[str]:
    first: dict[str, Entry] = {}
    for entry in entries:
        if not CODE.fullmatch(entry.code):
            yield f"{entry.place}: {entry.code!r} should be words with dots between them, like result.no-folder"
        before = first.setdefault(entry.code, entry)
        if _words(before.text) != _words(entry.text):
            yield f"{entry.place}: {entry.code} has another text at {before.place}; give it a code of its own"


def _words(text: str) -> str:
    """The text, whatever the values in it are called."""
    return re.sub(r"\{[^{}]*\}", "{}", text)


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
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else _placeholder(part) for part in node.values
        )
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _placeholder(part: ast.expr) -> str:
    """A value's expression in braces; three dots for one with words of its own."""
    text = ast.unparse(ast.JoinedStr([part]))[3:-2]
    return "{…}" if re.search(r"""["'{]""", text) else f"{{{text}}}"


def catalogue(entries: list[Entry]) -> str:
    """The text of ``messages.tsv``."""
    by_code = {entry.code: entry for entry in sorted(entries, reverse=True)}
    return "".join(f"{entry.row()}\n" for entry in sorted(by_code.values()))


def write() -> None:
    """Write the catalogue, and say whether it changed."""
    found = catalogue(read(sources())[0])
    if not CATALOGUE.is_file() or CATALOGUE.read_text() != found:
        CATALOGUE.write_text(found)
        print(f"written: {CATALOGUE.name}")
