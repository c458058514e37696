"""``--set key=value``: changes one value of a scenario before it is validated.

A key is a dotted path (``ncp.policy``, ``links.fast.rate``; list items by their name or their number from 1)
or just its end (``policy``), where that is unambiguous.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.documents import label
from testbed.errors import BadInput, refuse_unknown
from testbed.message import unknown
from testbed.plan import codes
from testbed.scenario import bounded

# Optional keys that a file need not spell out and that people set by their short name.
_NCP = ("code", "initial_windows", "send_window", "mtu", "ack_interval", "max_ack_ranges", "ack_repeats", "transport")
OPTIONAL = {"seed": "seed", **{key: f"ncp.{key}" for key in _NCP}, "transfer_time": "limits.transfer_time"}

WHOLE = ("limits", "place")
"""Sections that a file need not have."""


def split_assignment(text: str) -> tuple[str, Any]:
    """``policy=previous`` → (``policy``, ``previous``); the value is read as YAML. In place of the path of a user's own
    code it has the name of the copy that is kept."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise BadInput("set.no-value", f"--set {text!r}: write key=value, for example --set policy=previous")
    try:
        value = bounded.load(value)
    except bounded.NotYaml as error:
        raise BadInput.of(error.said.at(f"--set {text[:200]!r}")) from error
    key = key.strip()
    return key, codes.with_kept(value, Path.cwd(), f"--set {key}") if codes.KEYS.fullmatch(key) else value


def apply_override(document: dict[str, Any], key: str, value: Any, *, origin: str) -> str:
    """Set ``key`` in ``document`` and return its full path; raises :class:`BadInput` if it names nothing."""
    try:
        return _applied(document, key, value)
    except BadInput as error:
        raise error.at(f"{origin} {key}") from error


def assigned_twice(document: dict[str, Any], assignments: Iterable[str], keys: Iterable[str]) -> str | None:
    """The first assignment of a value that one of ``keys`` sets as well; a key that names nothing is no such one."""
    with suppress(BadInput):
        own = [_full_path(document, key) for key in keys]
        return next((text for text in assignments if _full_path(document, text.partition("=")[0]) in own), None)
    return None


def _applied(document: dict[str, Any], key: str, value: Any) -> str:
    steps = _full_path(document, key)
    node: Any = document
    for number, step in enumerate(steps, start=1):
        if not isinstance(node, (dict, list)):
            raise BadInput("set.no-parts", f"{'.'.join(steps[: number - 1])!r} has no parts")
        own: Any = _index(node, step) if isinstance(node, list) else step
        if number == len(steps):
            node[own] = value  # whether the key may exist is the model's to say, with its own message
        elif isinstance(node, dict) and step in WHOLE:
            node.setdefault(step, {})
        elif isinstance(node, dict):
            refuse_unknown("set.no-such-part", "value", step, node)
        node = node[own]
    return ".".join(steps)


def _full_path(document: dict[str, Any], key: str) -> list[str]:
    steps = key.split(".")
    if len(steps) > 1 or key in document:
        return steps
    matches = [path for path in paths_of(document) if path[-1] == key and path[0] not in ("quick", "checks")]
    if len(matches) == 1:
        return matches[0]
    if len(matches) > 1:
        options = ", ".join(".".join(path) for path in matches)
        raise BadInput("set.ambiguous", f"several values have that name; write one of {options}")
    if key in OPTIONAL:
        return OPTIONAL[key].split(".")
    names = sorted({path[-1] for path in paths_of(document)} | set(OPTIONAL))
    raise BadInput.of(unknown("set.no-such-value", "value", key, names))


def paths_of(node: Any, prefix: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """The keys of a document, each as the steps to it; list items by their name, or by their number from 1."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield [*prefix, str(key)]
            yield from paths_of(value, (*prefix, str(key)))
    elif isinstance(node, list):
        for number, value in enumerate(node, start=1):
            yield from paths_of(value, (*prefix, label(value, number)))


def _index(items: list[Any], step: str) -> int:
    labels = [str(item.get("name")) if isinstance(item, dict) else "" for item in items]
    if step in labels:
        return labels.index(step)
    if step.isdigit() and 1 <= int(step) <= len(items):
        return int(step) - 1
    known = [label for label in labels if label] or range(1, len(items) + 1)
    raise BadInput.of(unknown("set.no-such-entry", "entry", step, known))
