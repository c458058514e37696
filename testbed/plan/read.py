"""Checks that a document is a plan, key by key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.plan import old
from testbed.plan.model import Plan


@cache
def adapter() -> TypeAdapter[Plan]:
    """The adapter that validates plans, and makes their schema."""
    return TypeAdapter(Plan)


def read_plan(path: Path) -> Plan:
    """A folder's ``plan.json``, one of an earlier schema as one of today; BadInput names file, key, value and what
    would be right."""
    return valid(old.current(read_json(path)), str(path))


def valid(document: Any, where: str) -> Plan:
    """The document itself, with keys that are not known; BadInput begins with ``where`` it is from."""
    try:
        adapter().validate_python(document, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = _named(document, first["loc"])
        is_missing = first["type"] == "missing"
        what = "is missing" if is_missing else f"{first['input']!r:.80} is not right: {first['msg']}"
        raise BadInput("plan.bad-value", f"{where}: {key}: {what}", key=key) from error
    plan: Plan = document
    for key, name in _names_of_files(plan):
        if not FILE_NAME.fullmatch(name):
            raise BadInput(
                "plan.bad-file-name",
                f"{where}: {key}: {name!r:.80} is not right: it names files; leave out / and the like",
                key=key,
            )
    return plan


FILE_NAME = re.compile(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,199}")
"""A name that leads to no other folder."""


def _names_of_files(plan: Plan) -> Iterator[tuple[str, str]]:
    """Names of files and folders of results, with their keys."""
    yield from (("run", plan["run"]), ("scenario", plan["scenario"]), ("namespace", plan["namespace"]))
    yield from ((f"hosts.{n}.name", host["name"]) for n, host in enumerate(plan["hosts"], start=1))
    yield from ((f"nodes.{n}.name", node["name"]) for n, node in enumerate(plan["nodes"], start=1))
    yield from ((f"sessions.{n}.name", session["name"]) for n, session in enumerate(plan["sessions"], start=1))
    for number, link in enumerate(plan["links"], start=1):
        yield f"links.{number}.name", link["name"]
        yield from ((f"links.{number}.{end}.host", link[end]["host"]) for end in ("a", "b"))


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
