"""Compares a comparison's groups again, from the runs in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.checks.verify import differences as document_differences
from testbed.compare.difference import differences
from testbed.compare.groups import Group, RunOf, read_run
from testbed.compare.result import Comparison, write
from testbed.documents import read_json
from testbed.study.again import Again, Asked


def verify(of: Asked) -> Again:
    """The words by the runs, what differs from ``compare.json``, and which runs are elsewhere. The comparison is made
    again in ``place``, plots and page as well.

    Raises BadInput where a file is missing or broken.
    """
    folder, place = of.folder, of.place
    document = read_json(folder / "compare.json")
    notes: list[str] = []
    groups = [_group(folder, entry, notes) for entry in document["groups"]]
    only = list(dict.fromkeys(entry["figure"] for entry in document["differences"]))
    trusted = all(group.trusted for group in groups)
    confidence = float(document["confidence"])
    found = differences(groups[0], groups[1:], confidence, only) if trusted else []
    again = Comparison(document["name"], groups, found, confidence, document["command"])
    write(place, again, folder)
    told = list(document_differences("", document, read_json(place / "compare.json")))
    said = ", ".join(f"{group} {word}" for group, word in again.words.items())
    return Again(f"comparison {document['name']}", said, told, notes, has_page=not notes)


def _group(folder: Path, entry: Mapping[str, Any], notes: list[str]) -> Group:
    group = Group(str(entry["name"]), missing=int(entry.get("missing", 0)))
    elsewhere = 0
    for run in entry["runs"]:
        place = folder / run["folder"]
        if (place / "plan.json").is_file():
            group.runs.append(read_run(place, run["case"]))
        else:
            elsewhere += 1
            group.runs.append(_as_recorded(place, run))
    if elsewhere:
        notes.append(f"{elsewhere} runs of {group.name} are not in the folder: their figures are as recorded")
    return group


def _as_recorded(place: Path, run: Mapping[str, Any]) -> RunOf:
    from testbed.compare.figures import Measured

    measured = Measured(dict(run["figures"]), frozenset(run["never"]), run["without_figures"])
    return RunOf(place, run["case"], int(run["seed"]), bool(run["trusted"]), measured, run.get("standing", "pass"))
