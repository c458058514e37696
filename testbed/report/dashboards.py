"""Links from a report to the run's dashboards."""

from __future__ import annotations

from testbed.report.folder import ResultFolder
from testbed.series.reader import end_of, start_of
from testbed.services import grafana

BOARDS = {"convergence": "convergence", "NDN": "ndn", "links": "links", "TCP": "tcp"}
"""Dashboards that show one run, by what the report calls them."""
OF_TRAFFIC = {"convergence": "ncp", "ndn": "ndn"}
"""Those that are about one kind of traffic alone."""


def dashboard_links(folder: ResultFolder) -> list[tuple[str, str]]:
    """Name and URL of each, at the span of the transfer; none where nothing was ever sent, or in virtual time."""
    events = [] if folder.evidence is None else folder.evidence.events
    start_ns = start_of(events)
    if start_ns is None or folder.plan.get("engine") in ("sim", "vkernel"):
        return []
    end_ns = end_of(events) or events[-1].t_ns
    start_ms, end_ms = start_ns // 1_000_000, end_ns // 1_000_000
    scenario, run = folder.plan["scenario"], folder.plan["run"]
    traffic = folder.plan.get("traffic", "ncp")
    shown = [(name, board) for name, board in BOARDS.items() if OF_TRAFFIC.get(board, traffic) == traffic]
    return [(name, grafana.run_url(board, scenario, run, start_ms, end_ms)) for name, board in shown]
