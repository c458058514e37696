"""Going on with all claims: which runs are kept, and which are made again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from testbed import engines
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.status import Status
from testbed.runtime.progress import Progress
from testbed.study.claims.execute import Made, Runs
from testbed.study.claims.model import QuickRun, RunSpec

WORDS = ("good", "late", "error", "lost", "refused")
"""What became of a scenario: a trusted run, an untrusted one, one that broke down, none, unsupported."""


def write_verdict(run: Path, word: str) -> None:
    run.mkdir(parents=True)
    late = word == "late"
    document = Verdict(
        scenario="startup",
        run=run.name,
        verdict="untrusted" if late else "pass" if word == "good" else "fail",
        summary="s",
        checks=[],
        trust=Trust(trusted=not late),
        duration_s=1.0,
        policy="p",
        broken="the relay ended" if word == "error" else None,
    )
    (run / "verdict.json").write_text(json.dumps(document.to_json()))


def write_made(folder: Path, name: str, word: str, *, cell: str = "") -> None:
    """A run as it was left: of a scenario, or with ``cell`` of a table whose one cell this is."""
    home = folder / "runs" / name
    result = home / "startup" / "x"
    write_verdict(result, "good" if cell else word)
    if cell:
        write_verdict(result / "cells" / cell / "2026-1", word)
    states: dict[str, Any] = {"lost": "error", "refused": "unsupported"}
    state = states.get(word, "pass")
    made = Made(name, "./run.sh startup", state, folder=f"runs/{name}/startup/x" if state == "pass" else "")
    (home / "made.json").write_text(json.dumps(asdict(made)))


def runs_of(folder: Path, *names: str, engine: Any = "mininet") -> Runs:
    spec = RunSpec(run="startup", minutes=1, disk_mb=1, quick=QuickRun(minutes=1))
    return Runs(dict.fromkeys(names, spec), folder, engines.named(engine), False, Progress())


def test_going_on_makes_untrusted_and_broken_runs_again_and_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for word in WORDS:
        write_made(tmp_path, word, word)
    write_made(tmp_path, "table", "late", cell="row/column/1")
    write_made(tmp_path, "whole", "good", cell="row/column/1")
    runs = runs_of(tmp_path, *WORDS, "table", "whole", "new")
    begun: list[str] = []

    def make(runs: Runs, name: str) -> Made:
        begun.append(name)
        made = Made(name, "./run.sh startup", Status.UNSUPPORTED, "now")
        (runs.folder / "runs" / name).mkdir(parents=True, exist_ok=True)
        (runs.folder / "runs" / name / "made.json").write_text(json.dumps(asdict(made)))
        return made

    monkeypatch.setattr(Runs, "make", make)
    after_each: list[dict[str, Made]] = []
    found = runs.run(list(runs.specs), lambda so_far: after_each.append(dict(so_far)))
    assert begun == ["late", "error", "lost", "table", "new"]
    assert [name for name, made in found.items() if made.why == "now"] == begun
    assert "made again: late, error, lost, table\n" in capsys.readouterr().err
    # Until it is made again a run is what it was.
    assert all(set(so_far) >= {*WORDS, "table", "whole"} for so_far in after_each[-len(begun) :])


def test_in_virtual_time_an_untrusted_run_would_be_the_same_again(tmp_path: Path) -> None:
    write_made(tmp_path, "late", "late")
    write_made(tmp_path, "error", "error")
    runs = runs_of(tmp_path, "late", "error", engine="sim")
    again = [name for name in runs.specs if (made := runs.earlier(name)) and runs.is_retried(made)]
    assert again == ["error"]
