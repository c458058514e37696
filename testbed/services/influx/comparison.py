"""Keeps runs on one clock: of each scenario the latest, so that the number of series does not grow for ever."""

from __future__ import annotations

from collections.abc import Iterable

from testbed.series import influxql
from testbed.series.one_clock import PREFIX, RETENTION
from testbed.services.influx.client import Client
from testbed.services.influx.run_list import oldest_first

RUNS_KEPT = 60
"""Per scenario."""


def store(client: Client, lines: Iterable[str], scenario: str) -> None:
    """Write a run's lines and forget the oldest runs. The client's role is ``admin``."""
    client.write(lines, RETENTION)
    for run in kept_runs(client, scenario)[:-RUNS_KEPT]:
        client.execute(f"DROP SERIES FROM /^{PREFIX}/ WHERE {influxql.tag_is('run', run)}")


def kept_runs(client: Client, scenario: str) -> list[str]:
    """The scenario's runs that are on the common clock, oldest first."""
    measurement = f"{influxql.identifier(RETENTION)}.{influxql.identifier(PREFIX + 'event')}"
    where = influxql.tag_is("scenario", scenario)
    found = client.query(f'SHOW TAG VALUES FROM {measurement} WITH KEY = "run" WHERE {where}')
    return oldest_first(client, [str(run) for part in found for run in part.columns["value"]])
