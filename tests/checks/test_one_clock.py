"""Runs on one clock: their points since the start, the law ahead of them, and no more runs than are kept."""

from pathlib import Path
from typing import Any

import pytest
from line_protocol_parser import parse_line

from testbed.judge.checks.derived import law_ahead
from testbed.judge.checks.law import FollowsLaw
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.status import Status
from testbed.series import FromFile, influxql, named
from testbed.series.one_clock import RETENTION as ONE_CLOCK
from testbed.series.one_clock import ZERO_NS, on_one_clock, shifted
from testbed.series.tables import dashboards_of
from testbed.services.influx import run_list
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import DATABASE
from tests.checks.generate import START_NS, make_plan, telemetry


@pytest.fixture(scope="module")
def database(influx):
    influx.execute(f'CREATE RETENTION POLICY "{ONE_CLOCK}" ON "{DATABASE}" DURATION INF REPLICATION 1')
    return influx


def entered(influx: Client, plan: Any, tmp_path: Path, at_ns: int) -> None:
    run_list.begin(influx, plan, tmp_path / plan["scenario"] / plan["run"], at_ns)


def test_every_sample_is_there_at_its_time_since_the_start(database, tmp_path):
    plan = make_plan(transfer_mib=2) | {"run": "here"}
    lines = list(telemetry(plan))
    database.write(shifted(lines, START_NS), ONE_CLOCK)
    path = tmp_path / "telemetry.lp"
    path.write_text("\n".join(lines) + "\n")
    original = FromFile(path).read(named("window_share"))
    found = database.query(influxql.select(on_one_clock(named("window_share")), ["run = 'here'"]))
    assert len(found) == len(original) == 2
    for part, (connection, samples) in zip(found, original.items(), strict=True):
        assert part.tags == {"connection": connection}
        assert part.columns["window_share"] == list(samples.values)
        assert part.columns["time"] == list(samples.t_ns - START_NS + ZERO_NS)


def stored(database: Client, plan: Any, folder: Path, at_ns: int) -> None:
    """A run as it is when it was judged: in the list, with its points as they were sampled and on the common clock."""
    entered(database, plan, folder, at_ns)
    lines = list(telemetry(plan))
    database.write(lines)
    database.write(shifted(lines, START_NS), ONE_CLOCK)


def on_the_clock(database: Client, run: str) -> bool:
    return bool(database.query(influxql.select_run(on_one_clock(named("sent")), run)))


def test_a_run_stays_on_the_clock_until_the_list_forgets_it(database, tmp_path):
    for i in range(70):
        stored(
            database, make_plan(transfer_mib=1) | {"run": f"of-many-{i}", "scenario": "many"}, tmp_path, START_NS + i
        )
    run_list.tidy(database, (), START_NS + 70)
    assert all(on_the_clock(database, f"of-many-{i}") for i in range(70))
    # After 90 days InfluxDB has neither its entry nor its points as they were sampled.
    plan = make_plan(transfer_mib=1) | {"run": "forgotten"}
    database.write(shifted(telemetry(plan), START_NS), ONE_CLOCK)
    run_list.tidy(database, (), START_NS + 70)
    assert not on_the_clock(database, "forgotten")
    assert on_the_clock(database, "of-many-0")


def test_a_run_that_is_not_yet_listed_keeps_its_points(database, tmp_path):
    """A run in virtual time is listed when it is judged."""
    plan = make_plan(transfer_mib=1) | {"run": "not-yet"}
    database.write(telemetry(plan))
    run_list.tidy(database, (), START_NS)
    assert database.query(influxql.select_run(named("sent"), "not-yet"))


def states(database: Client, scenario: str) -> dict[str, str]:
    found = database.query(f"SELECT run_id, state FROM runs WHERE scenario = '{scenario}'")
    return {r: s for part in found for r, s in zip(part.columns["run_id"], part.columns["state"], strict=True)}


def test_a_killed_run_ends_as_error_and_one_that_is_on_does_not(database, tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "of-another-machine"
    for name, folder in (("killed", here), ("alive", here), ("remote", elsewhere), ("remote-killed", elsewhere)):
        plan = make_plan(transfer_mib=1) | {"run": name, "scenario": "killing"}
        long_ago_s = 3600 if name == "remote-killed" else 0
        entered(database, plan, folder, START_NS - long_ago_s * 10**9)
        if folder == here:
            (folder / "killing" / name).mkdir(parents=True)
    assert run_list.tidy(database, ("alive",), START_NS + 10**9) == ["killed", "remote-killed"]
    assert states(database, "killing") == {"killed": "error", "alive": "on", "remote": "on", "remote-killed": "error"}
    assert run_list.tidy(database, ("alive",), START_NS + 10**9) == []


def fields(lines: list[str], measurement: str) -> list[tuple[str, float, dict[str, Any]]]:
    points = [parse_line(line) for line in lines]
    return [
        (p["tags"]["connection"], (p["time"] - ZERO_NS) / 1e9, p["fields"])
        for p in points
        if p["measurement"] == measurement
    ]


def test_the_law_is_known_before_the_run_with_the_tolerance_of_its_check():
    plan = make_plan()
    law = fields(law_ahead(plan), "law_ahead")
    (check,) = [c for c in parameters_in_plan(plan["checks"]) if isinstance(c, FollowsLaw)]
    assert {connection for connection, _, _ in law} == {"1", "2"}
    at_s = {(c, round(t, 1)): f for c, t, f in law}
    assert {t for _, t in at_s} == {round(k / 10, 1) for k in range(10 * int(check.from_s), 10 * int(check.to_s))}
    assert at_s["1", check.to_s - 0.1]["expected"] == pytest.approx(1024 / 1152, abs=0.003)
    for f in at_s.values():
        if 0.1 < f["expected"] < 0.9:
            assert f["upper"] - f["lower"] == pytest.approx(2 * check.tolerance)


def test_a_policy_that_the_law_is_not_about_has_none():
    plan = make_plan("previous")
    plan["checks"] = [{**check, "policy": ["nkp24"]} for check in plan["checks"] if check["judge"] == "follows_law"]
    assert fields(law_ahead(plan), "law_ahead") == []


def test_two_checks_after_each_other_are_one_law():
    plan = make_plan()
    first = plan["checks"][0] | {"to_s": 5.0}
    second = first | {"name": "later", "from_s": 10.0, "to_s": 20.0, "tolerance": 0.1}
    plan["checks"] = [second, first]
    law = [(t, f) for c, t, f in fields(law_ahead(plan), "law_ahead") if c == "2"]
    widths = {round(t, 1): f["upper"] - f["lower"] for t, f in law if "lower" in f and f["expected"] > 0.2}
    assert widths[1.0] == pytest.approx(0.06)
    assert 7.0 not in widths
    assert len({round(t, 3) for t, _ in law}) == len(law)


def test_the_ratio_asked_is_a_band():
    plan = make_plan()
    (check,) = [c for c in plan["checks"] if c["judge"] == "ratio" and c["series"] == "window_packets"]
    found = fields(law_ahead(plan), "ratio_ahead")
    assert found
    assert all((f["lower"], f["upper"]) == (check["min"], check["max"]) for _, _, f in found)


def test_a_line_that_is_no_point_is_left_out():
    assert list(shifted(["", f'event,run=r text="a b" {START_NS + 5}'], START_NS)) == [
        f'event,run=r text="a b" {ZERO_NS + 5}'
    ]


def test_a_run_is_found_from_its_start_and_its_end_changes_the_same_entry(database, tmp_path, monkeypatch):
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path))
    plan = make_plan() | {"run": "listed", "scenario": "of-a-list", "engine": "mininet"}
    entered(database, plan, tmp_path, START_NS)
    query = "SELECT * FROM runs WHERE scenario = 'of-a-list'"
    (begun,) = database.query(query)
    assert begun.columns["state"] == ["on"]
    assert begun.columns["board"] == ["convergence"]
    assert begun.columns["choices"] == [" listed latest:convergence latest:links "]
    assert begun.columns["report"] == ["of-a-list/listed/report.html"]
    assert 40 < begun.columns["length_s"][0] < 60
    run_list.lengthen(database, plan, 99.0)
    assert database.query(query)[0].columns["length_s"] == [99.0]
    run_list.finish(database, plan, Status.PASS, START_NS, START_NS + 42_500_000_000, "all hold")
    (ended,) = database.query(query)
    assert ended.columns["time"] == [START_NS]
    assert (ended.columns["state"], ended.columns["length_s"]) == (["pass"], [42.5])


def test_a_report_elsewhere_says_so(database, tmp_path, monkeypatch):
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "here"))
    plan = make_plan() | {"run": "away", "scenario": "away"}
    entered(database, plan, tmp_path / "there", START_NS)
    (found,) = database.query("SELECT report, folder FROM runs WHERE scenario = 'away'")
    assert found.columns["report"] == ["not-below-the-results/report.html"]
    assert found.columns["folder"] == [str(tmp_path / "there" / "away" / "away")]


@pytest.mark.parametrize(
    ("change", "boards"),
    [
        ({}, ["convergence", "links"]),
        ({"traffic": "ndn"}, ["ndn", "links"]),
        ({"traffic": "tcp"}, ["tcp", "links"]),
        ({"cross_traffic": [{}]}, ["convergence", "tcp", "links"]),
        ({"sessions": [{"carrier": "mptcp"}]}, ["tcp", "links"]),
        ({"engine": "sim", "sessions": [{"transport": "tcp"}]}, ["convergence", "links"]),
    ],
)
def test_a_run_is_shown_by_the_dashboards_that_have_something_of_it(change, boards):
    plan: Any = {"engine": "mininet", "sessions": [{}], **change}
    assert dashboards_of(plan) == boards
