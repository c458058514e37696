"""Resuming all claims: which runs are kept, and which are made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed import engines
from testbed.engines.engine import Engine
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.status import Status
from testbed.runtime.progress import Progress
from testbed.study.cell import Cell
from testbed.study.kinds.claims import Parts, Request
from testbed.study.kinds.claims_file import Claims, QuickRun, RunSpec
from testbed.study.ledger import LEDGER, Ledger
from testbed.study.record import RunRecord
from testbed.study.run import Begun, StudySpec, run_cells

STATUSES = {"good": Status.PASS, "late": Status.UNTRUSTED, "broken": Status.ERROR, "refused": Status.UNSUPPORTED}
"""What became of a scenario's run."""


@dataclass(frozen=True, eq=False)
class Told(Cell):
    """Of which it is told when it is run."""

    engine_name: str
    told: list[str]
    at: Mapping[str, str]

    @property
    def engine(self) -> Engine:
        return engines.named(self.engine_name)

    def run(self, study: Path, progress: Progress) -> RunRecord:
        self.told.append(self.label)
        return RunRecord(run="2", cell=self.id, status=Status.UNSUPPORTED, reason="now", folder="2")


VERDICT = Verdict(
    scenario="startup",
    run="1",
    verdict=Status.PASS,
    summary="s",
    checks=[],
    trust=Trust(trusted=True),
    duration_s=1.0,
    policy="p",
)


def write_verdict(run: Path) -> None:
    run.mkdir(parents=True)
    (run / "verdict.json").write_text(json.dumps(VERDICT.to_json()))


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """All that were stopped: a run in each status, one that left nothing, a table with an untrusted cell beside a good
    one, a whole one, and a run that was not begun."""
    monkeypatch.setattr("testbed.engines.engine.Engine.width", lambda _engine: 1)
    ledger = Ledger(tmp_path / LEDGER)
    for name, status in STATUSES.items():
        write_verdict(tmp_path / "runs" / name / "1")
        ledger.append([RunRecord(run="1", cell=name, folder=f"runs/{name}/1", status=status)])
    ledger.append([RunRecord(cell="lost", status=Status.ERROR, reason="a full disk")])
    for name, second in (("table", Status.UNTRUSTED), ("whole", Status.FAIL)):
        write_verdict(tmp_path / "runs" / name)
        for row, status in enumerate((Status.PASS, second), start=1):
            ledger.append([RunRecord(run="1", cell=f"{name}/{row}", folder=f"runs/{name}/{row}/1", status=status)])

    def parts(engine: str) -> tuple[Parts, list[str]]:
        told: list[str] = []

        def begin(_self: Parts, _spec: RunSpec, home: Path) -> Begun:
            kind, name = "table" if home.name in ("table", "whole") else "run", home.name
            rows = [{"row": "1"}, {"row": "2"}] if kind == "table" else [{}]
            cells: list[Cell] = [Told(engine, told, at) for at in rows]
            return Begun(StudySpec(kind, name, cells, {}), home, lambda _results: VERDICT)

        monkeypatch.setattr(Parts, "_begin", begin)
        spec = RunSpec(run="startup", minutes=1, disk_mb=1, quick=QuickRun(minutes=1))
        names = [*STATUSES, "lost", "table", "whole", "new"]
        requested = Claims.model_construct(sources={}, setups={}, runs=dict.fromkeys(names, spec), claims={})
        return Parts(requested, Request(engine), tmp_path, Progress()), told

    return parts


def test_resuming_makes_untrusted_and_broken_runs_again_and_names_them(
    begun: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, told = begun("mininet")
    run_cells(parts.prepare(), tmp_path, parts.progress, describe=parts.describe, each=parts.keep)
    assert told == ["late", "broken", "lost", "table 2", "new"]
    assert "made again: late, broken, lost, table 2\n" in capsys.readouterr().err
    # A table is judged again with what is new.
    assert parts.made["table"].state == "pass"
    assert {name for name, made in parts.made.items() if made.why == "now"} == {"late", "broken", "lost", "new"}
    assert parts.made["refused"].state == "unsupported"


def test_in_virtual_time_an_untrusted_run_would_be_the_same_again(begun: Any, tmp_path: Path) -> None:
    parts, told = begun("sim")
    run_cells(parts.prepare(), tmp_path, parts.progress, describe=parts.describe, each=parts.keep)
    assert told == ["broken", "lost", "new"]
