"""Dashboards in a database that has thousands of runs: they answer, with the same as when it had a few."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from influxdb.line_protocol import make_lines

from testbed.series.influxql import tag_is
from testbed.series.one_clock import RETENTION as ONE_CLOCK
from testbed.services.influx.client import Client, Series
from tests.dashboards.conftest import Replayed
from tests.dashboards.grafana import span_of_panel, values_of
from tests.dashboards.test_queries import BOARDS, RUN_OF, ask, each_panel, fixed, page_of, shown, variables_of

RUNS = int(os.environ.get("NCP_TESTBED_MANY_RUNS", "10000"))
APART_NS = 600_000_000_000
"""So that ten thousand are within the 90 days for which points are kept."""


def first_points(influx: Client, run: str, policy: str) -> list[tuple[Series, int, dict[str, Any]]]:
    """A point of each series of a run: its series, time and fields. The list of runs has one anyway."""
    found = []
    for series in influx.query(f"SELECT * FROM {policy}./.*/ WHERE {tag_is('run', run)} GROUP BY * LIMIT 1"):
        fields = {
            name: values[0] for name, values in series.columns.items() if name != "time" and values[0] is not None
        }
        found.append((series, series.columns["time"][0], fields))
    return found


def earlier_runs(
    influx: Client, like: Replayed, number: int, policy: str = "autogen", apart_ns: int = APART_NS
) -> Iterator[list[str]]:
    """The lines of each of so many runs before that one, each with its series in the retention policy."""
    name = like.plan["run"]
    points = first_points(influx, name, policy)
    template = str(
        make_lines(
            {
                "points": [
                    {
                        "measurement": series.name,
                        "tags": {key: value for key, value in series.tags.items() if value},
                        "fields": fields,
                        "time": time_ns,
                    }
                    for series, time_ns, fields in points
                ]
            }
        )
    )
    lines = [line.rsplit(" ", 1) for line in template.splitlines()]
    for i in range(1, number + 1):
        other = re.sub(r"-[0-9a-f]{4}$", f"-{i:05x}", name)
        yield [f"{line.replace(name, other)} {int(time_ns) - i * apart_ns}" for line, time_ns in lines]


def every_answer(influx: Client, runs: dict[str, Replayed]) -> dict[str, tuple[set[str], float]]:
    """Of each panel of each dashboard the queries that have data, and the seconds that they took together; likewise
    of what its variables offer."""
    found = {}
    for name, board in BOARDS.items():
        page, now_ms = page_of(board, runs)
        begun = time.monotonic()
        variables = variables_of(board, runs, name, influx)
        offered = {
            v["name"] for v in board["templating"]["list"] if v["type"] == "query" and values_of(v, variables, influx)
        }
        found[f"{name}: variables"] = (offered, time.monotonic() - begun)
        for panel, repeated_by in shown(board):
            begun = time.monotonic()
            with_data: set[str] = set()
            for one in each_panel(influx, runs, name, RUN_OF.get(name, ""), repeated_by):
                with_data |= ask(influx, panel, one, fixed(span_of_panel(panel, one, page, now_ms)))
            found[f"{name}: {panel['title']}"] = (with_data, time.monotonic() - begun)
    return found


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_ten_thousand_runs(influx: Client, runs: dict[str, Replayed]) -> None:
    before = every_answer(influx, runs)
    begun = time.monotonic()
    # Run by run, as they come in life: new series in thousands at once take the server longer than it gives a write.
    written = 0
    on_clock = earlier_runs(influx, runs["nkp24"], RUNS, ONE_CLOCK, 0)
    for lines, clocked in zip(earlier_runs(influx, runs["nkp24"], RUNS), on_clock, strict=True):
        influx.write(lines)
        influx.write(clocked, ONE_CLOCK)
        written += len(lines) + len(clocked)
    print(f"{RUNS} runs, {written} points in {time.monotonic() - begun:.0f} s")
    after = every_answer(influx, runs)
    slowest = sorted(after, key=lambda name: after[name][1], reverse=True)[:8]
    for name in slowest:
        print(f"{name}: {before[name][1]:.2f} s, then {after[name][1]:.2f} s")
    (server,) = (child for child in psutil.Process().children() if child.name() == "influxd")
    print(f"influxd holds {server.memory_info().rss >> 20} MiB")
    print(f"all: {sum(s for _, s in before.values()):.1f} s, then {sum(s for _, s in after.values()):.1f} s")
    assert {name: data for name, (data, _) in after.items()} == {name: data for name, (data, _) in before.items()}
