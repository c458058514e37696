"""A study's cells: which are made, how often, in which order, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testbed import engines
from testbed.engines import Engine
from testbed.errors import BadInput, CannotRun
from testbed.runtime import lock
from testbed.runtime.progress import Progress
from testbed.study import executor
from testbed.study.attempts import when_free
from testbed.study.executor import Study
from testbed.study.folder import begin, kept_when_stopped
from tests.raises import Containing, raises


@dataclass
class Words(Study[str, str]):
    """Cells that come out as they are told to, one word for each attempt."""

    to_come: Mapping[str, list[str]]
    progress: Progress = field(default_factory=Progress)
    before: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    begun: list[str] = field(default_factory=list)

    def make(self, key: str) -> str:
        self.begun.append(key)
        return self.to_come[key].pop(0)

    def earlier(self, key: str) -> str | None:
        return self.before.get(key)

    def wanted_again(self, key: str, found: str) -> bool:
        return found != "good"

    def known(self, key: str) -> str | None:
        return "left out" if key in self.left_out else None

    def untrusted(self, key: str, found: str) -> bool:
        return found == "late"

    def engine_of(self, key: str) -> Engine:
        return engines.named("sim") if key.startswith("virtual") else engines.named("mininet")

    def told(self, key: str, found: str) -> str:
        return found


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "width", lambda engine: 2 if engine.exact() else 1)
    monkeypatch.setattr(executor, "side_by_side", lambda keys, do, done, **_: [done(key, do(key), 1.0) for key in keys])


def test_an_untrusted_cell_is_made_three_times_and_in_virtual_time_once() -> None:
    study = Words({"a": ["late", "late", "late", "good"], "b": ["late", "good"], "virtual": ["late", "good"]})
    found = study.run(["a", "b", "virtual"])
    assert list(found.items()) == [("a", "late"), ("b", "good"), ("virtual", "late")]
    assert study.begun == ["virtual", "a", "a", "a", "b", "b"]  # virtual time first


def test_what_is_kept_made_again_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    before = {"kept": "good", "broken": "error", "late": "late"}
    study = Words({"broken": ["good"], "late": ["good"], "new": ["good"]}, before=before, left_out=["out"])
    after_each: list[dict[str, str]] = []
    found = study.run(["kept", "broken", "late", "out", "new"], lambda so_far: after_each.append(dict(so_far)))
    assert study.begun == ["broken", "late", "new"]
    assert list(found) == ["kept", "broken", "late", "out", "new"]
    assert found["out"] == "left out"
    # Until it is made again a cell is what it was.
    assert after_each[0] == {"kept": "good", "broken": "error", "late": "late", "out": "left out"}
    assert after_each[-1] == found
    told = capsys.readouterr().err
    assert "1 of 5 runs are finished already, and kept" in told
    assert "2 of 5 can't be trusted or broke down; made again: broken, late\n" in told
    assert "[1/5] kept: good (kept)" in told
    assert "[5/5] new: good\n" in told


def test_the_time_left_is_by_what_the_last_cells_took(capsys: pytest.CaptureFixture[str]) -> None:
    study = Words({f"c{n}": ["good"] for n in range(4)})
    study.run(list(study.to_come))
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
    folder = begin(tmp_path / "name", "asked.json", {"rows": ("a", "b"), "quick": False}, whole=True)
    assert (tmp_path / "name" / "latest").resolve() == folder
    assert begin(tmp_path / "name", "asked.json", {"rows": ["a", "b"], "quick": False}, "latest") == folder
    with raises(BadInput, "resume.other-options", key="quick", before="false", value="true"):
        begin(tmp_path / "name", "asked.json", {"rows": ["a", "b"], "quick": True}, folder.name)
    with raises(BadInput, "resume.no-such-result", folder=Containing("no-such"), base="name", document="asked.json"):
        begin(tmp_path / "name", "asked.json", {}, "no-such")
    assert len(list((tmp_path / "name").iterdir())) == 2, "what is refused makes no folder"


def test_who_stops_it_is_told_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), kept_when_stopped(Progress(), "Add --resume x."):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "stopped; what is finished is kept. Add --resume x.\n"
