"""Tables of dashboards, and the entry in the list of runs that a run has before it begins, from its plan alone."""

from testbed.plan.engines import engine_of
from testbed.plan.model import Plan
from testbed.plan.traffic_types import sent_by
from testbed.series.one_clock import on_one_clock
from testbed.series.series import Table

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


EVENTS = on_one_clock(Table("event", ("text", "kind")))
"""The timeline, the transfer's start and end, and when the windows had settled; drawn into plots."""

CHECKS = Table(
    "verdict",
    ("check", "status", "measures AS measured", "expects AS expected", "unit", "reason"),
    with_tags=("check",),
)
"""The outcome of every check of a run."""

RUNS = Table(
    MEASUREMENT,
    (
        "run_id AS run",
        "scenario",
        "policy",
        "engine",
        "variant",
        "state",
        "summary",
        "occasion",
        "board",
        "report",
        "folder",
    ),
    with_tags=("scenario",),
)
"""Runs from their start on, with their verdict when there is one, and where their reports are."""

CALIBRATION = Table(
    "calibration",
    (
        "link",
        "direction",
        "rate_bps_asked",
        "rate_bps",
        "rate_error",
        "delay_ms_asked",
        "delay_ms",
        "delay_error_ms",
        "loss_asked",
        "loss",
        "of_limit",
    ),
)
"""The links before the run: measured and configured."""

LATENESS = Table("lateness", ("link", "direction", "p99_ms", "p99_limit_ms", "max_ms", "max_limit_ms"))
"""Lateness of the link emulators, over the whole run, and the limit of a trusted one."""

CELLS = Table(
    "table_cell",
    ("position", "row", "column", "figure", "median", "lowest", "highest", "n", "bound", "engine", "variant"),
)
"""The cells of a table of runs."""
