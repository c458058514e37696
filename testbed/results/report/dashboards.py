"""Links from a report to the run's dashboards."""

from __future__ import annotations

from testbed.plan.engines import engine_of
from testbed.results.report.folder import ResultFolder
from testbed.series.reader import start_of
from testbed.series.run_list import dashboards_of
from testbed.services import grafana

NAMES = {"ndn": "NDN", "tcp": "TCP"}
"""What the report calls a dashboard, where that is not its own name."""


def dashboard_links(folder: ResultFolder) -> list[tuple[str, str]]:
    """Name and URL of each that has something to show of the run; none where nothing was ever sent, or in virtual time
    (whose points are in a database only if one was up)."""
    events = [] if folder.evidence is None else folder.evidence.events
    if start_of(events) is None or engine_of(folder.plan).virtual_time:
        return []
    boards = dashboards_of(folder.plan)
    return [(NAMES.get(board, board), grafana.run_url(board, folder.plan["run"])) for board in boards]
