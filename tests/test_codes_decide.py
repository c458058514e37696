"""No decision is made by the wording of a text."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.outcome import ended_early
from testbed.documents import write_json
from testbed.errors import CannotRun, Untrusted
from testbed.judge import older
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.verify import Difference, differences
from testbed.message import Message
from testbed.runtime.interrupts import Interrupted
from testbed.study.cell import when_free
from testbed.study.record import finished
from tests.golden import sentences

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDERS = ("testbed", "tools", ".ci", "dashboards", "collectors", "topologies")
OLDER = "testbed/judge/older.py"
FOREIGN = {
    "dashboards/check.py": "the page of Grafana",
    "testbed/cli/junit.py": "pytest's reports",
    "testbed/errors.py": "Python's tempfile",
    "testbed/machine/inventory.py": "Ansible",
    "testbed/machine/kernel.py": "/proc/cpuinfo",
    "testbed/machine/provisioning.py": "Ansible, apt and pip",
    "testbed/runtime/packets.py": "tcpdump",
    "testbed/services/influx/retention.py": "InfluxDB",
}
"""Files that take apart what other programs say, or what names something, and whose words these are."""


def found_in(folder: str) -> dict[str, list[int]]:
    files = sorted((CHECKOUT / folder).rglob("*.py"))
    found = {str(file.relative_to(CHECKOUT)): sentences.matched(ast.parse(file.read_text())) for file in files}
    return {file: lines for file, lines in found.items() if lines}


def test_words_decide_only_where_they_are_another_program_s() -> None:
    found = {file: lines for folder in FOLDERS for file, lines in found_in(folder).items()}
    ours = [f"{file}:{line}" for file, lines in found.items() if file not in {*FOREIGN, OLDER} for line in lines]
    assert not ours, "decide by a code, or by a field: " + ", ".join(ours)
    assert set(FOREIGN) <= set(found), "no longer needed"


@pytest.mark.parametrize(
    "line",
    [
        "if error.message.endswith(BUSY): again()",
        "if 'is busy' in str(error): again()",
        "if str(error.said).startswith('stopped'): again()",
        "left = [r for r in runs if not (r.broken or '').startswith('stopped by ')]",
        "same = verdict.summary == other.summary",
        "kind = re.match('x', difference.reason)",
        "kind = PATTERN.fullmatch(f'{error}')",
        "kind = PATTERN.search(document['reason'])",
        "again = 'another run has the machine' in stderr",
        "more = [reason for reason in found if reason.text not in trust.reasons]",
        "def f(error):\n said = str(error)\n return said.startswith('x')",
        "BUSY = 'another run is on'\nagain = said.endswith(BUSY)",
        "match said:\n case 'stopped by SIGINT': again()",
    ],
)
def test_a_line_that_decides_by_words_is_found(line: str) -> None:
    assert sentences.matched(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "if error.code in BUSY_CODES: again()",
        "if verdict.broken or verdict.summary == '': again()",
        "if verdict.verdict == 'untrusted': again()",
        "print(f'{error}: {verdict.summary}')",
        "said = ' and '.join(trust.reasons)",
    ],
)
def test_codes_words_of_a_verdict_and_texts_that_are_told_are_not(line: str) -> None:
    assert not sentences.matched(ast.parse(line))


def test_no_page_and_no_program_in_go_decides_by_words() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.go", "*.j2"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    wrong = re.compile(
        r"""strings\.\w+\(.*\.Error\(\)|\{%[^%]*["'][A-Za-z]+ [a-z][a-z ]*["'] (not )?in |(==|!=) ["'][A-Za-z]+ [a-z]"""
    )
    files = [CHECKOUT / name for name in listed.stdout.splitlines() if not name.endswith("_test.go")]
    found = [f"{file}: {hit[0]}" for file in files if (hit := wrong.search(file.read_text()))]
    assert len(files) > 100
    assert not found


@pytest.fixture
def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text with a code says something else."""
    monkeypatch.setattr(Message, "__str__", lambda message: f"<{len(message.code)} {sorted(message.details)}>")


def verdict_of(error: Exception) -> dict[str, Any]:
    """The document of a run that broke down, as it is written."""
    return Verdict(
        scenario="s",
        run="r",
        verdict="fail",
        summary=f"The run broke down: {error}",
        checks=[],
        trust=Trust(trusted=True),
        duration_s=None,
        policy="p",
        broken=str(error),
        broken_code=getattr(error, "code", None),
    ).to_json()


@pytest.mark.usefixtures("reworded")
class TestReworded:
    def test_a_stopped_run_is_made_again(self, tmp_path: Path) -> None:
        stopped = Interrupted("run.stopped", "stopped by SIGINT")
        assert "stopped" not in str(stopped)
        for name, error in (("1", stopped), ("2", ValueError("stopped, not by anybody"))):
            (tmp_path / name).mkdir()
            write_json(tmp_path / name / "verdict.json", verdict_of(error))
        assert [run.name for run in finished(tmp_path)] == ["2"]

    @pytest.mark.parametrize(("code", "again"), [("run.machine-busy", True), ("run.needs-root", False)])
    def test_a_busy_machine_is_waited_for(self, monkeypatch: pytest.MonkeyPatch, code: str, again: bool) -> None:
        monkeypatch.setattr("testbed.runtime.lock.wait_for_others", lambda _: None)
        errors = [CannotRun(code, "another run has the machine")]

        def attempt() -> str:
            if errors:
                raise errors.pop()
            return "made"

        if again:
            assert when_free(attempt, print) == "made"
        else:
            with pytest.raises(CannotRun):
                when_free(attempt, print)

    def test_the_exit_code_is_that_of_the_error(self, tmp_path: Path) -> None:
        stopped = Interrupted("run.stopped", "stopped by SIGINT")
        assert [ended_early(error, "s r", tmp_path) for error in (stopped, Untrusted("a.b", "off"))] == [130, 3]

    def test_recorded_reasons_give_way_to_those_of_today(self) -> None:
        recorded = Trust(trusted=False, reasons=["was late", "was busy"], codes=["link.late", "machine.busy"])
        late = Message("link.late", "is late")
        assert recorded.also([late]).codes == ["machine.busy", "link.late"]

    def test_another_wording_is_no_other_result(self) -> None:
        recorded = {"checks": [{"reason": "in words of its time", "code": "a.b", "measured": 1}]}
        said = str(Message("a.b", "reworded"))
        (other,) = differences("", recorded, {"checks": [{"reason": said, "code": "a.b", "measured": 1}]})
        assert other.is_wording
        (other,) = differences(
            "", recorded, {"checks": [{"reason": "in words of its time", "code": "a.b", "measured": 2}]}
        )
        assert isinstance(other, Difference)
        assert not other.is_wording


@pytest.mark.parametrize(
    ("document", "stopped"),
    [
        ({"broken": "stopped by SIGTERM"}, True),
        ({"broken": "stopped by SIGTERM", "broken_code": "sim.ended"}, False),
        ({"broken": "the simulator ended with 1"}, False),
        ({"broken": "in other words", "broken_code": "run.stopped"}, True),
        ({}, False),
    ],
)
def test_results_that_are_older_than_codes_are_read_by_their_words(document: dict[str, Any], stopped: bool) -> None:
    without = verdict_of(ValueError(""))
    del without["broken"]
    assert Verdict.from_json({**without, **document}).stopped is stopped


def test_a_recorded_sentence_without_a_code_is_today_s_in_the_same_words() -> None:
    late, busy = Message("link.late", "late"), Message("machine.busy", "busy")
    assert older.with_codes([Message("", "late"), Message("", "b"), busy], [late]) == [late, Message("", "b"), busy]
