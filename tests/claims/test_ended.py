"""What became of a run that left no verdict, by the code of the error that ended its command."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed import engines
from testbed.documents import read_json
from testbed.errors import CannotRun
from testbed.exit_codes import Exit
from testbed.runtime import lock
from testbed.runtime.progress import Progress
from testbed.study.claims import execute
from testbed.study.claims.execute import Ended, Runs
from testbed.study.claims.model import QuickRun, RunSpec
from tests.golden import messages
from tests.sabotage.entry import Entry
from tests.sabotage.lab import lab
from tests.sabotage.question import TABLE


def runs_of(folder: Path, engine: str, run: str = "startup") -> Runs:
    spec = RunSpec(run=run, minutes=1, disk_mb=1, quick=QuickRun(minutes=1))
    return Runs({"one": spec}, folder, engines.named(engine), False, Progress())


@pytest.mark.parametrize(
    ("engine", "error", "state"),
    [
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
    ],
)
def test_only_what_is_refused_or_lacking_is_no_run_that_broke_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, error: str, state: str
) -> None:
    monkeypatch.setattr(Runs, "_run", lambda *_: Ended(Exit.CANNOT_RUN, "why", error))
    made = runs_of(tmp_path, engine).make("one")
    assert (made.state, made.why, made.exit_code) == (state, "why", 4)


def test_the_codes_that_are_told_apart_are_errors_that_there_are() -> None:
    told = {*execute.NOT_CARRIED, *execute.LACKING, *lock.BUSY_CODES}
    assert told <= {entry.code for entry in messages.read(messages.sources())[0]}


def test_a_run_that_an_engine_refuses_is_not_carried(tmp_path: Path) -> None:
    made = runs_of(tmp_path, "sim", "dumbbell").make("one")
    assert (made.state, made.exit_code) == ("skipped", Exit.CANNOT_RUN)
    assert "cross_traffic.1: iperf3" in made.why
    assert not (tmp_path / "runs" / "one" / "error-code").exists()


def test_a_run_without_room_for_its_results_broke_down(tmp_path: Path) -> None:
    home = tmp_path / "runs" / "one"
    home.mkdir(parents=True)
    (home / "startup").symlink_to("/sys/kernel")  # where nobody may make a folder
    made = runs_of(tmp_path, "sim").make("one")
    assert (made.state, made.folder) == ("error", "")


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
        claims = read_json(made.latest("all") / "claims.json")
    assert said.code == Exit.FAIL, said.text
    assert claims["runs"]["scenario"]["state"] == "error"
    assert {claim["verdict"] for claim in claims["claims"] if claim["run"] == "scenario"} == {"error"}
    assert {claim["verdict"] for claim in claims["claims"] if claim["run"] == "table"} == {"pass"}
