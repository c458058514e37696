"""What NKP-0024 shows, in virtual time: the speed table, and cases that need no kernel's TCP."""

import csv
from pathlib import Path

import pytest

from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.kinds import table as table_run
from testbed.study.kinds.table_file import load as load_table
from tests.ready import simulated as prepare


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of its own, and no database."""
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    return tmp_path


def statuses(name: str, *assignments: str) -> dict[str, str]:
    verdict = prepare(load(name, assignments), Progress(), seed=None, quick=False).execute()
    return {check.name: check.status for check in verdict.checks}


def test_the_rows_without_loss_are_as_published(own_place: Path) -> None:
    asked = table_run.TableRequest(
        repeat=1, rows="1,2,3,4,5,6", columns="previous,nkp24,delivery-rate,mptcp", engine="sim", runtime="process"
    )
    verdict, _ = table_run.run(load_table("speed-table"), asked)
    assert verdict.verdict == "pass", verdict.summary
    assert {check.name: check.status for check in verdict.checks} == {
        "each run's own checks": "pass",
        "new at least as fast as previous": "pass",
        "at most what the links carry": "pass",
        "at most what the links carry, MPTCP": "unsupported",
        "as published": "pass",
    }
    folder = own_place / "results" / "speed-table" / verdict.run
    with (folder / "table.csv").open() as file:
        states = {(row["row"], row["column"]): row["state"] for row in csv.DictReader(file)}
    assert {state for (_, column), state in states.items() if column == "mptcp"} == {"unsupported"}
    assert {state for (_, column), state in states.items() if column != "mptcp"} == {"pass"}


@pytest.mark.parametrize("name", ["startup", "startup-far", "extreme", "extreme-reversed"])
def test_the_time_constant_is_the_law_s_at_any_delay_and_from_any_start(name: str) -> None:
    assert set(statuses(name).values()) <= {"pass", "skipped"}


@pytest.mark.parametrize("name", ["link-break-as-published", "link-break-blackhole", "link-break-carrier"])
def test_windows_come_back_after_a_break(name: str) -> None:
    assert set(statuses(name).values()) <= {"pass", "skipped"}
    assert statuses(name, "send_window=16MiB")["equal again"] == "fail"
    assert statuses(name, "policy=previous")["equal again 4 s after it"] == "pass"


def test_a_break_set_up_as_the_other_cases_does_not_follow_the_law() -> None:
    alone = ("transport=udp", "links.first.queue=1x bdp", "links.second.queue=1x bdp")
    for changes, status in (((), "pass"), (alone, "fail")):
        found = statuses("link-break", *changes)
        assert found["share at the end of the pause"] == found["windows follow what is acknowledged"] == status
