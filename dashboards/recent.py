"""The row of recent runs at the top of every dashboard."""

from __future__ import annotations

from grafana_foundation_sdk.builders import table

from dashboards import panels
from dashboards.document import REPORTS
from testbed.series.influxql import select_table
from testbed.series.tables import RUNS

OPEN_RUN = "/d/ncp-${__data.fields.board}?var-scenario=%24__all&var-run=${__data.fields.run}&from=now-15m&to=now"
"""The dashboard of the run that a row names, at that run. Its panels know its span themselves."""

LINKS = {
    "run": ("Show this run", OPEN_RUN),
    "state": (
        "Report, in ${__data.fields.folder} (opens if that is below the results of the checkout that started Grafana)",
        REPORTS + "${__data.fields.report}",
    ),
}


def runs(*, newest: int = 200, height: int = 6, title: str = "Recent runs") -> table.Panel:
    """The newest runs of all engines, from their start on; none older than 90 days is kept."""
    return panels.rows(
        title,
        "The latest run first, of any engine, from the moment it begins. Click on a run to see it, on its state for "
        "its "
        "report. Runs of the last 90 days are kept.",
        select_table(RUNS, (), newest=newest),
        height=height,
        links=LINKS,
        hidden=("board", "report", "folder"),
        titles={"Time": "begun"},
        widths={
            "Time": 170,
            "run": 190,
            "scenario": 150,
            "policy": 110,
            "engine": 90,
            "variant": 80,
            "state": 120,
            "occasion": 90,
        },
        nothing="There is no run yet: ./run.sh run startup makes one.",
    )
