"""The matrix of pairings with its verdict: ``interop.json``, ``interop.md`` and ``interop.html``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from testbed.documents import entry_of, write_json
from testbed.judge.checks.result import Trust
from testbed.judge.status import Status, each_of, verdict_of
from testbed.lab.table import markdown_table
from testbed.message import Message
from testbed.study.report import page
from testbed.traffic.interop.pairings import Pairing, loss_words
from testbed.traffic.interop.transfer import CellEntry, PairingResult

NOT_RUN = "–"
LEGEND = (
    "✓: both ends and the packets at both ends say that the payload arrived whole and that the protocol was kept; "
    "the figure is MiB/s of payload. ✕: one of them does not. ?: the packets can't be told. –: not run."
)
_WORDS = {Status.PASS: "pass", Status.FAIL: "fail", Status.UNTRUSTED: "can't be judged"}


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
    """The result of a matrix, of which ``pairings`` are all that were requested."""

    run: str
    verdict: Status
    summary: str
    pairings: Sequence[Pairing]
    results: Sequence[PairingResult]
    trust: Trust
    broken: str

    @classmethod
    def of(
        cls, run: str, pairings: Sequence[Pairing], results: Sequence[PairingResult], trust: Trust, broken: str
    ) -> Outcome:
        """The verdict: ``untrusted`` where links or machine can't be trusted or packets are unknown, ``pass`` only if
        every pairing was run and passes."""
        statuses = {result.pairing: result.judgement.status for result in results}
        untold = [
            Message(
                "interop.untrusted", "{cell}: {reasons}", cell=r.pairing.title, reasons=" ".join(r.judgement.reasons)
            )
            for r in results
            if r.judgement.status == Status.UNTRUSTED
        ]
        trust = Trust.of([*trust.said, *untold])
        counts = {status: list(statuses.values()).count(status) for status in _WORDS}
        summary = f"{counts.pop(Status.PASS)} of {len(pairings)} cells pass"
        summary += "".join(f", {count} {_WORDS[status]}" for status, count in counts.items() if count)
        if len(results) < len(pairings):
            summary += f", {len(pairings) - len(results)} were not run"
        verdict = verdict_of([*each_of(pairings, statuses), *trust.parts])
        return cls(run, verdict, summary, pairings, results, trust, broken)

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
        """A table with sender and receiver down; connections and loss across; ✓, ✕ or ? and MiB/s in each cell."""
        texts = {result.pairing: result.text for result in self.results}
        across = dict.fromkeys((pairing.loss, pairing.connections) for pairing in self.pairings)
        columns = ["sender → receiver", *(f"{count}, {loss_words(loss)}" for loss, count in across)]
        return columns, [[head, *(texts.get(one, NOT_RUN) for one in row)] for head, row in self.rows().items()]

    def rows(self) -> dict[str, list[Pairing]]:
        """Sender and receiver, and their pairings."""
        found: dict[str, list[Pairing]] = {}
        for pairing in self.pairings:
            found.setdefault(f"{pairing.sender} → {pairing.receiver}", []).append(pairing)
        return found

    def as_markdown(self) -> str:
        """Table, legend and failures."""
        parts = [
            f"**{self.verdict.upper()}** interop {self.run}: {self.summary}.",
            markdown_table(*self.table()),
            LEGEND,
        ]
        parts += [f"- {r.pairing.title}: {'; '.join(r.judgement.reasons)}" for r in self.results if r.judgement.reasons]
        parts += [f"- not to be trusted: {reason}" for reason in self.trust.reasons]
        parts += [f"- broke down: {self.broken}"] if self.broken else []
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path) -> None:
        """The three files; the same outcome gives the same bytes."""
        document = self.as_json()
        write_json(folder / "interop.json", document)
        (folder / "interop.md").write_text(self.as_markdown())
        page.write_interop(folder, self, LEGEND)
