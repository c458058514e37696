"""Plots of a run of the kernel's TCP: what the sender's socket said of itself (TCP_INFO), every 50 ms."""

from __future__ import annotations

from testbed.judge.checks.evidence import Evidence, Timed
from testbed.results.report.folder import ResultFolder
from testbed.results.report.over_time import over_time
from testbed.results.report.plot import Plot

_WINDOW = "The congestion window, what is in flight of it, and the slow-start threshold where it is not infinite."
_WINDOWS = {
    "window": "sender_cwnd_packets",
    "in flight": "sender_in_flight_packets",
    "threshold": "sender_ssthresh_packets",
}
_ADVERTISED = "The window that the receiver advertises, as the sender has it."
_RTT = "The smoothed round-trip time, and the least so far."
_DELIVERY = "The rate of delivery as the sender measures it, from its acknowledgements."

_PLOTS = (
    ("tcp-advertised", "Advertised window", "KiB", _ADVERTISED, {"advertised": "sender_peer_window_bytes"}, 1 / 1024),
    ("tcp-cwnd", "Congestion window", "segments", _WINDOW, _WINDOWS, 1.0),
    ("tcp-rtt", "Round trip", "ms", _RTT, {"smoothed": "sender_rtt_ms", "least": "sender_min_rtt_ms"}, 1.0),
    ("tcp-delivery", "Delivery rate", "Mbit/s", _DELIVERY, {"delivered": "sender_delivery_bps"}, 1e-6),
)
"""Name, title, unit, description, the series by label, and the unit's number per unit of the series."""


def tcp_plots(folder: ResultFolder, evidence: Evidence) -> list[Plot]:
    """Plots of the run's samples; a transfer that was over between two samples has none."""
    session = folder.sessions[0]["name"]
    plots = []
    for name, title, unit, description, series, scale in _PLOTS:
        lines = {
            label: Timed(found.t_s, found.values * scale)
            for label, one in series.items()
            for found in list(evidence.samples(one, session).values())[:1]  # of the session's one connection
        }
        if plot := over_time(name, title, unit, description, lines):
            plots.append(plot)
    return plots
