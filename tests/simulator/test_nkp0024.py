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


def test_the_rows_without_loss_are_as_published_or_as_upstream_run_again(own_place: Path) -> None:
    asked = table_run.TableRequest(
        repeat=1, rows="1,2,3,4,5,6", columns="previous,nkp24,delivery-rate,mptcp", engine="sim", runtime="process"
    )
    verdict, _ = table_run.run(load_table("speed-table"), asked)
    assert verdict.verdict == "pass", verdict.summary
    assert {check.name: check.status for check in verdict.checks} == {
        "each run's own checks": "pass",
        "new at least as fast as previous": "pass",
        "new 1.4 times previous where delays differ": "pass",
        "at most what the links carry": "pass",
        "as published or as upstream run again": "pass",
        "as published or as upstream run again, with loss": "skipped",
    }
    folder = own_place / "results" / "speed-table" / verdict.run
    with (folder / "table.csv").open() as file:
        states = {(row["row"], row["column"]): row["state"] for row in csv.DictReader(file)}
    assert {state for (_, column), state in states.items() if column == "mptcp"} == {"unsupported"}
    assert {state for (_, column), state in states.items() if column != "mptcp"} == {"pass"}


def test_ten_times_the_delay_makes_no_difference_to_the_law() -> None:
    assert set(statuses("startup-far").values()) <= {"pass", "skipped"}


def test_a_break_that_loses_packets_is_not_over_in_four_seconds_for_nkp24() -> None:
    assert statuses("link-break-blackhole")["equal again 4 s after it"] == "fail"
    assert statuses("link-break-blackhole", "policy=previous")["equal again 4 s after it"] == "pass"


def test_a_break_set_up_as_the_other_cases_does_not_follow_the_law() -> None:
    asked = ("share at the end of the pause", "equal again 4 s after it")
    as_published, with_long_queues = statuses("link-break-as-published"), statuses("link-break")
    assert [as_published[name] for name in asked] == ["fail", "fail"]
    assert [with_long_queues[name] for name in asked] == ["pass", "pass"]
    alone = ("transport=udp", "links.first.queue=1x bdp", "links.second.queue=1x bdp")
    assert statuses("link-break", *alone) == as_published, "nothing else differs"
