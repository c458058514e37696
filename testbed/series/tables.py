"""Tables of dashboards."""

from __future__ import annotations

from testbed.series.series import Table

EVENTS = Table("event", ("text", "kind"))
"""The timeline and the transfer's start and end; drawn into plots."""

CHECKS = Table(
    "verdict",
    ("check", "status", "measured", "expected", "tolerance", "judge"),
    with_tags=("check",),
)
"""The outcome of every check of a run."""

RUNS = Table(
    "verdict",
    ("scenario", "run", "policy", "verdict", "checks", "failed", "occasion", "from_ms", "to_ms"),
    tags=(("check", ""),),
)
"""Runs with their verdict, and the span that shows all of each."""

BEFORE_MS, AFTER_MS = 10_000, 2_000
"""What belongs to that span before the transfer's start, the calibration of links among it, and after its end."""

CALIBRATION = Table(
    "calibration",
    ("link", "direction", "rate_bps_asked", "rate_bps", "rate_error", "delay_ms_asked", "delay_ms",
     "delay_error_ms", "loss_asked", "loss", "of_limit"),
)  # fmt: skip
"""What the links were before the run, beside what was asked."""

CELLS = Table(
    "table_cell",
    ("row", "column", "figure", "median", "lowest", "highest", "n", "bound"),
)
"""The cells of a table of runs."""
