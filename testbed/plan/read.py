"""Checks that a document is a plan, key by key."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.plan.model import Plan


@cache
def adapter() -> TypeAdapter[Plan]:
    """What validates plans, and makes their schema."""
    return TypeAdapter(Plan)


def read_plan(path: Path) -> Plan:
    """A folder's ``plan.json``, unchanged; BadInput names file, key, value and what would be right."""
    return valid(read_json(path), str(path))


def valid(document: Any, where: str) -> Plan:
    """The document itself, with keys that are not known; BadInput begins with ``where`` it is from."""
    try:
        adapter().validate_python(document, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = _named(document, first["loc"])
        is_missing = first["type"] == "missing"
        what = "is missing" if is_missing else f"{first['input']!r:.80} is not right: {first['msg']}"
        raise BadInput("plan.bad-value", "{where}: {key}: {error}", where=where, key=key, error=what) from error
    plan: Plan = document
    return plan


def _named(document: Any, loc: tuple[int | str, ...]) -> str:
    """The key's path, ``links.fast.queue.mode``: items of lists by their name, or their number from 1."""
    steps = []
    for step in loc:
        item = document[step] if isinstance(document, list) and isinstance(step, int) else None
        if isinstance(document, dict):
            if step not in document and document.get("kind") == step:
                continue  # the member of a union is no part of the path
            item = document.get(step)
        named = isinstance(step, int) and isinstance(item, dict) and item.get("name")
        steps.append(str(named or (step + 1 if isinstance(step, int) else step)))
        document = item
    return ".".join(steps) or "the document"
