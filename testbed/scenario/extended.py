"""``extends``: a scenario file that says only what is other than in another one.

Mappings are merged key by key, lists of things with names (links, sessions, checks) thing by thing, and all other
values are taken from the file that extends. What comes out remembers which file each part is from.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from testbed.errors import BadInput

KEY = "extends"
MOST_FILES = 8
FILES = (("topology", "file"), ("trace",), ("jitter", "file"))
"""Keys of a scenario, or of one of its links, that name a file beside it."""


class Part(CommentedMap):
    """A mapping of parts from several files."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, Path] = {}
        """The file that each key is from."""


def extended(
    path: Path, document: CommentedMap, read: Callable[[str, Path], tuple[Path, CommentedMap]]
) -> CommentedMap:
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
        lines = chain[-1][1].lc.data
        where = f"{last}:{lines[KEY][0] + 1}: {KEY}" if KEY in lines else f"{last}: {KEY}"
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
    base_file, merged = chain.pop()
    _name_files_from(merged, base_file.parent, path.parent)
    whole = _merged(CommentedMap(), merged, base_file, base_file)
    for file, more in reversed(chain):
        _name_files_from(more, file.parent, path.parent)
        whole = _merged(whole, more, base_file, file)
    del whole[KEY]
    return whole


def file_of(node: Any, step: int | str) -> Path | None:
    """The file that a part of a document is from, where it has several."""
    return node.files.get(str(step)) if isinstance(node, Part) else None


def _merged(base: CommentedMap, more: CommentedMap, base_file: Path, file: Path) -> Part:
    """Both; each key with the line that it has in its file."""
    made = Part()
    for source, own in ((base, base_file), (more, file)):
        for key, value in source.items():
            before = made.get(key)
            if isinstance(before, CommentedMap) and isinstance(value, CommentedMap):
                made[key] = _merged(before, value, made.files[str(key)], own)
            elif _have_names(before) and _have_names(value):
                made[key] = _by_name(before, value, made.files[str(key)], own)
            else:
                made[key] = value
            made.files[str(key)] = file_of(source, key) or own
            if key in source.lc.data:
                made.lc.add_kv_line_col(key, source.lc.data[key])
    return made


def _by_name(base: CommentedSeq, more: CommentedSeq, base_file: Path, file: Path) -> CommentedSeq:
    """Things of one name merged, others after those that are there."""
    made = CommentedSeq()
    for source, own in ((base, base_file), (more, file)):
        for place, item in enumerate(source):
            known = next((at for at, other in enumerate(made) if other.get("name") == item.get("name")), None)
            if known is None:
                made.append(item if isinstance(item, Part) else _merged(CommentedMap(), item, own, own))
                if place in (source.lc.data or {}):
                    made.lc.add_idx_line_col(len(made) - 1, source.lc.data[place])
            else:
                made[known] = _merged(made[known], item, base_file, own)
    return made


def _have_names(value: Any) -> bool:
    return isinstance(value, CommentedSeq) and all(isinstance(item, dict) and "name" in item for item in value)


def _name_files_from(document: CommentedMap, there: Path, here: Path) -> None:
    """Files that a document names beside itself, named from another folder."""
    if there.resolve() == here.resolve():
        return
    links = document.get("links")
    for part in (document, *(links if isinstance(links, list) else [])):
        for keys in FILES:
            node = part
            for key in keys[:-1]:
                node = node.get(key) if isinstance(node, dict) else None
            if isinstance(node, dict) and isinstance(node.get(keys[-1]), str):
                node[keys[-1]] = os.path.relpath(there.resolve() / node[keys[-1]], here.resolve())
