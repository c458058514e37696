"""Compares again what was compared, from the runs in the folder: groups, engines, or the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed import confine, paths
from testbed.documents import read_json
from testbed.judge.status import Status, current_comparison, verdict_of
from testbed.judge.verify import Difference
from testbed.judge.verify import differences as document_differences
from testbed.message import Message
from testbed.plan.read import read_plan
from testbed.study.again import Again, Asked
from testbed.study.cell import folder_of
from testbed.study.compare import agreement, comparison, on_engines
from testbed.study.compare.agreement import Agreement
from testbed.study.compare.comparison import Comparison
from testbed.study.compare.difference import differences
from testbed.study.compare.facts import SHOWN
from testbed.study.compare.figures import Measured
from testbed.study.compare.groups import Group, RunOf, read_run
from testbed.study.compare.same_bytes import Repetition, digests, verdict_over
from testbed.study.record import finished


def verify(of: Asked) -> Again:
    """The words by the runs, what differs from the document, and which runs are elsewhere. The comparison is made
    again in ``place``, plots and page as well.

    Raises BadInput where a file is missing or broken.
    """
    again = next(again for file, again in _KINDS.items() if (of.folder / file).is_file())
    return again(of._replace(folder=of.folder.resolve()))  # pages name runs by their places, never by `latest`


def _groups(of: Asked) -> Again:
    folder, place = of.folder, of.place
    document = current_comparison(read_json(folder / "compare.json"), comparison.SCHEMA)
    notes: list[Message] = []
    groups = [_group(folder, entry, notes) for entry in document["groups"]]
    only = list(dict.fromkeys(entry["figure"] for entry in document["differences"]))
    trusted = all(group.trusted for group in groups)
    confidence = float(document["confidence"])
    found = differences(groups[0], groups[1:], confidence, only) if trusted else []
    again = Comparison(document["name"], groups, found, confidence, document["command"])
    comparison.write(place, again, folder)
    told = list(document_differences("", document, read_json(place / "compare.json")))
    said = ", ".join(f"{group} {word}" for group, word in again.words.items())
    return Again(f"comparison {document['name']}", said, told, notes, has_page=not notes)


def _group(folder: Path, entry: Mapping[str, Any], notes: list[Message]) -> Group:
    group = Group(str(entry["name"]), missing=int(entry.get("missing", 0)))
    elsewhere = 0
    for run in entry["runs"]:
        place = folder / run["folder"]
        if _may_be_read(place, folder) and (place / "plan.json").is_file():
            group.runs.append(read_run(place, run["case"]))
        else:
            elsewhere += 1
            measured = Measured(dict(run["figures"]), frozenset(run["never"]), run["without_figures"])
            as_recorded = run.get("standing", Status.PASS)
            group.runs.append(RunOf(place, run["case"], int(run["seed"]), bool(run["trusted"]), measured, as_recorded))
    if elsewhere:
        group.facts = {name: str(entry["facts"].get(name, "")) for name in SHOWN}
        notes.append(
            Message(
                "compare.runs-elsewhere",
                "{runs} runs of {group} are not in the folder: their figures are as recorded",
                runs=elsewhere,
                group=group.name,
            )
        )
    return group


def _may_be_read(run: Path, folder: Path) -> bool:
    """Whether a run that a comparison names is in its folder, or both are results of this checkout."""
    own = paths.results().resolve()
    if run.resolve().is_relative_to(folder):
        return True
    if not (folder.is_relative_to(own) and run.resolve().is_relative_to(own)):
        return False
    confine.refuse_links(run)
    return True


def _engines(of: Asked) -> Again:
    document = read_json(of.folder / "cross-check.json")
    found: list[Agreement] = []
    words: list[Status] = []
    told: list[Difference] = []
    notes: list[Message] = []
    for entry in document["scenarios"]:
        engines = {word: name for name, word in on_engines.WORDS.items()}
        runs = {
            word: confine.inside(of.folder, folder_of(entry["scenario"], engines[word]), run)
            for word, run in entry["runs"].items()
        }
        if not all((run / "plan.json").is_file() for run in runs.values()):
            notes.append(
                Message(
                    "cross-check.runs-elsewhere",
                    "{scenario}: its runs are not in the folder, and what they differ in is as recorded",
                    scenario=entry["scenario"],
                )
            )
            words.append(entry["verdict"])
            continue
        title = read_plan(next(iter(runs.values())) / "plan.json")["title"]
        found.append(on_engines.of_runs(entry["scenario"], title, runs))
        words.append(found[-1].verdict)
        told += document_differences(entry["scenario"], entry, found[-1].as_json())
    agreement.write(of.place, found, document["refused"])
    return Again(f"cross-check {of.folder.name}", verdict_of(words), told, notes, has_page=not notes)


def _bytes(of: Asked) -> Again:
    told: list[Difference] = []
    notes: list[Message] = []
    holds: list[bool] = []
    for entry in json.loads((of.folder / "hashes.json").read_text(encoding="utf-8")):
        recorded = [*entry["runs"], entry["other_seed"]]
        again = []
        for number, data in enumerate(recorded, 1):
            kept = finished(of.folder / folder_of(entry["name"].replace("/", "-"), str(number)))
            again.append(digests(kept[-1]) if kept else data)
            told += document_differences(f"{entry['name']} run {number}", data, again[-1])
        found = Repetition(entry["name"], again[:-1], entry["span"], again[-1])
        told += document_differences(entry["name"], entry, found.as_json())
        holds.append(found.holds)
        if not kept:
            notes.append(
                Message(
                    "same-bytes.runs-elsewhere",
                    "{scenario}: its runs are not in the folder: their hashes are as recorded",
                    scenario=entry["name"],
                )
            )
    return Again(f"repeatable {of.folder.name}", verdict_over(holds), told, notes, has_page=False)


_KINDS = {"compare.json": _groups, "cross-check.json": _engines, "hashes.json": _bytes}
"""By the document in the folder."""
