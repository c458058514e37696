"""Finds decisions that are made by the wording of a text: what is compared, matched or taken apart there.

Two things are looked for where a text is compared, looked for in another, or taken apart: a text for people (an
attribute of :data:`TEXTS`, ``str()`` or an f-string of an error or a message, and what is assigned from one in the same
function), and a literal of several words.
"""

from __future__ import annotations

import ast
import re

TEXTS = {"broken", "hint", "message", "msg", "reason", "reasons", "strerror", "summary", "template", "text", "why"}
"""Attributes that hold texts for people."""
SAID = {"said", "error", "exc", "message"}
"""Names and attributes of messages and errors, whose ``str()`` is a text for people."""
METHODS = {
    "count",
    "endswith",
    "find",
    "findall",
    "finditer",
    "fullmatch",
    "index",
    "match",
    "partition",
    "removeprefix",
    "removesuffix",
    "rfind",
    "rpartition",
    "search",
    "startswith",
}
WORDS = re.compile(r"[A-Za-z]{2,}[,:]? [a-z]{2,}")
"""A sentence, or a part of one."""
OF_A_STATUS = {"left out", "no difference shown", "not carried", "not kept", "second try"}
"""Words of a status, which are no sentences."""


def matched(module: ast.Module) -> list[int]:
    """The lines of a module where wording decides."""
    constants = _constants(module)
    functions = [node for node in ast.walk(module) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    lines = set()
    for scope in (*functions, module):
        texts = _assigned(scope)
        for node in ast.walk(scope):
            if any(_is_text(part, texts) or _is_sentence(part, constants) for part in _operands(node)):
                lines.add(node.lineno)  # type: ignore[attr-defined]
    return sorted(lines)


def _operands(node: ast.AST) -> list[ast.expr]:
    """What a comparison compares, and what a call takes apart or looks for."""
    match node:
        case ast.Compare(comparators=[ast.Constant(value=None | "")]):
            return []  # whether there is a text at all
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.Call(func=ast.Attribute(attr=name) as method) if name in METHODS:
            return [method.value, *node.args]
        case ast.MatchValue():
            return [node.value]
    return []


def _is_text(node: ast.expr, texts: set[str]) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in TEXTS
        case ast.Name(id=name):
            return name in texts
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name) | ast.Attribute(attr=name)]):
            return name in SAID | TEXTS
        case ast.Call(func=ast.Attribute(value=inner)):  # error.message.lower()
            return _is_text(inner, texts)
        case ast.JoinedStr():
            return any(
                isinstance(part, ast.FormattedValue)
                and (_is_text(part.value, texts) or (isinstance(part.value, ast.Name) and part.value.id in SAID))
                for part in node.values
            )
        case ast.BoolOp():
            return any(_is_text(part, texts) for part in node.values)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=ast.Constant(value=str(key))):
            return key in TEXTS
    return False


def _is_sentence(node: ast.expr, constants: dict[str, ast.expr]) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return WORDS.search(text) is not None and text not in OF_A_STATUS
        case ast.Tuple() | ast.List() | ast.Set():
            return any(_is_sentence(part, constants) for part in node.elts)
        case ast.Name(id=name) if name in constants:
            return _is_sentence(constants[name], {})
        case ast.JoinedStr():
            return any(_is_sentence(part, constants) for part in node.values)
    return False


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _assigned(scope: ast.AST) -> set[str]:
    """Names in a function that stand for a text for people."""
    texts: set[str] = set()
    for node in ast.walk(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.NamedExpr(target=ast.Name(id=name)):
                if _is_text(node.value, texts):
                    texts.add(name)
    return texts
