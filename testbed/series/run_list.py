"""A run's entry in the list of runs before it has begun, from its plan alone."""

from __future__ import annotations

from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.traffic_types import sent_by

MEASUREMENT = "runs"

LATEST = "latest"
"""The choice that stands for the latest run, whichever that is by now."""

BOARDS = ("convergence", "ndn", "tcp", "links")
"""Dashboards that show one run; the first that a run has something for is where its name leads."""


def dashboards_of(plan: Plan) -> list[str]:
    """The dashboards, of :data:`BOARDS`, that have something to show of the run."""
    shown = {sent_by(plan).board, "links"}
    if engine_of(plan).kernel and (plan["sessions"][0].get("transport") == "tcp" or plan.get("cross_traffic")):
        shown.add("tcp")
    return [board for board in BOARDS if board in shown]
