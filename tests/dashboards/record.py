"""``python -m tests.dashboards.record RESULT NAME``: keeps a real run for the tests of dashboards.

What the run sent to InfluxDB and what the runner wrote there is taken from the database; what the judge derives is not
kept, since the tests derive it anew.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from influxdb.line_protocol import make_lines

from testbed.documents import read_json
from testbed.judge.checks.evidence import agent_results
from testbed.series import influxql
from testbed.services.influx import server
from testbed.services.influx.client import Client

FOLDER = Path(__file__).parent / "runs"

RUNNERS_OWN = ("calibration", "telemetry_lag")


def record(result: Path, name: str) -> Path:
    """Write ``runs/<name>.json.gz``: plan, verdict, agents' results, telemetry, and the runner's own points."""
    plan = read_json(result / "plan.json")
    with Client(server.ensure(), "reader") as client:
        written = [line for measurement in RUNNERS_OWN for line in _lines(client, measurement, plan["run"])]
    document = {
        "plan": plan,
        "verdict": read_json(result / "verdict.json"),
        "agents": agent_results(result / "agents"),
        "telemetry": (result / "telemetry.lp").read_text(),
        "written": written,
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    return path


def _lines(client: Client, measurement: str, run: str) -> list[str]:
    query = f"SELECT * FROM {influxql.identifier(measurement)} WHERE {influxql.tag_is('run', run)} GROUP BY *"
    points = [
        {
            "measurement": measurement,
            "tags": part.tags,
            "time": time,
            "fields": {name: float(values[i]) for name, values in part.columns.items() if name != "time"},
        }
        for part in client.query(query)
        for i, time in enumerate(part.columns["time"])
    ]
    return str(make_lines({"points": points})).splitlines() if points else []


if __name__ == "__main__":
    print(record(Path(sys.argv[1]), sys.argv[2]))
