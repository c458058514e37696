"""``--json`` of what makes many runs: its last event is the verdict, or the error that kept it from one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.app import main
from testbed.errors import CannotRun
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.study.kinds import sweep as sweep_run
from testbed.study.kinds import table as table_run

FAILED = Verdict(
    scenario="speed-table",
    run="run-1",
    verdict="fail",
    summary="0 of 1 checks hold.",
    checks=[CheckResult(name="fast", judge="ratio", status="fail", reason="It is slow.")],
    trust=Trust(trusted=True),
    duration_s=None,
    policy="",
)


def typed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["run.sh", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("name", ["speed-table", "converge-rate"])
def test_the_verdict_is_the_last_event(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: Any) -> Any:
        arguments[-1].say("on it")
        return FAILED, Path("results")

    monkeypatch.setattr(table_run, "run", run)
    monkeypatch.setattr(sweep_run, "run", run)
    assert typed(monkeypatch, name, "--json") == 1
    told = capsys.readouterr()
    said, verdict = (json.loads(line) for line in told.out.splitlines())
    assert said == {"event": "said", "text": "on it"}
    assert verdict["event"] == "verdict"
    assert (verdict["verdict"], verdict["exit_code"]) == ("fail", 1)
    assert verdict["checks"] == [{"name": "fast", "status": "fail", "code": "", "reason": "It is slow."}]
    assert told.err.splitlines()[-1] == "FAIL speed-table run-1"


def test_an_error_is_the_last_event(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*_: Any) -> Any:
        raise CannotRun("vkernel.none", "there is no kernel", "Get one.")

    monkeypatch.setattr(table_run, "run", run)
    assert typed(monkeypatch, "speed-table", "--json") == 4
    (told,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    error = {"event": "error", "code": "vkernel.none", "message": "there is no kernel"}
    assert told == error | {"hint": "Get one.", "exit_code": 4}


@pytest.mark.parametrize("verb", ["startup", "speed-table", "converge-rate", "all"])
def test_of_nothing_there_are_no_events(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, verb, "--json", "--dry-run") == 2
    assert "--json: reports on runs that are made" in capsys.readouterr().err
