"""Keeps what runs are compared by: of each scenario and policy the latest runs, so that the number of series
does not grow for ever."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.influx.client import Client
from testbed.influx.endpoint import DATABASE
from testbed.series import influxql
from testbed.series.compared import MEASUREMENT, RETENTION

RUNS_KEPT = 40
"""Per scenario and policy."""


def store(client: Client, lines: Sequence[str], scenario: str, policies: Sequence[str]) -> None:
    """Write a run's lines and forget the oldest runs. The client's role is ``admin``."""
    client.execute(
        f"CREATE RETENTION POLICY {influxql.identifier(RETENTION)} ON {influxql.identifier(DATABASE)} "
        "DURATION INF REPLICATION 1 SHARD DURATION 52w"
    )
    client.write(lines, RETENTION)
    for policy in dict.fromkeys(policies):
        for run in kept_runs(client, scenario, policy)[:-RUNS_KEPT]:
            where = f"{_is(scenario, policy)} AND {influxql.tag_is('run', run)}"
            client.execute(f"DROP SERIES FROM {influxql.identifier(MEASUREMENT)} WHERE {where}")


def kept_runs(client: Client, scenario: str, policy: str) -> list[str]:
    """The runs that can be compared, oldest first (a run's name starts with its time)."""
    full_name = f"{influxql.identifier(RETENTION)}.{influxql.identifier(MEASUREMENT)}"
    found = client.query(f'SHOW TAG VALUES FROM {full_name} WITH KEY = "run" WHERE {_is(scenario, policy)}')
    return sorted(str(run) for part in found for run in part.columns["value"])


def _is(scenario: str, policy: str) -> str:
    return f"{influxql.tag_is('scenario', scenario)} AND {influxql.tag_is('policy', policy)}"
