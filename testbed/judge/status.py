"""The status of a result, at every level, and the rules that combine the statuses of parts to that of a whole.

Checks combine to a run, runs to a repetition or a table's cell, cells to a table, runs to claims, claims to ``all``,
engines to ``cross-check``, files to ``verify``. This module combines all of them. The rules, which docs/verdicts.md
shows as a table and tests/judge holds for any tree of results:

- The whole is the worst of the requested parts.
- A requested part that is not there is ``missing``: dropping a part never improves the whole.
- A whole without requested parts never passes.

``untrusted`` is the worst status: nothing is proven by what can't be trusted, not even a failure.

Results of earlier versions have other words for it. Only this module knows them: :class:`Status` reads each.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal, TypeVar

from testbed.exit_codes import OF_VERDICT


class Status(str, Enum):
    """The status of a check, a run, a cell, a table, a claim, a pairing or a difference; best first.

    A value that is none, and no word of an earlier version, is a ValueError.
    """

    PASS = "pass"
    INCONCLUSIVE = "inconclusive"
    """An interval lies only partly inside the limits."""
    INSUFFICIENT_DATA = "insufficient-data"
    """There is too little data to decide."""
    UNSUPPORTED = "unsupported"
    """This machine can't do it."""
    MISSING = "missing"
    """A requested part is not there."""
    ERROR = "error"
    """The part broke down, or something that it needs is missing or broken."""
    FAIL = "fail"
    UNTRUSTED = "untrusted"
    """Links or machine were not good enough."""
    SKIPPED = "skipped"
    """The part was not requested: it is about another policy, or rows and columns that were not selected, or no
    machine's engine can carry it. It never counts."""

    __str__ = str.__str__

    @classmethod
    def _missing_(cls, value: object) -> Status | None:
        return EARLIER.get(value) if isinstance(value, str) else None


EARLIER: Mapping[str, Status] = {
    # of checks and runs
    "undecided": Status.INCONCLUSIVE,
    "not-covered": Status.INSUFFICIENT_DATA,
    "not-asked": Status.SKIPPED,
    # of a run in the database's list
    "broke down": Status.ERROR,
    # of a table's row and column
    "ok": Status.PASS,
    # of a pairing of the interop matrix, which earlier versions had
    "unjudged": Status.UNTRUSTED,
    # of a claim
    "holds": Status.PASS,
    "fails": Status.FAIL,
    "broken": Status.ERROR,
    # of a run that claims need
    "not carried": Status.SKIPPED,
    "left out": Status.SKIPPED,
}
"""Words of earlier versions, in files and in the database."""
_OF_ONE = ("status", "verdict", "standing", "state")
"""Keys of a status in a result's documents."""
_OF_SEVERAL = ("states", "runs_own")
"""Keys of statuses by name."""

BEST_FIRST: tuple[Status, ...] = tuple(status for status in Status if status is not Status.SKIPPED)
OPEN = frozenset({Status.INCONCLUSIVE, Status.INSUFFICIENT_DATA, Status.UNSUPPORTED})
"""Neither holds nor fails. A short or partial form may leave some parts so; a full form has to decide each."""

Key = TypeVar("Key")


def worst(parts: Iterable[Status]) -> Status:
    """The worst of the requested parts; ``missing`` where there are none."""
    return max(_counted(parts), key=BEST_FIRST.index, default=Status.MISSING)


def each_of(requested: Iterable[Key], found: Mapping[Key, Status]) -> list[Status]:
    """One part for each that was requested, ``missing`` where it was not found."""
    return [found.get(key, Status.MISSING) for key in requested]


def verdict_of(parts: Iterable[Status], *, may_stay_open: bool = False) -> Status:
    """The status of the whole: ``pass``, ``fail`` or ``untrusted``.

    ``may_stay_open``: a short or partial form, of which at least one part has to pass.
    """
    counted = _counted(parts)
    found = worst(counted)
    if found == Status.UNTRUSTED:
        return Status.UNTRUSTED
    if found == Status.PASS or (found in OPEN and may_stay_open and Status.PASS in counted):
        return Status.PASS
    return Status.FAIL


_DESCRIPTIONS: Mapping[str, str] = {
    "xfail": "fails, as expected",
    Status.FAIL: "fails",
    "xpass": "holds, but was expected to fail",
    Status.ERROR: "can't be judged",
    Status.MISSING: "is missing",
    Status.UNTRUSTED: "is not to be trusted",
    Status.INCONCLUSIVE: "is inconclusive",
    Status.INSUFFICIENT_DATA: "has too little data",
    Status.UNSUPPORTED: "can't be made here",
}


def of_exit_code(code: int) -> Status:
    """The status that a command's exit code means; ``error`` where it judged nothing."""
    return next((Status(verdict) for verdict, exit_code in OF_VERDICT.items() if exit_code == code), Status.ERROR)


def of_direction(direction: str) -> Status:
    """The status of a difference: ``fail`` for a worse value, ``skipped`` where neither direction is better."""
    return {"worse": Status.FAIL, "mixed": Status.FAIL, "differs": Status.SKIPPED}.get(direction, Status.PASS)


def summary_of(
    parts: Iterable[tuple[str, Status | Literal["xfail", "xpass"]]], what: str = "checks", apart: int | None = None
) -> str:
    """``2 of 4 checks hold; “law” fails; “goodput” has too little data.``, from names and their parts, or
    outcomes. ``apart``: of a selection, how many need what is not in it."""
    counted = [(name, part) for name, part in parts if part != Status.SKIPPED]
    what += "" if apart is None else " of the selection"
    said = [f"{sum(part == Status.PASS for _, part in counted)} of {len(counted)} {what} hold"]
    if apart:
        said.append(f"{apart} need{'s' if apart == 1 else ''} rows or columns that were not selected")
    said += [f"“{name}” {text}" for status, text in _DESCRIPTIONS.items() for name, part in counted if part == status]
    return "; ".join(said) + "."


def current(document: Mapping[str, Any], schema: int) -> dict[str, Any]:
    """A result's document with today's statuses; ``schema`` is the number of the first schema that has them.

    One that has that number, or a higher one, stays as it is.
    """
    if int(document.get("schema", 1)) >= schema:
        return dict(document)
    return {**_with_statuses(document), "schema": schema}


def current_table(text: str, column: str = "state") -> str:
    """The same of a table with a head, as CSV; lines end in ``\\n``."""
    head, *rows = csv.reader(text.splitlines())
    statuses = [place for place, name in enumerate(head) if name == column]
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([_read(value) if place in statuses else value for place, value in enumerate(row)])
    return made.getvalue()


def current_run(row: Mapping[str, Any]) -> dict[str, Any]:
    """A run in a sweep's table with ``state`` and ``reason``, of which earlier versions had one: ``ok``, or why not."""
    if "reason" in row:
        return dict(row)
    state, reason = (Status.PASS, "") if row["state"] == "ok" else (Status.ERROR, row["state"])
    return {**row, "state": state.value, "reason": reason}


def current_comparison(document: Mapping[str, Any], schema: int) -> dict[str, Any]:
    """A ``compare.json`` with directions and statuses; earlier versions had one word for both."""
    if int(document.get("schema", 1)) >= schema:
        return dict(document)
    words: Mapping[str, str] = document["words"]
    differences = []
    for entry in document["differences"]:
        direction = entry["word"]
        rest = {key: value for key, value in entry.items() if key != "word"}
        differences.append({**rest, "direction": direction, "status": of_direction(direction).value})
    of_runs = {"failed": Status.FAIL, "untrusted": Status.UNTRUSTED}
    return {
        **{key: value for key, value in document.items() if key != "words"},
        "schema": schema,
        "statuses": {group: of_runs.get(word, of_direction(word)).value for group, word in words.items()},
        "directions": {group: "" if word in of_runs else word for group, word in words.items()},
        "differences": differences,
    }


def _with_statuses(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_statuses(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    found: dict[str, Any] = {}
    for key, value in part.items():
        if key in _OF_ONE and isinstance(value, str):
            found[key] = _read(value)
            if value == "judged":  # of a run that claims need: its own verdict
                found[key] = of_exit_code(part["exit_code"]).value
            elif part.get("asked") is False:  # of a claim
                found[key] = Status.SKIPPED.value
        elif key in _OF_SEVERAL and isinstance(value, Mapping):
            found[key] = {name: _read(word) for name, word in value.items()}
        else:
            found[key] = _with_statuses(value)
    return found


def _read(word: str) -> str:
    return str(EARLIER.get(word, word))


def _counted(parts: Iterable[Status]) -> list[Status]:
    return [part for part in parts if part != Status.SKIPPED]
