"""How long points are kept, and what becomes of the history: on a real InfluxDB."""

import time
from typing import Any

import pytest
from influxdb import InfluxDBClient

from testbed.judge.checks.derived import history_lines
from testbed.judge.checks.result import Trust, Verdict
from testbed.services.influx import retention
from testbed.services.influx import server as influx
from testbed.services.influx.client import Client, QueryFailed, Series, connect
from testbed.services.influx.endpoint import Endpoint

pytestmark = pytest.mark.root

DAY_NS = 86_400_000_000_000


def raw(endpoint: Endpoint) -> InfluxDBClient:
    return connect(endpoint, "admin")


def policies(endpoint: Endpoint) -> dict[str, tuple[str, bool]]:
    """Duration of each retention policy, and whether it is the default."""
    found = raw(endpoint).get_list_retention_policies(endpoint.database)
    return {policy["name"]: (policy["duration"], policy["default"]) for policy in found}


def queries(endpoint: Endpoint) -> dict[str, str]:
    """The text of each continuous query."""
    client = raw(endpoint)
    found = client.query("SHOW CONTINUOUS QUERIES").raw["series"]
    return dict(next(series["values"] for series in found if series["name"] == endpoint.database))


def test_runs_are_kept_for_90_days_and_history_for_ever(endpoint: Endpoint) -> None:
    assert policies(endpoint) == {"autogen": ("2160h0m0s", True), "history": ("0s", False), "one_clock": ("0s", False)}
    now = time.time_ns()
    with Client(endpoint, "agent") as agent, Client(endpoint, "reader") as reader:
        agent.write([f"link,run=new x=1 {now - 89 * DAY_NS}"])
        with pytest.raises(QueryFailed, match=r"(beyond|outside) retention policy"):  # 1.6 and 1.13 say
            agent.write([f"link,run=old x=1 {now - 91 * DAY_NS}"])
        agent.write([f"run_verdict,scenario=s passed=1i {now - 400 * DAY_NS}"], retention.HISTORY)
        assert len(reader.query('SELECT * FROM "link"')[0].columns["time"]) == 1
        assert len(reader.query('SELECT * FROM "history"."run_verdict"')[0].columns["time"]) == 1
        # What asks for all that a run has does not see the history, and deleting a run leaves it.
        assert {series.name for series in reader.query("SELECT * FROM /.*/ GROUP BY *")} == {"link", "runs"}


def test_ensuring_again_changes_nothing_and_puts_right_what_was_changed(endpoint: Endpoint) -> None:
    before = queries(endpoint)
    influx.ensure()
    assert queries(endpoint) == before
    assert set(before) == {"daily_verdicts", "daily_key_figures"}

    client = raw(endpoint)
    client.query('DROP CONTINUOUS QUERY "daily_verdicts" ON "ncp_testbed"', method="POST")
    client.query(
        'CREATE CONTINUOUS QUERY "daily_verdicts" ON "ncp_testbed" BEGIN '
        'SELECT count("passed") INTO "x" FROM "y" GROUP BY time(1d) END',
        method="POST",
    )
    client.alter_retention_policy("autogen", endpoint.database, duration="1000d")
    influx.ensure()
    assert queries(endpoint) == before
    assert policies(endpoint)["autogen"] == ("2160h0m0s", True)


def test_a_database_of_somebody_elses_keeps_its_points(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    client = raw(endpoint)
    client.alter_retention_policy("autogen", endpoint.database, duration="1000d")
    client.drop_retention_policy(retention.HISTORY, endpoint.database)
    admin = endpoint.logins["admin"]
    monkeypatch.setenv("NCP_TESTBED_INFLUX_URL", endpoint.url)
    monkeypatch.setenv("NCP_TESTBED_INFLUX_USER", admin.username)
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PASSWORD", admin.password)
    influx.ensure()
    monkeypatch.delenv("NCP_TESTBED_INFLUX_URL")
    assert policies(endpoint) == {"autogen": ("24000h0m0s", True), "history": ("0s", False), "one_clock": ("0s", False)}


def test_each_day_is_summed_up_by_the_database_itself(endpoint: Endpoint) -> None:
    now = time.time_ns()
    today = now - now % DAY_NS
    tags = "scenario=s,policy=nkp24,engine=mininet,occasion=nightly,variant=full"
    lines = [
        f"run_verdict,{tags} passed={passed}i,trusted=1i,duration_s={duration} {today - DAY_NS + k}"
        for k, (passed, duration) in enumerate([(1, 10), (0, 20), (1, 30)])
    ] + [f"key_figure,{tags},figure=law measured={value} {today - DAY_NS + k}" for k, value in enumerate([2, 4])]
    client = raw(endpoint)
    # The queries' own text, only more often than every hour.
    for name, statement in retention.continuous_queries(endpoint.database).items():
        client.query(f'DROP CONTINUOUS QUERY "{name}" ON "{endpoint.database}"', method="POST")
        client.query(statement.replace("EVERY 1h", "EVERY 2s"), method="POST")
    with Client(endpoint, "agent") as agent, Client(endpoint, "reader") as reader:
        agent.write(lines, retention.HISTORY)
        deadline = time.monotonic() + 60
        figures: list[Series] = []
        verdicts: list[Series] = []
        while not (verdicts and figures) and time.monotonic() < deadline:
            time.sleep(0.5)
            verdicts = reader.query('SELECT * FROM "history"."verdict_daily" GROUP BY *')
            figures = reader.query('SELECT * FROM "history"."key_figure_daily" GROUP BY *')
    assert dict(pair.split("=") for pair in tags.split(",")) == verdicts[0].tags
    assert verdicts[0].columns == {
        "time": [today - DAY_NS],
        "runs": [3],
        "passed": [2],
        "trusted": [3],
        "duration_s": [20],
    }
    assert figures[0].tags["figure"] == "law"
    assert figures[0].columns == {"time": [today - DAY_NS], "runs": [2], "measured": [3], "lowest": [2], "highest": [4]}


def test_a_run_can_be_deleted_beside_the_history(endpoint: Endpoint) -> None:
    now = time.time_ns()
    verdict = Verdict(
        scenario="s",
        run="r",
        verdict="pass",
        summary="",
        checks=[],
        trust=Trust(trusted=True),
        duration_s=1.0,
        policy="nkp24",
    )
    plan: Any = {"run": "r", "scenario": "s", "engine": "sim", "variant": "full"}
    kept = history_lines(plan, verdict, [], now)
    with Client(endpoint, "admin") as admin:
        admin.write([f"link,run=r x=1 {now}"])
        admin.write(kept.splitlines(), retention.HISTORY)
        admin.delete_run("r")
        assert admin.query('SELECT * FROM "link"') == []
        assert len(admin.query('SELECT * FROM "history"."run_verdict"')[0].columns["time"]) == 1
