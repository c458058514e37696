"""What the list of runs says of a run before it has begun, from its plan alone."""

from __future__ import annotations

from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.sent import sent_by

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


def expected_s(plan: Plan) -> float:
    """About how long the transfer takes, in seconds: all that is sent, at what its slowest links carry."""
    links = {link["name"]: link for link in plan["links"]}
    lasts = [1.0]
    for session in plan["sessions"]:
        if "expected_s" in session:
            lasts.append(float(session["expected_s"]))
            continue
        paths = [c.get("path", [c["link"]]) for c in session.get("connections", [])]
        rate_bps = sum(min(links[name]["rate_bps"] for name in path) for path in paths)
        sent_bytes = session.get("transfer_bytes") or plan.get("ndn", {}).get("object_bytes", 0)
        slowest = rate_bps or min((link["rate_bps"] for link in plan["links"]), default=0)
        if sent_bytes and slowest:
            lasts.append(float(session.get("start_s", 0.0)) + 1.1 * sent_bytes * 8 / slowest)
    lasts += [float(action["at_s"]) + 2 for action in plan.get("timeline", [])]
    return max(lasts)
