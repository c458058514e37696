"""Runs on one clock: their samples since the start, and no more runs than are kept."""

import numpy as np
import pytest

from testbed.checks.compared import compared_lines
from testbed.influx import comparison
from testbed.series import FromFile, influxql, named
from testbed.series.compared import COMPARED, ZERO_NS, compared
from tests.checks.generate import START_NS, make_plan, telemetry


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    plan = make_plan(transfer_mib=2)
    path = tmp_path_factory.mktemp("run") / "telemetry.lp"
    path.write_text("\n".join(telemetry(plan)) + "\n")
    return plan, FromFile(path)


def test_every_sample_is_there_at_its_time_since_the_start(made, influx):
    plan, file = made
    comparison.store(influx, compared_lines(plan, file), "startup", ["nkp24"])
    original = file.read(named("window_share"))
    (first, second) = influx.query(influxql.select(compared("window_share"), ["run = '" + plan["run"] + "'"]))
    for part, (connection, samples) in zip((first, second), original.items(), strict=True):
        assert part.tags == {"connection": connection}
        assert part.columns["window_share"] == list(samples.values)
        expected = samples.t_ns - START_NS + ZERO_NS
        assert max(abs(np.array(part.columns["time"]) - expected)) <= 1


def test_what_belongs_to_a_session_has_no_connection(made, influx):
    plan, file = made
    comparison.store(influx, compared_lines(plan, file), "startup", ["nkp24"])
    found = influx.query(influxql.select(compared("goodput_bps"), [influxql.tag_is("connection", "")]))
    assert [part.tags for part in found] == [{"session": "s1"}]


def test_a_session_that_never_started_has_nothing_to_compare(made, tmp_path):
    plan, _ = made
    path = tmp_path / "telemetry.lp"
    path.write_text("".join(line + "\n" for line in telemetry(plan) if "transfer_start" not in line))
    assert compared_lines(plan, FromFile(path)) == []


def test_the_oldest_runs_are_forgotten_and_no_other_scenario_is_touched(influx, monkeypatch):
    monkeypatch.setattr(comparison, "RUNS_KEPT", 2)

    def store(run: str, scenario: str) -> None:
        tags = f"run={run},scenario={scenario},policy=p,session=s1,connection=1"
        comparison.store(influx, [f"compared,{tags} rtt_ms=1 {ZERO_NS}"], scenario, ["p", "p"])

    store("20260101-000000-aaaa", "other")
    for day in (3, 1, 2, 4):
        store(f"2026010{day}-000000-aaaa", "kept")
    assert comparison.kept_runs(influx, "kept", "p") == ["20260103-000000-aaaa", "20260104-000000-aaaa"]
    assert comparison.kept_runs(influx, "other", "p") == ["20260101-000000-aaaa"]


def test_what_is_not_compared_is_refused_with_what_is():
    with pytest.raises(ValueError, match=r"only by window_share"):
        compared("rto_ms")
    assert all(compared(name).field == name for name in COMPARED)
