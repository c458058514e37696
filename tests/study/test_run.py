"""A study's cells: which are made, how often, in which order, and what is told of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed import engines
from testbed.engines.engine import Engine
from testbed.errors import BadInput, CannotRun
from testbed.judge.status import Status
from testbed.runtime import lock
from testbed.runtime.progress import Ended, Progress, SoFar, Step
from testbed.study.cell import Cell, when_free
from testbed.study.executors import Executor
from testbed.study.ledger import LEDGER, Ledger, begin
from testbed.study.record import RunRecord
from testbed.study.run import StudySpec, _Study, run_cells, run_study
from tests.raises import Containing, raises


@dataclass(frozen=True, eq=False)
class Word(Cell):
    """A cell that comes out as it is told to, one status for each attempt."""

    word: str
    to_come: list[Status]
    begun: list[str]
    left_out: bool = False

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        return {"name": self.word}

    @property
    def engine(self) -> Engine:
        return engines.named("sim") if self.word.startswith("virtual") else engines.named("mininet")

    @property
    def unsupported(self) -> str:  # type: ignore[override]
        return "left out" if self.left_out else ""

    def run(self, study: Path, progress: Progress) -> RunRecord:
        self.begun.append(self.word)
        return RunRecord(run=f"run-{len(self.begun)}", cell=self.id, status=self.to_come.pop(0))


PASS, LATE, ERROR = Status.PASS, Status.UNTRUSTED, Status.ERROR


def words(**to_come: list[Status]) -> tuple[list[Word], list[str]]:
    begun: list[str] = []
    return [Word(name, come, begun) for name, come in to_come.items()], begun


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "width", lambda engine: 2 if engine.deterministic() else 1)
    ticks = itertools.count()
    monkeypatch.setattr("testbed.study.pool.time.monotonic", lambda: float(next(ticks)))


def test_an_untrusted_cell_is_run_three_times_and_in_virtual_time_once(tmp_path: Path) -> None:
    cells, begun = words(a=[LATE, LATE, LATE, PASS], b=[LATE, PASS], virtual=[LATE, PASS])
    found = run_cells(cells, tmp_path, Progress())
    assert [(name, one.status, one.attempts) for name, one in found.items()] == [
        ("a", LATE, 3),
        ("b", PASS, 2),
        ("virtual", LATE, 1),
    ]
    assert begun == ["virtual", "a", "a", "a", "b", "b"]  # virtual time first
    assert [record.cell for record in Ledger(tmp_path / LEDGER).read()] == begun


def test_what_is_kept_run_again_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"kept": PASS, "broken": ERROR, "late": LATE}
    Ledger(tmp_path / LEDGER).append(RunRecord(run="1", cell=cell, status=status) for cell, status in before.items())
    cells, begun = words(kept=[], broken=[PASS], late=[PASS], new=[PASS])
    cells.insert(3, Word("out", [], begun, left_out=True))
    each: list[tuple[str, Status]] = []
    tell = lambda result: each.append((result.cell, result.status))  # noqa: E731
    found = run_cells(cells, tmp_path, Progress(), describe=lambda result: result.status, each=tell)
    assert begun == ["broken", "late", "new"]
    assert list(found) == ["kept", "broken", "late", "out", "new"]
    assert (found["out"].status, found["out"].record.reason) == (Status.UNSUPPORTED, "left out")
    # Until it is run again a cell is what it was.
    assert each[:4] == [("kept", PASS), ("broken", ERROR), ("late", LATE), ("out", Status.UNSUPPORTED)]
    assert each[4:] == [("broken", PASS), ("late", PASS), ("new", PASS)]
    told = capsys.readouterr().err
    assert "1 of 5 runs are finished already, and kept" in told
    assert "2 of 5 can't be trusted or broke down; made again: broken, late\n" in told
    assert "[1/5] kept: pass (kept)" in told
    assert "[5/5] new: pass\n" in told


def test_a_line_that_a_stop_has_cut_off_is_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / LEDGER)
    first, second = (RunRecord(run=name, cell=name, status=PASS) for name in ("one", "two"))
    ledger.append([first])
    with ledger.path.open("a") as file:
        file.write('{"run": "cut')  # the machine went down in the middle of a line
    ledger.append([second])
    assert list(ledger.read()) == [first, second]


def test_the_time_left_is_by_what_the_last_cells_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells, _ = words(**{f"c{n}": [PASS] for n in range(4)})
    run_cells(cells, tmp_path, Progress(), describe=lambda result: result.status)
    # Each was expected to take 8 s and took 1 s.
    left = [line.rpartition("about")[2].strip() for line in capsys.readouterr().err.splitlines() if "[" in line]
    assert left[:2] == ["3 s left", "2 s left"]


def test_another_run_on_the_machine_is_waited_for_and_any_other_reason_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[str] = []
    monkeypatch.setattr(lock, "wait_for_others", lambda told: told("startup 2026"))
    other = CannotRun("run.machine-busy", "startup 2026 is running")
    words: list[str | CannotRun] = [other, "made", CannotRun("run.needs-root", "no root")]
    said = iter(words)

    def attempt() -> str:
        word = next(said)
        if isinstance(word, CannotRun):
            raise word
        return word

    assert when_free(attempt, waited.append) == "made"
    assert waited == ["startup 2026"]
    with raises(CannotRun, "run.needs-root"):
        when_free(attempt, waited.append)


def test_a_folder_is_gone_on_with_only_for_the_same_question(tmp_path: Path) -> None:
    folder = begin(tmp_path / "name", "table", {"rows": ("a", "b"), "quick": False}, whole=True)
    assert (tmp_path / "name" / "latest").resolve() == folder
    assert begin(tmp_path / "name", "table", {"rows": ["a", "b"], "quick": False}, "latest") == folder
    with raises(BadInput, "resume.other-options", key="quick", before="false", value="true"):
        begin(tmp_path / "name", "table", {"rows": ["a", "b"], "quick": True}, folder.name)
    with raises(BadInput, "resume.no-such-result", folder=Containing("no-such"), base="name", document="study.json"):
        begin(tmp_path / "name", "table", {}, "no-such")
    assert len(list((tmp_path / "name").iterdir())) == 2, "what is refused makes no folder"


def test_who_stops_it_is_told_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells, _ = words(a=[PASS], b=[])  # there is nothing for the second to come out as
    with pytest.raises(IndexError):
        run_study(StudySpec("table", "words", cells, {}), tmp_path / "x", Progress())
    said = capsys.readouterr().err
    assert "stopped; what is finished is kept. To go on, add --resume x to the same command\n" in said


@pytest.mark.parametrize("document", ["matrix.json", "asked.json", "all.json", "repeatable.json"])
def test_a_study_of_an_earlier_version_is_not_resumed_and_says_so(tmp_path: Path, document: str) -> None:
    (tmp_path / "name" / "1").mkdir(parents=True)
    (tmp_path / "name" / "1" / document).write_text("{}")
    with raises(BadInput, "resume.older-version", document=document):
        begin(tmp_path / "name", "table", {}, "1")


def test_the_time_left_is_unknown_until_a_run_has_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[SoFar] = []

    class Watched(Progress):
        def run_ended(self, ended: Ended, so_far: SoFar) -> None:
            seen.append(so_far)
            super().run_ended(ended, so_far)

        def runs_on(self, step: Step, on: Mapping[str, float], where: str, so_far: SoFar) -> None:
            seen.append(so_far)

    Ledger(tmp_path / LEDGER).append([RunRecord(run="1", cell="kept", status=PASS)])
    cells, _ = words(kept=[], a=[PASS], b=[PASS])
    run_cells(cells, tmp_path, Watched(), describe=lambda result: result.status)
    lefts = [(so_far.ended, so_far.left_s is None) for so_far in seen]
    assert lefts[:2] == [(1, True), (1, True)], "8 s were told of runs that take minutes"
    assert not any(unknown for ended, unknown in lefts if ended > 1)
    assert seen[-1].left_s == 0
    assert SoFar(0, 2, None).left() == "  time left unknown"
    assert "kept: pass (kept)\n" in capsys.readouterr().err


def test_runs_that_are_on_for_longer_than_those_that_ended_count(tmp_path: Path) -> None:
    cells, _ = words(a=[PASS], b=[PASS], c=[PASS])
    study = _Study(cells, tmp_path, Ledger(tmp_path / LEDGER), Slow(), lambda _: "", lambda _: None)
    study.expected_s, study.left_s = dict.fromkeys("abc", 8.0), 16.0
    study.paces = [(2.0, 8.0)]
    assert study._so_far().left_s == pytest.approx(16 * (2 + 90) / (8 + 8))


class Slow(Executor):
    """Has a run on for much longer than the one that ended."""

    def running(self) -> dict[str, float]:
        return {"b": 90.0, "c": 1.0}
