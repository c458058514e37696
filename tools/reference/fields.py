"""The page of keys of a scenario, a table and a sweep, from the JSON Schemas of ``schemas/``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from testbed import paths
from tools.reference.markdown import code, generated, prose, table

Schema = Mapping[str, Any]

KINDS = {"scenario": "Scenario", "table": "Table", "sweep": "Sweep"}
INTRODUCTION = """\
Every key of a [scenario](scenarios.md), a [table](tables.md) and a [sweep](sweeps.md), from the schemas by which files
are checked and editors complete them. A key in **bold** must be there. [Checks](checks.md) have a page of their own."""


def page() -> str:
    """The page's text."""
    parts: dict[str, str] = {}  # by heading: a section of two kinds of file is described once
    for kind, title in KINDS.items():
        schema = schema_of(kind)
        for heading, definition in {
            f"## {title}": schema,
            **{f"### {k}": d for k, d in schema["$defs"].items()},
        }.items():
            if definition.get("properties") and not is_check(definition):
                about = prose(definition.get("description", ""))
                parts.setdefault(heading, f"{heading}\n\n{about}\n\n{rows_of(definition, schema)}")
    return generated("Fields", INTRODUCTION, *parts.values())


def schema_of(kind: str) -> Schema:
    """The schema of a kind of file."""
    found: Schema = json.loads((paths.CHECKOUT / "schemas" / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return found


def is_check(definition: Schema) -> bool:
    """Whether it is what a scenario's check takes, which has a page of its own."""
    properties = definition.get("properties", {})
    return "judge" in properties and "rows" not in properties and "row" not in properties


def rows_of(definition: Schema, schema: Schema) -> str:
    """The keys of a part of the file, as a table."""
    needed = definition.get("required", [])
    rows = [
        (f"**`{key}`**" if key in needed else f"`{key}`", form(each, schema), default(each), about(each))
        for key, each in definition["properties"].items()
    ]
    return table(("key", "value", "without it", "what it is"), rows)


def about(each: Schema) -> str:
    """The description of a key; "" of a quantity that has only the form of its value."""
    return "" if _is_form(each) else prose(each.get("description", ""))


def _is_form(each: Schema) -> bool:
    # A quantity's description says how it is written ("a duration with its unit"), a key's is a sentence.
    return bool(each.get("examples")) and each.get("description", "A")[0].islower()


def default(each: Schema) -> str:
    """The default of a key; "" where it has none, or a rule of its own."""
    value = each.get("default")
    return "" if value in (None, "", []) else code(value)


def form(each: Schema, schema: Schema) -> str:
    """The notation of a value."""
    if "$ref" in each:
        return _of_definition(each["$ref"].rpartition("/")[2], schema)
    if alternatives := each.get("anyOf") or each.get("oneOf"):
        forms = [form(one, schema) for one in alternatives if one.get("type") != "null"]
        if all("judge" in text or "(checks.md)" in text for text in forms):
            return "[a check](checks.md)"
        return " or ".join(dict.fromkeys(forms))
    if "examples" in each:
        examples = ", ".join(code(example) for example in each["examples"])
        return f"{each['description']}: {examples}" if _is_form(each) else examples
    if "const" in each:
        return code(each["const"])
    if "enum" in each:
        return " or ".join(code(value) for value in each["enum"])
    kind = each.get("type")
    if kind == "array":
        items = each.get("prefixItems") or [each.get("items", {})]
        return "list of " + ", ".join(dict.fromkeys(form(item, schema) for item in items))
    if kind == "object":
        return "keys and values"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    return words.get(str(kind), "anything") + _bounds(each)


def _of_definition(name: str, schema: Schema) -> str:
    definition = schema["$defs"][name]
    if is_check(definition):
        return f"[`{definition['properties']['judge']['const']}`](checks.md)"
    if definition.get("properties"):
        return f"[{name}](#{name.lower()})"
    return form(definition, schema)


def _bounds(each: Schema) -> str:
    least = each.get("minimum", each.get("exclusiveMinimum"))
    most = each.get("maximum", each.get("exclusiveMaximum"))
    if least is None and most is None:
        return ""
    above = "above" if "exclusiveMinimum" in each else "from"
    below = "below" if "exclusiveMaximum" in each else "up to"
    parts = [f"{word} {value:,}" for word, value in ((above, least), (below, most)) if value is not None]
    return ", " + " ".join(parts)
