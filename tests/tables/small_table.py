"""A table of two rows, and results of its runs as folders."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.engines.engine import Programs
from testbed.judge.checks.result import Trust, Verdict
from testbed.study.cell import ScenarioCell
from testbed.study.kinds.table import Selection, TableRequest, select
from testbed.study.kinds.table_file import load
from testbed.study.kinds.table_result import Place, read_cell
from testbed.study.record import CellResult

POLICIES: Any = {
    name: {"name": name, "cap_packets": None, "initial": "W/n"}
    for name in ("previous", "nkp24", "delivery-rate", "minrtt", "another")
}
PROGRAMS = Programs({}, POLICIES)

SMALL = """\
name: small
title: Two rows
cells:
  links: [{name: a, rate: 1024pps, delay: 5ms}]
  ncp: {policy: nkp24, transfer: 1MiB}
  checks: [{name: payload, judge: payload_intact}]
rows:
  - {name: near}
  - name: far
    set:
      links.a.delay: 50ms
      transfer: 2MiB
columns:
  - policies: all
checks:
  - {name: faster, judge: ratio, column: nkp24, over: previous, min: 1}
quick: {rows.far.set.transfer: 1MiB}
"""


@dataclass(frozen=True)
class Matrix:
    """A table's cells at any place."""

    selection: Selection

    def cells(self, *places: tuple[str, str, int]) -> list[ScenarioCell]:
        return self.selection.cells(PROGRAMS, [Place(*place) for place in places])

    def cell(self, row: str, column: str, repetition: int = 1) -> ScenarioCell:
        return self.cells((row, column, repetition))[0]


def matrix_of(name: str, *assignments: str, quick: bool = False, engine: str = "mininet") -> Matrix:
    loaded = load(name, assignments, quick=quick)
    every_row = ",".join(row.name for row in loaded.table.rows)
    request = TableRequest(rows=every_row, link="relay", engine=engine, quick=quick)
    return Matrix(select(loaded, request, POLICIES))


def outcome_by(run: Path) -> CellResult:
    """What becomes of a table's cell with this run."""
    found = read_cell(Place("1", "nkp24", 1), run.parent)
    assert found
    return found


def write_run(folder: Path, name: str, verdict: Any, goodput_bps: float = 8 * 2**20) -> Path:
    run = folder / name
    (run / "agents").mkdir(parents=True)
    trust = Trust(trusted=verdict != "untrusted", reasons=["late"] if verdict == "untrusted" else [])
    document = Verdict(
        scenario="small", run=name, verdict=verdict, summary="s", checks=[], trust=trust, duration_s=1.0, policy="p"
    ).to_json()
    (run / "verdict.json").write_text(json.dumps(document))
    result = {"role": "receiver", "goodput_bps": goodput_bps, "duration_s": 1.0}
    (run / "agents" / "r.json").write_text(json.dumps(result))
    return run
