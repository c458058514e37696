"""The verdict over the whole matrix, as ``interop.json`` has it, and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from testbed.documents import entry_of
from testbed.judge.checks.result import Trust
from testbed.judge.status import Status, each_of, verdict_of
from testbed.message import Message
from testbed.study.interop.cell_run import CellEntry, CellResult
from testbed.study.interop.cells import Cell, loss_words

MARKS = {Status.PASS: "✓", Status.FAIL: "✕", Status.UNTRUSTED: "?"}
NOT_RUN = "–"


class Document(TypedDict):
    """``interop.json``."""

    schema: Literal[2]
    run: str
    verdict: Status
    summary: str
    trust: Annotated[dict[str, Any], entry_of(Trust)]
    broken: str | None
    columns: list[str]
    rows: list[list[str]]
    cells: list[CellEntry]


@dataclass(frozen=True)
class Outcome:
    """What came out of a run of the matrix."""

    run: str
    verdict: Status
    summary: str
    asked: Sequence[Cell]
    results: Sequence[CellResult]
    trust: Trust
    broken: str

    @classmethod
    def of(cls, run: str, asked: Sequence[Cell], results: Sequence[CellResult], trust: Trust, broken: str) -> Outcome:
        """The verdict: ``untrusted`` where links or machine can't be trusted or packets can't be told, ``pass``
        only if every cell was run and passes."""
        by_status = {status: [r for r in results if r.judgement.status == status] for status in MARKS}
        untold = [
            Message("interop.untrusted", "{cell}: {reasons}", cell=r.cell.title, reasons=" ".join(r.judgement.reasons))
            for r in by_status[Status.UNTRUSTED]
        ]
        trust = Trust.of([*trust.said, *untold])
        summary = f"{len(by_status[Status.PASS])} of {len(asked)} cells pass"
        for status, words in ((Status.FAIL, "fail"), (Status.UNTRUSTED, "can't be judged")):
            if by_status[status]:
                summary += f", {len(by_status[status])} {words}"
        if len(results) < len(asked):
            summary += f", {len(asked) - len(results)} were not run"
        parts = {r.cell: r.judgement.status for r in results}
        verdict = verdict_of([*each_of(asked, parts), *trust.parts])
        return cls(run, verdict, summary, asked, results, trust, broken)

    def as_json(self) -> Document:
        """``interop.json``."""
        columns, rows = self.table()
        return {
            "schema": 2,
            "run": self.run,
            "verdict": self.verdict,
            "summary": self.summary,
            "trust": self.trust.model_dump(),
            "broken": self.broken or None,
            "columns": columns,
            "rows": rows,
            "cells": [result.as_json() for result in self.results],
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Who sends to whom, down; connections and loss, across; ✓, ✕ or ? and MiB/s in each cell."""
        done = {result.cell: result for result in self.results}
        across = dict.fromkeys((cell.loss, cell.connections) for cell in self.asked)
        columns = ["sender → receiver", *(f"{count}, {loss_words(loss)}" for loss, count in across)]
        return columns, [[head, *(entry(done.get(cell)) for cell in cells)] for head, cells in self.rows().items()]

    def rows(self) -> dict[str, list[Cell]]:
        """Who sends to whom, and the cells of it."""
        found: dict[str, list[Cell]] = {}
        for cell in self.asked:
            found.setdefault(f"{cell.sender} → {cell.receiver}", []).append(cell)
        return found


def entry(result: CellResult | None) -> str:
    """A cell of the table."""
    if result is None:
        return NOT_RUN
    goodput = f" {result.goodput_bps / 8 / 2**20:.2f}" if result.goodput_bps else ""
    return MARKS[result.judgement.status] + goodput
