"""An InfluxDB that holds what real runs left in one: their telemetry, and all that is derived from it.

The runs were recorded by ``tests/dashboards/record.py`` on real links.
"""

import gzip
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.checks import Trust
from testbed.influx import retention
from testbed.influx.client import Client
from testbed.influx.endpoint import DATABASE
from testbed.matrix.points import table_lines
from testbed.runner.judging import judge_from, store_judged
from testbed.series import FromInflux
from testbed.series.reader import end_of, start_of
from tests.checks.conftest import influx

__all__ = ["influx"]

if sys.version_info < (3, 11):
    collect_ignore_glob = ["test_*"]  # the builder of dashboards needs Python 3.11

RUNS = Path(__file__).parent / "runs"


@dataclass(frozen=True)
class Replayed:
    """A run that the database holds, and its span."""

    plan: dict[str, Any]
    from_ms: int
    to_ms: int


@pytest.fixture(scope="session")
def runs(influx, tmp_path_factory):
    """The recorded runs by name, stored, judged and kept as at their end; a table of runs; the days' sums."""
    influx.execute(
        f'CREATE RETENTION POLICY "{retention.HISTORY}" ON "{DATABASE}" DURATION INF REPLICATION 1'
    )
    found = {}
    for path in sorted(RUNS.glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        found[name] = _replay(
            influx, json.loads(gzip.decompress(path.read_bytes())), tmp_path_factory.mktemp(name)
        )
    at_ns = max(run.to_ms for run in found.values()) * 1_000_000
    influx.write(table_lines(json.loads((RUNS / "speed-table.json").read_text()), at_ns))
    for statement in retention.continuous_queries(DATABASE).values():
        select = statement.split(" BEGIN ")[1].removesuffix(" END")
        influx.execute(select.replace(" GROUP BY", f" WHERE time <= {at_ns + 1} GROUP BY"))
    return found


def _replay(influx: Client, document: dict[str, Any], folder: Path) -> Replayed:
    plan = document["plan"]
    (folder / "agents").mkdir()
    for i, result in enumerate(document["agents"]):
        (folder / "agents" / f"{i}.json").write_text(json.dumps(result))
    influx.write(document["telemetry"].splitlines())
    influx.write(document["written"])
    reader = FromInflux(influx, plan["run"])
    points = document["telemetry"].count("\n")
    trust = Trust.model_validate(document["verdict"]["trust"])
    judged = judge_from(plan, folder, reader, trust, points, points)
    store_judged(influx, plan, judged)
    events = reader.events()
    start_ns, end_ns = start_of(events), end_of(events)
    assert start_ns is not None
    assert end_ns is not None
    return Replayed(plan, start_ns // 1_000_000, end_ns // 1_000_000 + 1)
