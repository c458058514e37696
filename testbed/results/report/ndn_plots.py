"""Plots of an NDN run: the consumer's log as round trips over time, its window, and the forwarder's backlog."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from testbed.judge.checks.evidence import Evidence, Timed
from testbed.plan.model import Plan
from testbed.results.report import style
from testbed.results.report.folder import ResultFolder
from testbed.results.report.over_time import over_time
from testbed.results.report.plot import Plot, drawn
from testbed.series.catalogue import SEGMENTS

MOST_DOTS = 2500
"""Most points of the consumer's log, evenly over it: more would make the page heavy, and show no more."""


def ndn_plots(folder: ResultFolder, evidence: Evidence) -> list[Plot]:
    """Plots of the run's log and samples."""
    session = folder.sessions[0]["name"]

    def lines(name: str, title: str, unit: str, description: str, series: Mapping[str, str], per: float) -> Plot | None:
        """The consumer's series by label, in units of ``per``."""
        found = {label: evidence.samples(one, session).get("h1") for label, one in series.items()}
        scaled = {label: Timed(timed.t_s, timed.values / per) for label, timed in found.items() if timed}
        return over_time(name, title, unit, description, scaled)

    window = "The consumer's window and its Interests in flight over time."
    windows = {"window": "ndn_window", "in flight": "ndn_in_flight"}
    goodput = "Content per second that arrived, over the last second."
    found = [
        _round_trips(folder.path / SEGMENTS),
        lines("ndn-window", "Window and Interests in flight", "Interests", window, windows, 1.0),
        _backlog(folder.plan, evidence, session),
        lines("ndn-goodput", "Goodput", "Mbit/s", goodput, {"goodput": "ndn_goodput_bps"}, 1e6),
    ]
    return [plot for plot in found if plot is not None]


def _round_trips(log: Path) -> Plot | None:
    if not log.exists():
        return None
    rows = list(_read_log(log))
    if not rows:
        return None
    every = -(-len(rows) // MOST_DOTS)
    name, description = "ndn-rtt", "Each segment's round trip over time, as the consumer logs it"
    description += "." if every == 1 else f"; one of {every} is drawn."
    with style.new_plot("Round trips", "ms") as (figure, axes):
        for marked, label, colour, sign in (
            (False, "without a mark", style.SERIES_COLOURS[0], "o"),
            (True, "with a mark", style.SERIES_COLOURS[1], "x"),
        ):
            shown = np.array([row[:2] for row in rows[::every] if row[2] == marked]).reshape(-1, 2)
            if shown.size:
                axes.plot(shown[:, 0], shown[:, 1], sign, color=colour, markersize=2, linestyle="none", label=label)
        axes.set_ylim(0, None)
        axes.set_xlim(0, rows[-1][0] or None)
        axes.legend(ncols=4, **style.LEGEND)
        return drawn(figure, name, description)


def _read_log(log: Path) -> Iterator[tuple[float, float, bool]]:
    """Seconds, milliseconds of round trip and whether it was marked, of each segment that was requested once."""
    with log.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["rtt_ms"]:
                yield float(row["t_ms"]) / 1000, float(row["rtt_ms"]), row["marked"] in ("1", "true")


def _backlog(plan: Plan, evidence: Evidence, session: str) -> Plot | None:
    """The backlog of the forwarder's face to the consumer, with the threshold above which it marks."""
    forwarder = plan["ndn"]["nodes"][1]
    face = forwarder["faces"][0]["name"]
    found = evidence.samples("ndn_backlog_max_bytes", session)
    if face not in found or not found[face].t_s.size:
        return None
    name, samples = "ndn-backlog", found[face]
    description = f"Largest backlog of the socket of face {face} in each interval, with the threshold for marks."
    threshold_bytes = forwarder["marking"].get("threshold_bytes")
    with style.new_plot("Backlog of the forwarder's socket", "kB") as (figure, axes):
        axes.plot(samples.t_s, samples.values / 1000, **style.line(0), label=face)
        if threshold_bytes:
            axes.axhline(
                threshold_bytes / 1000, color=style.INK, linewidth=0.9, linestyle=(0, (2, 2)), label="threshold"
            )
        axes.set_ylim(0, None)
        axes.set_xlim(0, float(samples.t_s[-1]) or None)
        axes.legend(ncols=4, **style.LEGEND)
        return drawn(figure, name, description)
