"""Documents as texts that a person can compare: sorted keys, a short value on one line, each difference named."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

WIDTH = 118
MOST_LINES = 60
_MISSING = object()


def pretty(document: Any, indent: int = 0, before: int = 0) -> str:
    """JSON with sorted keys; what fits is one line. ``before`` is how many characters precede it on its line."""
    line = json.dumps(document, sort_keys=True, ensure_ascii=False)
    if not isinstance(document, (dict, list)) or not document or indent + before + len(line) <= WIDTH:
        return line
    inner = " " * (indent + 1)
    if isinstance(document, list):
        parts = [inner + pretty(value, indent + 1) for value in document]
        return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"
    parts = []
    for key in sorted(document):
        name = json.dumps(key, ensure_ascii=False) + ": "
        parts.append(inner + name + pretty(document[key], indent + 1, len(name)))
    return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"


def changes(old: Any, new: Any) -> dict[str, Any]:
    """What is other in ``new``: values by their paths, such as ``links.0.rate_bps``; a path with ``-`` before it is one
    that is gone. Lists of other lengths are named whole."""
    return dict(_changes(old, new, ""))


def _changes(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            place = f"{path}.{key}" if path else key
            if key not in new:
                yield f"-{place}", None
            elif key not in old:
                yield place, new[key]
            else:
                yield from _changes(old[key], new[key], place)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _changes(one, other, f"{path}.{number}")
    elif type(old) is not type(new) or old != new:
        yield path, new


def difference(name: str, recorded: str, made: str) -> str:
    """A unified diff of a golden file, cut where it is long; empty where they are the same."""
    if recorded == made:
        return ""
    texts = recorded.splitlines(), made.splitlines()
    lines = list(difflib.unified_diff(*texts, f"{name} (recorded)", "made today", n=1, lineterm=""))
    more = [f"… {len(lines) - MOST_LINES} further lines"] if len(lines) > MOST_LINES else []
    return "\n".join([*(line[:400] for line in lines[:MOST_LINES]), *more])
