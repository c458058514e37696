"""A dashboard at a run that has just ended, in the testbed's own InfluxDB."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.services.influx import server as influx
from testbed.services.influx.client import Client
from tests.dashboards.grafana import ALL, Span, interpolate, opened, span_of_panel, values_of


def panels_without_data(name: str, result: Path) -> list[str]:
    """Title and letter of each query of the dashboard that has no answer for the run."""
    board: dict[str, Any] = json.loads((paths.CHECKOUT / "dashboards" / "json" / f"{name}.json").read_text())
    plan = json.loads((result / "plan.json").read_text())
    missing = []
    with Client(influx.ensure(), "reader") as client:
        now_ms = time.time_ns() // 1_000_000
        page = Span(now_ms - 900_000, now_ms, "now-15m")
        variables = opened(board, client, now_ms, {"scenario": [ALL], "run": plan["run"]})
        for variable in board["templating"]["list"]:
            if variable["name"] == "link":  # panels are repeated by it; one will do
                variables = variables.but(link=[values_of(variable, variables, client)[0]])
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                span = span_of_panel(panel, variables, page, now_ms)
                if not client.query(interpolate(target["query"], variables, span)):
                    missing.append(f"{panel['title']} {target['refId']}")
    return missing
