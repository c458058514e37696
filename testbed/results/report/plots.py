"""The plots of a run, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.follows_law import FollowsLaw
from testbed.judge.checks.law import law_for
from testbed.plan.model import Session
from testbed.plan.traffic_types import traffic_of
from testbed.results.report import style
from testbed.results.report.folder import ResultFolder
from testbed.results.report.ndn_plots import ndn_plots
from testbed.results.report.plot import Plot, drawn
from testbed.results.report.tcp_plots import tcp_plots
from testbed.series.reader import start_of

__all__ = ["Plot", "all_plots"]

# Expectations are drawn over measurements, thin, so that both can be seen where they agree.
_ASKED: Any = {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (2, 2)), "zorder": 3}

PLOTS: Mapping[str, Callable[[ResultFolder, Evidence], list[Plot]]] = {"ndn": ndn_plots, "tcp": tcp_plots}
"""Plots of traffic without windows."""


def all_plots(folder: ResultFolder) -> list[Plot]:
    """Every plot that the run's samples allow; several sessions get a set each."""
    if folder.evidence is None:
        return []
    plots = []
    for session in folder.sessions:
        if start_of(folder.evidence.events, session["name"]) is None:
            continue
        if own_plots := PLOTS.get(traffic_of(folder.plan).name):
            plots += own_plots(folder, folder.evidence)
            continue
        prefix = f"{session['name']}-" if len(folder.sessions) > 1 else ""
        plots += [plot for plot in _session_plots(folder, folder.evidence, session, prefix) if plot is not None]
    return plots


def _session_plots(folder: ResultFolder, evidence: Evidence, session: Session, prefix: str) -> list[Plot | None]:
    law_check = next((c for c in folder.checks if isinstance(c, FollowsLaw) and _is_of(c, session)), None)
    rates = planned.rates_pps(folder.plan, session)

    def law(axes: Axes, samples: dict[str, Timed]) -> None:
        if law_check is not None:
            _draw_law(axes, evidence, session, law_check, samples)

    def rate_lines(axes: Axes, samples: dict[str, Timed]) -> None:
        for connection in samples:
            axes.axhline(rates[connection], label=f"_link's rate of {connection}", **_ASKED)
        axes.plot([], [], **_ASKED, label="link's rate")

    def rate_shares(axes: Axes, samples: dict[str, Timed]) -> None:
        for connection in samples:
            share = rates[connection] / sum(rates.values())
            axes.axhline(share, label=f"_link's part of all rates of {connection}", **_ASKED)
        axes.plot([], [], **_ASKED, label="link's part of all rates")

    def draw(
        name: str,
        series: str,
        title: str,
        unit: str,
        description: str,
        extra: Callable[[Axes, dict[str, Timed]], None] | None = None,
        top: float | None = None,
    ) -> Plot | None:
        samples = evidence.samples(series, session["name"])
        if not samples:
            return None
        with style.new_plot(title, unit) as (figure, axes):
            _draw_lines(axes, session, samples)
            if extra:
                extra(axes, samples)
            axes.set_ylim(0, top)
            axes.set_xlim(0, max(float(s.t_s[-1]) for s in samples.values() if s.t_s.size) or None)
            _draw_events(axes, evidence, session["name"])
            axes.legend(ncols=4, **style.LEGEND)
            return drawn(figure, prefix + name, description)

    return [
        draw(
            "window-share",
            "window_share",
            "Share of the session's window",
            "share",
            "Each connection's share of the session's window over time, with the law and its tolerance.",
            law,
            1.05,
        ),
        draw(
            "delivered-share",
            "delivered_share",
            "Share of what was delivered",
            "share",
            "Each connection's share of the packets that the receiver got, over the last second.",
            rate_shares,
            1.05,
        ),
        draw("windows", "window_packets", "Windows", "packets", "Each connection's window in packets over time."),
        draw(
            "delivery-rate",
            "delivered_pps",
            "Delivery rate",
            "packets/s",
            "Packets per second that the receiver got on each connection, with the links' rates.",
            rate_lines,
        ),
        draw("rtt", "rtt_ms", "RTT, with the wait for the ACK", "ms", "Each connection's round-trip time over time."),
        draw("in-flight", "in_flight_packets", "In flight", "packets", "Packets in flight on each connection."),
    ]


def _is_of(check: FollowsLaw, session: Session) -> bool:
    """Whether the check is about this session and the policy that it had."""
    return check.session in (None, session["name"]) and (not check.policy or session["policy"] in check.policy)


def _draw_lines(axes: Axes, session: Session, samples: dict[str, Timed]) -> None:
    links = {str(connection["index"]): connection["link"] for connection in session["connections"]}
    for number, (connection, s) in enumerate(samples.items()):
        label = f"{connection} ({links[connection]})" if connection in links else connection
        axes.plot(s.t_s, s.values, **style.line(number), label=label)


def _draw_law(axes: Axes, evidence: Evidence, session: Session, check: FollowsLaw, samples: dict[str, Timed]) -> None:
    law = law_for(evidence, session, check.start_s, check.rates)
    end = max((float(s.t_s[-1]) for s in samples.values() if s.t_s.size), default=0.0)
    t_s = np.linspace(0, end, 400)
    for number, connection in enumerate(samples):
        share = law.share(connection, t_s)
        axes.plot(t_s, share, label=f"_law ±{check.tolerance:g} of {connection}", **_ASKED)
        axes.fill_between(
            t_s, share - check.tolerance, share + check.tolerance, color=style.colour(number), alpha=0.16, linewidth=0
        )
    axes.plot([], [], **_ASKED, label=f"law ±{check.tolerance:g}")
    judged_to = min(check.to_s, end)
    axes.axvspan(check.from_s, judged_to, color=style.SHADE, zorder=0)
    axes.text(
        (check.from_s + judged_to) / 2,
        1.0,
        f"judged {check.from_s:g} s to {judged_to:.0f} s",
        ha="center",
        va="center",
        fontsize=8.5,
        color=style.MUTED,
    )


def _draw_events(axes: Axes, evidence: Evidence, session: str) -> None:
    """Events other than the transfer's own start and end, as vertical lines with their kind."""
    start = evidence.start_ns(session)
    right = axes.get_xlim()[1]
    for event in evidence.events:
        at_s = (event.t_ns - start) / 1e9
        if event.kind in ("transfer_start", "transfer_end") or not 0 <= at_s <= right:
            continue
        axes.axvline(at_s, color=style.MUTED, linewidth=1, linestyle=(0, (4, 2)))
        axes.annotate(
            event.text or event.kind,
            (at_s, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -3),
            textcoords="offset points",
            rotation=90,
            va="top",
            ha="left",
            fontsize=8,
            color=style.MUTED,
        )
