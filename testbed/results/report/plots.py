"""The plots of a run: what a run of each traffic draws over time."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from testbed.documents import read_csv
from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.law import FollowsLaw
from testbed.judge.status import BEST_FIRST, Status
from testbed.plan.codes import is_about
from testbed.plan.model import Session
from testbed.plan.traffic_types import traffic_of
from testbed.results.report import style
from testbed.results.report.folder import ResultFolder
from testbed.results.report.plot import Curve, Plot, curve_plot
from testbed.results.report.words import of_events
from testbed.series.catalogue import SEGMENTS
from testbed.series.reader import start_of

# Expectations are drawn over measurements, thin, so that both can be seen where they agree.
_THIN: Any = {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (2, 2))}
_EXPECTED: Any = {**_THIN, "zorder": 3}
MOST_DOTS = 2500
"""Most points of the consumer's log, evenly over it: more would make the page heavy, and show no more."""


def all_plots(folder: ResultFolder) -> list[Plot]:
    """Every plot that the run's samples allow; several sessions get a set each."""
    if folder.evidence is None:
        return []
    draw = {"ndn": ndn_plots, "tcp": tcp_plots}.get(traffic_of(folder.plan).name, _session_plots)
    begun = [one for one in folder.plan["sessions"] if start_of(folder.evidence.events, one["name"]) is not None]
    return [plot for session in begun for plot in draw(folder, folder.evidence, session)]


_SHARE = "Each connection's share of the session's window over time."
_DELIVERED = "Each connection's share of the packets that the receiver got in the last second, and its link's of rates."
_ARRIVING = "Packets per second that the receiver got on each connection, with the links' rates."
_OF_A_SESSION = (
    ("window-share", "window_share", "Share of the session's window", "share", _SHARE),
    ("delivered-share", "delivered_share", "Share of what was delivered", "share", _DELIVERED),
    ("windows", "window_packets", "Windows", "packets", "Each connection's window in packets over time."),
    ("delivery-rate", "delivered_pps", "Delivery rate", "packets/s", _ARRIVING),
    ("rtt", "rtt_ms", "RTT, with the wait for the ACK", "ms", "Each connection's round-trip time over time."),
    ("in-flight", "in_flight_packets", "In flight", "packets", "Packets in flight on each connection."),
)
"""Name, series, title, unit and caption of each plot of a session with windows."""
_DECIDED_IN = dict.fromkeys(("goodput", "multipath", "bottleneck", "fair_share", "link_filled"), "delivery-rate")
_DECIDED_IN["round_trip"] = "rtt"
"""Plots in which one sees whether a check holds, by its judge, where that is not the plot with the law."""


def deciding(folder: ResultFolder, plots: Sequence[Plot]) -> Plot | None:
    """The plot for the first screen: that of the first of the worst checks, or else the first, which has the law."""
    judged = [check for check in folder.verdict.checks if check.status != Status.SKIPPED]
    worst = max(judged, key=lambda check: BEST_FIRST.index(check.status), default=None)
    name = _DECIDED_IN.get(worst.judge, "") if worst else ""
    return next((plot for plot in plots if plot.name.endswith(name)), next(iter(plots), None))


def _session_plots(folder: ResultFolder, evidence: Evidence, session: Session) -> list[Plot]:
    prefix, of = (
        (f"{session['name']}-", f", session {session['name']}") if len(folder.plan["sessions"]) > 1 else ("", "")
    )
    links = {str(connection["index"]): f" ({connection['link']})" for connection in session["connections"]}
    rates = planned.rates_by_plan(folder.plan, session)
    whole = [(at_s, sum(now.values()) or 1.0, now) for at_s, now in rates]
    parts = [(at_s, {c: pps / total for c, pps in now.items()}) for at_s, total, now in whole]
    expected = {
        "delivered-share": ("link's part of all rates", planned.by_connection(parts)),
        "delivery-rate": ("link's rate", planned.by_connection(rates)),
    }
    law = next((c for c in folder.checks if isinstance(c, FollowsLaw) and _is_of(c, session)), None)
    events = _events(folder, evidence, session["name"])
    plots = []
    for name, series, title, unit, caption in _OF_A_SESSION:
        samples = evidence.samples(series, session["name"])
        if not samples:
            continue
        curves = [
            Curve(f"{connection}{links.get(connection, '')}", s.t_s, s.values, style.line(number))
            for number, (connection, s) in enumerate(samples.items())
        ]
        if name in expected:
            label, values = expected[name]
            curves += [
                _steps(f"_{label} of {one}", steps, _end(samples) or 0.0)
                for one, steps in values.items()
                if one in samples
            ]
            curves.append(Curve(label, [], [], _EXPECTED))
        more: Any = {"right": _end(samples), "top": 1.05 if unit == "share" else None, "events": events}
        if law and name == "window-share":
            more["further"] = partial(_draw_law, evidence=evidence, session=session, check=law, samples=samples)
            caption = f"{caption.rstrip('.')}, with the law and its tolerance."
        plots.append(curve_plot(prefix + name, title + of, unit, caption, curves, **more))
    return plots


def _steps(label: str, steps: planned.Steps, end_s: float) -> Curve:
    """A line of what is expected, level between changes."""
    times, values = zip(*(step for step in steps if step[0] <= end_s), strict=True)
    if len(times) == 1:
        return Curve(label, None, values[0], _EXPECTED)
    return Curve(label, [0.0, *np.repeat(times[1:], 2), end_s], np.repeat(values, 2), _EXPECTED)


def _is_of(check: FollowsLaw, session: Session) -> bool:
    """Whether the check is about this session and the policy that it had."""
    return check.session in (None, session["name"]) and is_about(check.policy, session)


def _draw_law(
    axes: Axes, evidence: Evidence, session: Session, check: FollowsLaw, samples: Mapping[str, Timed]
) -> None:
    law = check.law(evidence, session)
    end = _end(samples) or 0.0
    t_s = np.linspace(0, end, 400)
    for number, connection in enumerate(samples):
        share = law.share(connection, t_s)
        low, high = share - check.tolerance, share + check.tolerance
        axes.plot(t_s, share, label=f"_law ±{check.tolerance:g} of {connection}", **_EXPECTED)
        axes.fill_between(t_s, low, high, color=style.colour(number), alpha=0.16, linewidth=0)
    axes.plot([], [], **_EXPECTED, label=f"law ±{check.tolerance:g}")
    judged_to = min(check.to_s, end)
    if judged_to <= check.from_s:
        return  # it ended before that
    axes.axvspan(check.from_s, judged_to, color=style.SHADE, zorder=0)
    text = f"judged {check.from_s:g} s to {judged_to:.0f} s"
    ground = {"fc": style.SHADE, "ec": "none", "pad": 1}  # an event's line may cross it
    look: Any = {"ha": "center", "va": "center", "fontsize": 8.5, "color": style.MUTED, "bbox": ground}
    axes.text((check.from_s + judged_to) / 2, 1.0, text, **look)


Events = Sequence[tuple[float, str]]
Lines = Mapping[str, Timed | None]


def _events(folder: ResultFolder, evidence: Evidence, session: str) -> Events:
    """Events other than the transfer's own start and end, in order: seconds since its start, and words."""
    start_ns, words = evidence.start_ns(session), of_events(folder.plan)
    return [
        ((event.t_ns - start_ns) / 1e9, words.get(event.text, event.text) or event.kind)
        for event in evidence.events
        if event.kind not in ("transfer_start", "transfer_end")
    ]


def _over_time(
    name: str, title: str, unit: str, caption: str, lines: Lines, per: float = 1.0, *further: Curve, events: Events
) -> list[Plot]:
    """A line by its label, in units of ``per``, and ``further`` ones; no plot where no line has a sample."""
    shown = {label: timed for label, timed in lines.items() if timed and timed.t_s.size}
    curves = []
    for number, (label, timed) in enumerate(shown.items()):
        look = style.line(number) | {"marker": "." if timed.t_s.size == 1 else None}
        curves.append(Curve(label, timed.t_s, timed.values / per, look))
    every, right = [*curves, *further], _end(shown)
    return [curve_plot(name, title, unit, caption, every, right=right, events=events)] if shown else []


def _end(samples: Mapping[str, Timed]) -> float | None:
    """The time of the last sample; None where there is none after 0 s."""
    return max((float(s.t_s[-1]) for s in samples.values() if s.t_s.size), default=0.0) or None


_WINDOW = "The congestion window over time, as the sender's kernel has it."
_WINDOWS = {
    "window": "sender_cwnd_packets",
    "in flight": "sender_in_flight_packets",
    "threshold": "sender_ssthresh_packets",
}
_ADVERTISED = "The window that the receiver advertises, as the sender has it."
_RTT = "The round-trip time over time, as the sender's kernel has it."
_DELIVERY = "The rate of delivery as the sender measures it, from its acknowledgements."
_OF_TCP = (
    ("tcp-advertised", "Advertised window", "KiB", _ADVERTISED, {"advertised": "sender_peer_window_bytes"}, 1024),
    ("tcp-cwnd", "Congestion window", "segments", _WINDOW, _WINDOWS, 1.0),
    ("tcp-rtt", "Round trip", "ms", _RTT, {"smoothed": "sender_rtt_ms", "least": "sender_min_rtt_ms"}, 1.0),
    ("tcp-delivery", "Delivery rate", "Mbit/s", _DELIVERY, {"delivered": "sender_delivery_bps"}, 1e6),
)
"""Samples of the sender's socket (TCP_INFO), every 50 ms: name, title, unit, caption, the series by label, and its unit
per unit of the plot."""


def tcp_plots(folder: ResultFolder, evidence: Evidence, session: Session) -> list[Plot]:
    """Plots of the run's samples; a transfer that was over between two samples has none."""
    plots, events = [], _events(folder, evidence, session["name"])
    for name, title, unit, caption, series, per in _OF_TCP:
        of = {label: next(iter(evidence.samples(one, session["name"]).values()), None) for label, one in series.items()}
        plots += _over_time(name, title, unit, caption, of, per, events=events)
    return plots


def ndn_plots(folder: ResultFolder, evidence: Evidence, session: Session) -> list[Plot]:
    """The consumer's log as round trips over time, its window, the forwarder's backlog, and what arrived."""

    def of(series: str) -> Timed | None:
        return evidence.samples(series, session["name"]).get("h1")

    events = _events(folder, evidence, session["name"])
    caption = "The consumer's window and its Interests in flight over time."
    windows = {"window": of("ndn_window"), "in flight": of("ndn_in_flight")}
    window = _over_time("ndn-window", "Window and Interests in flight", "Interests", caption, windows, events=events)
    caption, goodput = "Content per second that arrived, over the last second.", {"goodput": of("ndn_goodput_bps")}
    arrived = _over_time("ndn-goodput", "Goodput", "Mbit/s", caption, goodput, 1e6, events=events)
    backlog = _backlog(folder, evidence, session["name"], events)
    return [*_round_trips(folder.path / SEGMENTS, events), *window, *backlog, *arrived]


def _round_trips(log: Path, events: Events) -> list[Plot]:
    """Round trips of the segments that were requested once."""
    rows = [row for row in read_csv(log) if row["rtt_ms"]] if log.exists() else []
    if not rows:
        return []
    every = -(-len(rows) // MOST_DOTS)
    curves = []
    for number, (label, sign) in enumerate((("without a mark", "o"), ("with a mark", "x"))):
        shown = [row for row in rows[::every] if (row["marked"] in ("1", "true")) == bool(number)]
        look = {"marker": sign, "markersize": 2, "linestyle": "none", "color": style.colour(number)}
        if shown:
            t_s, rtt_ms = [float(row["t_ms"]) / 1000 for row in shown], [float(row["rtt_ms"]) for row in shown]
            curves.append(Curve(label, t_s, rtt_ms, look))
    caption = "Each segment's round trip over time, as the consumer logs it"
    caption += "." if every == 1 else f"; one of {every} is drawn."
    right = float(rows[-1]["t_ms"]) / 1000 or None
    return [curve_plot("ndn-rtt", "Round trips", "ms", caption, curves, right=right, events=events)]


def _backlog(folder: ResultFolder, evidence: Evidence, session: str, events: Events) -> list[Plot]:
    """The backlog of the forwarder's face to the consumer, with the threshold above which it marks."""
    forwarder = folder.plan["ndn"]["nodes"][1]
    face = forwarder["faces"][0]["name"]
    found = evidence.samples("ndn_backlog_max_bytes", session)
    threshold_bytes = forwarder["marking"].get("threshold_bytes")
    threshold = [Curve("threshold", None, threshold_bytes / 1000, _THIN)] if threshold_bytes else []
    title = "Backlog of the forwarder's socket"
    caption = f"Largest backlog of the socket of face {face} in each interval"
    caption += ", with the threshold for marks." if threshold else "."
    return _over_time("ndn-backlog", title, "kB", caption, {face: found.get(face)}, 1000, *threshold, events=events)
