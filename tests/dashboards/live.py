"""A dashboard at a run that has just ended, in the testbed's own InfluxDB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testbed import influx, paths
from testbed.series import FromInflux
from testbed.series.reader import end_of, start_of
from testbed.series.tables import AFTER_MS, BEFORE_MS
from tests.dashboards.grafana import Span, interpolate, opened, values_of


def panels_without_data(name: str, result: Path) -> list[str]:
    """Title and letter of each query of the dashboard that has no answer for the run."""
    board: dict[str, Any] = json.loads((paths.CHECKOUT / "dashboards" / "json" / f"{name}.json").read_text())
    plan = json.loads((result / "plan.json").read_text())
    missing = []
    with influx.Client(influx.ensure(), "reader") as client:
        events = FromInflux(client, plan["run"]).events()
        start_ns, end_ns = start_of(events), end_of(events)
        assert start_ns is not None
        assert end_ns is not None
        span = Span(start_ns // 1_000_000 - BEFORE_MS, end_ns // 1_000_000 + AFTER_MS)
        variables = opened(board, client).but(scenario=plan["scenario"], run=plan["run"])
        for variable in board["templating"]["list"]:
            if variable["name"] == "link":  # panels are repeated by it; one will do
                variables = variables.but(link=[values_of(variable, variables, client)[0]])
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                if not client.query(interpolate(target["query"], variables, span)):
                    missing.append(f"{panel['title']} {target['refId']}")
    return missing
