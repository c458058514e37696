"""``extends``: a scenario file that says only what is other than in another one.

Mappings are merged key by key, lists of things with names (links, sessions, checks) thing by thing, and all other
values are taken from the file that extends. What comes out remembers which file each part is from.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from testbed.documents import label
from testbed.errors import BadInput

KEY = "extends"
MOST_FILES = 8
FILES = (("topology", "file"), ("trace",), ("jitter", "file"))
"""Keys of a scenario, or of one of its links, that name a file beside it."""


Place = tuple[Path, int | None]
"""A file, and a line of it (from 1) where that is known."""


class Whole(dict[str, Any]):
    """A scenario of several files."""

    places: dict[tuple[str, ...], Place]


def places(node: Any, file: Path, steps: tuple[str, ...] = (), line: int | None = None) -> dict[tuple[str, ...], Place]:
    """The place of each part of a file's document, by the steps to it."""
    found: dict[tuple[str, ...], Place] = {}
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        lines = node.lc.data or {} if isinstance(node, (CommentedMap, CommentedSeq)) else {}
        own = (*steps, str(key) if isinstance(node, dict) else label(node[key], key + 1))
        found[own] = file, lines[key][0] + 1 if key in lines else line
        found |= places(node[key], file, own, found[own][1])
    return found


def extended(
    path: Path, document: dict[str, Any], read: Callable[[str, Path], tuple[Path, dict[str, Any]]]
) -> dict[str, Any]:
    """The whole scenario of a file's document; ``read`` gives the file and document of what a file extends.

    Raises BadInput for a circle, and for a scenario that extends another and has no name of its own.
    """
    if KEY not in document:
        return document
    if "name" not in document:
        raise BadInput(
            "scenario.no-name", f"{path}: name: is missing; a scenario that extends another has a name of its own"
        )
    chain = [(path, document)]
    while KEY in chain[-1][1]:
        last, requested = chain[-1][0], chain[-1][1][KEY]
        _, line = places(chain[-1][1], last)[KEY,]
        where = f"{last}:{line}: {KEY}" if line else f"{last}: {KEY}"
        try:
            if not isinstance(requested, str):
                raise BadInput(
                    "scenario.bad-extends",
                    f"{requested!r} is not right: write a scenario's name, or a file beside this one",
                )
            found = read(requested, last)
            if any(found[0].resolve() == other.resolve() for other, _ in chain):
                raise BadInput(
                    "scenario.extends-itself",
                    f"{requested} extends this one in turn; one of them has to stand by itself",
                )
            if len(chain) == MOST_FILES:
                raise BadInput("scenario.extends-too-deep", f"more than {MOST_FILES} files in a row")
        except BadInput as error:
            raise error.at(where) from error
        chain.append(found)
    whole = Whole()
    whole.places = {}
    for file, part in reversed(chain):
        _name_files_from(part, file.parent, path.parent)
        whole.update(_merged(whole, part))
        whole.places |= places(part, file)
    del whole[KEY]
    return whole


def _merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    made = dict(base)
    for key, value in more.items():
        before: Any = base.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            made[key] = _merged(before, value)
        elif _have_names(before) and _have_names(value):
            by_name = {str(item["name"]): item for item in before}
            for item in value:
                by_name[str(item["name"])] = _merged(by_name.get(str(item["name"]), {}), item)
            made[key] = list(by_name.values())
        else:
            made[key] = value
    return made


def _have_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value)


def _name_files_from(document: dict[str, Any], there: Path, here: Path) -> None:
    """Files that a document names beside itself, named from another folder."""
    if there.resolve() == here.resolve():
        return
    links = document.get("links")
    for part in (document, *(links if isinstance(links, list) else [])):
        for keys in FILES:
            node: Any = part
            for key in keys[:-1]:
                node = node.get(key) if isinstance(node, dict) else None
            if isinstance(node, dict) and isinstance(node.get(keys[-1]), str):
                node[keys[-1]] = os.path.relpath(there.resolve() / node[keys[-1]], here.resolve())
