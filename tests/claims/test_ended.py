"""What became of a run that left no verdict, by the error that kept it from being made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed import engines
from testbed.documents import read_json
from testbed.engines.engine import Engine
from testbed.errors import CannotRun
from testbed.exit_codes import Exit
from testbed.runtime import lock
from testbed.runtime.interrupts import Interrupted
from testbed.runtime.progress import Progress
from testbed.study.cell import Cell, Job
from testbed.study.kinds import claims
from testbed.study.kinds.claims import Parts, Request
from testbed.study.kinds.claims_file import Claims, QuickRun, RunSpec
from testbed.study.record import RunRecord
from testbed.study.run import Begun, StudySpec, run_cells
from tests.golden import messages
from tests.raises import raises
from tests.sabotage.entry import Entry
from tests.sabotage.lab import lab
from tests.sabotage.question import TABLE

ERRORS = [
    ("sim", "engine.refuses", "skipped"),
    ("vkernel", "run.none-supported", "skipped"),
    ("mininet", "run.none-supported", "unsupported"),
    ("sim", "setup.machine-lacks", "unsupported"),
    ("vkernel", "vkernel.none", "unsupported"),
    ("sim", "sim.ended", "error"),
    ("sim", "run.made-elsewhere", "error"),
    ("mininet", "sim.ended", "error"),
    ("sim", "", "error"),
    ("mininet", "", "error"),
]
"""Engine, code of the error ("": a full disk, which has none), and what becomes of the run."""


def error_of(code: str) -> Exception:
    return CannotRun(code, "why") if code else OSError(28, "No space left on device")


def parts_of(folder: Path, engine: str, run: str = "startup") -> Parts:
    spec = RunSpec(run=run, minutes=1, disk_mb=1, quick=QuickRun(minutes=1))
    requested = Claims.model_construct(sources={}, setups={}, runs={"one": spec}, claims={})
    return Parts(requested, Request(engine), folder, Progress())


@dataclass(frozen=True, eq=False)
class Breaks(Cell):
    error: Exception
    engine_name: str

    @property
    def at(self) -> Mapping[str, str]:  # type: ignore[override]
        return {}

    @property
    def engine(self) -> Engine:
        return engines.named(self.engine_name)

    def run(self, study: Path, progress: Progress) -> RunRecord:
        raise self.error


@pytest.mark.parametrize(("engine", "code", "state"), ERRORS)
def test_only_what_is_refused_or_lacking_is_no_run_that_broke_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, code: str, state: str
) -> None:
    def refuse(*_: object) -> Begun:
        raise error_of(code)

    monkeypatch.setattr(Parts, "_begin", refuse)
    parts = parts_of(tmp_path, engine)
    assert parts.prepare() == []
    made = parts.made["one"]
    assert (made.state, made.folder) == (state, "")
    assert made.why in ("why", "OSError: [Errno 28] No space left on device")


@pytest.mark.parametrize(("engine", "code", "state"), ERRORS)
def test_and_so_it_is_where_that_shows_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, code: str, state: str
) -> None:
    monkeypatch.setattr("testbed.engines.engine.Engine.width", lambda _engine: 1)
    spec = StudySpec("run", "one", [Breaks(error_of(code), engine)], {})
    begun = Begun(spec, tmp_path / "runs" / "one", lambda _results: pytest.fail("there is no verdict"))
    monkeypatch.setattr(Parts, "_begin", lambda *_: begun)
    parts = parts_of(tmp_path, engine)
    run_cells(parts.prepare(), tmp_path, Progress(), describe=parts.describe, each=parts.keep)
    assert (parts.made["one"].state, parts.made["one"].folder) == (state, "")


def test_what_stops_the_user_or_another_run_stops_all(tmp_path: Path) -> None:
    for error in (Interrupted("run.stopped", "stopped"), CannotRun(lock.BUSY_CODES[0], "another run")):
        with raises(type(error), error.code):
            Job(Breaks(error, "mininet").in_part("one", Path("runs/one")), tmp_path).run(Progress())


def test_the_codes_that_are_told_apart_are_errors_that_there_are() -> None:
    told = {*claims.NOT_CARRIED, *claims.LACKING, *lock.BUSY_CODES}
    assert told <= {entry.code for entry in messages.read(messages.sources())[0]}


def test_a_run_that_an_engine_refuses_is_not_carried(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "sim", "dumbbell")
    assert parts.prepare() == []
    made = parts.made["one"]
    assert (made.state, made.exit_code) == ("skipped", Exit.CANNOT_RUN)
    assert "cross_traffic.1: iperf3" in made.why


def test_a_run_without_room_for_its_results_broke_down(tmp_path: Path) -> None:
    home = tmp_path / "runs" / "one"
    home.mkdir(parents=True)
    (home / "startup").symlink_to("/sys/kernel")  # where nobody may make a folder
    parts = parts_of(tmp_path, "sim")
    run_cells(parts.prepare(), tmp_path, Progress(), describe=parts.describe, each=parts.keep)
    assert (parts.made["one"].state, parts.made["one"].folder) == ("error", "")


def killed(folder: Path) -> None:
    """The simulator, in the second run of the scenario; all runs of the table are well."""
    if read_json(folder / "plan.json")["scenario"] != TABLE:
        raise CannotRun("sim.ended", "the simulator ended with -9")


def test_all_can_not_pass_without_the_claims_of_a_run_that_was_killed(tmp_path: Path) -> None:
    well = Entry("well", "control", "nothing")
    with lab(tmp_path / "well", well) as made:
        assert made.ask("all", "--engine", "sim").code == Exit.PASS
    with lab(tmp_path / "killed", Entry("killed", "trust", "a kill", data=killed, only_seed=2)) as made:
        said = made.ask("all", "--engine", "sim")
        found = read_json(made.latest("all") / "claims.json")
    assert said.code == Exit.FAIL, said.text
    assert found["runs"]["scenario"]["state"] == "error"
    assert {claim["verdict"] for claim in found["claims"] if claim["run"] == "scenario"} == {"error"}
    assert {claim["verdict"] for claim in found["claims"] if claim["run"] == "table"} == {"pass"}
