"""An InfluxDB that holds what real runs left in one: their telemetry, and all that is derived from it.

The runs were recorded by ``tests/dashboards/record.py`` on real links.
"""

import dataclasses
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from line_protocol_parser import parse_line

from testbed.engines.emulation import calibration
from testbed.engines.emulation.calibration import LinkReading
from testbed.engines.judging import judge_from, store_judged
from testbed.judge.checks import Trust
from testbed.judge.checks.derived import law_ahead
from testbed.series.one_clock import RETENTION as ONE_CLOCK
from testbed.services.influx import retention, run_list
from testbed.services.influx.client import Client
from testbed.services.influx.endpoint import DATABASE
from testbed.services.influx.reader import FromInflux
from testbed.study.report.points import table_lines
from tests.checks.conftest import influx

__all__ = ["influx"]

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
    policies(influx)
    found = {}
    for path in sorted(RUNS.glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        found[name] = replay(influx, recorded(name), tmp_path_factory.mktemp(name))
    at_ns = max(run.to_ms for run in found.values()) * 1_000_000
    influx.write(table_lines(json.loads((RUNS / "speed-table.json").read_text()), "full", at_ns))
    for statement in retention.continuous_queries(DATABASE).values():
        select = statement.split(" BEGIN ")[1].removesuffix(" END")
        influx.execute(select.replace(" GROUP BY", f" WHERE time <= {at_ns + 1} GROUP BY"))
    return found


def policies(influx: Client) -> None:
    """The retention policies that a server of the testbed has, and its list of no runs."""
    for policy in (retention.HISTORY, ONE_CLOCK):
        influx.execute(f'CREATE RETENTION POLICY "{policy}" ON "{DATABASE}" DURATION INF REPLICATION 1')
    influx.write(run_list.before_the_first())


def recorded(name: str) -> dict[str, Any]:
    """A recorded run; what was recorded before a key was there has it as by default."""
    document: dict[str, Any] = json.loads(gzip.decompress((RUNS / f"{name}.json.gz").read_bytes()))
    plan = document["plan"]
    plan["limits"].setdefault("lateness_max_ms", 100.0)
    policy = plan["sessions"][0]["policy"]
    document["written"] = [
        line.replace(",run=", f",policy={policy},run=", 1) if ",policy=" not in line else line
        for line in document["written"]
    ]
    return document


def replay(influx: Client, document: dict[str, Any], folder: Path) -> Replayed:
    """Write all that a run leaves in the database, in the order in which it does."""
    plan = document["plan"]
    begin(influx, document, folder)
    (folder / "agents").mkdir()
    for i, result in enumerate(document["agents"]):
        (folder / "agents" / f"{i}.json").write_text(json.dumps(result))
    (folder / "telemetry.lp").write_text(document["telemetry"])
    calibration.write_csv(_readings(document), folder / "links.csv")
    late = {"p50": 20.0, "p99": 900.0, "max": 4000.0}
    links = [{"link": link["name"], "direction": "ab", "lateness_us": late} for link in plan["links"]]
    (folder / "relay.json").write_text(json.dumps({"links": links}))
    influx.write(document["telemetry"].splitlines())
    reader = FromInflux(influx, plan["run"])
    points = document["telemetry"].count("\n")
    trust = Trust.model_validate(document["verdict"]["trust"])
    judged = judge_from(plan, folder, reader, trust, points, points)
    store_judged(influx, plan, judged)
    assert judged.start_ns is not None
    return Replayed(plan, judged.start_ns // 1_000_000, judged.end_ns // 1_000_000 + 1)


def _readings(document: dict[str, Any]) -> list[LinkReading]:
    """The links as they were measured before the run; what the probe sent was not recorded."""
    points = [parse_line(line) for line in document["written"] if line.startswith("calibration,")]
    names = {field.name for field in dataclasses.fields(LinkReading)}
    return [
        LinkReading(
            link=point["tags"]["link"],
            direction=point["tags"]["direction"],
            sent=1000,
            received=1000,
            **{name: value for name, value in point["fields"].items() if name in names},
        )
        for point in points
    ]


def begin(influx: Client, document: dict[str, Any], folder: Path) -> None:
    """As a run begins: it is in the list, its law is ahead of it, its links are measured."""
    starts = [int(line.rsplit(" ", 1)[1]) for line in document["telemetry"].splitlines() if "transfer_start" in line]
    run_list.begin(influx, document["plan"], folder, min(starts) - 8_000_000_000)
    influx.write(law_ahead(document["plan"]), ONE_CLOCK)
    influx.write(document["written"])
