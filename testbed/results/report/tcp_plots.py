"""Plots of a run of the kernel's TCP: what the sender's socket said of itself (TCP_INFO), every 50 ms."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.judge.checks.evidence import Evidence, Timed
from testbed.results.report.folder import ResultFolder
from testbed.results.report.over_time import over_time
from testbed.results.report.plot import Plot


def tcp_plots(folder: ResultFolder, evidence: Evidence) -> list[Plot]:
    """Plots of the run's samples; a transfer that was over between two samples has none."""
    session = folder.sessions[0]["name"]
    found = [
        _lines(
            evidence,
            session,
            "tcp-advertised",
            "Advertised window",
            "KiB",
            "The window that the receiver advertises, as the sender has it.",
            {"advertised": "sender_peer_window_bytes"},
            scale=1 / 1024,
        ),
        _lines(
            evidence,
            session,
            "tcp-cwnd",
            "Congestion window",
            "segments",
            "The congestion window, what is in flight of it, and the slow-start threshold where it is not infinite.",
            {
                "window": "sender_cwnd_packets",
                "in flight": "sender_in_flight_packets",
                "threshold": "sender_ssthresh_packets",
            },
        ),
        _lines(
            evidence,
            session,
            "tcp-rtt",
            "Round trip",
            "ms",
            "The smoothed round-trip time, and the least so far.",
            {"smoothed": "sender_rtt_ms", "least": "sender_min_rtt_ms"},
        ),
        _lines(
            evidence,
            session,
            "tcp-delivery",
            "Delivery rate",
            "Mbit/s",
            "The rate of delivery as the sender measures it, from its acknowledgements.",
            {"delivered": "sender_delivery_bps"},
            scale=1e-6,
        ),
    ]
    return [plot for plot in found if plot is not None]


def _lines(
    evidence: Evidence,
    session: str,
    name: str,
    title: str,
    unit: str,
    description: str,
    lines: Mapping[str, str],
    scale: float = 1.0,
) -> Plot | None:
    """Series by label, in units of 1/``scale``."""
    samples = {label: _of_the_sender(evidence, series, session) for label, series in lines.items()}
    scaled = {label: Timed(found.t_s, found.values * scale) for label, found in samples.items() if found is not None}
    return over_time(name, title, unit, description, scaled)


def _of_the_sender(evidence: Evidence, series: str, session: str) -> Timed | None:
    """The samples of the session's one connection."""
    return next(iter(evidence.samples(series, session).values()), None)
