"""Says why windows do not go where a check wants them: what the samples show, what the policy allows."""

import numpy as np

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.message import Messages
from testbed.plan.model import Session

_SLOW_LINK = 0.9  # a link that delivers less than this part of its rate is worth a sentence


def windows_and_links(evidence: Evidence, session: Session, from_s: float, to_s: float) -> Messages:
    """Sentences about pinned windows and underused links in ``from_s``..``to_s``; none if there is nothing to say."""
    sentences = _pinned_windows(evidence, session, from_s, to_s)
    rates = planned.by_connection(planned.rates_by_plan(evidence.plan, session))
    for connection, measured in acknowledged_pps(evidence, session, from_s, to_s).items():
        if measured < _SLOW_LINK * (link_pps := planned.mean(rates[connection], from_s, to_s)):
            sentences.add_message(
                "link.underused",
                f"Connection {connection} had {measured:.0f} packets/s acknowledged on a link of "
                f"{link_pps:.0f} packets/s.",
            )
    return sentences


def _pinned_windows(evidence: Evidence, session: Session, from_s: float, to_s: float) -> Messages:
    pinned: dict[str, tuple[float, float]] = {}
    for connection, samples in evidence.samples("window_packets", session["name"]).items():
        since = _constant_since(samples.between(0.0, to_s))
        # Constant for at least half of the judged time, or it explains little.
        if since is not None and to_s - since[0] >= (to_s - from_s) / 2:
            pinned[connection] = since
    sentences = Messages()
    values = {round(value, 3) for _, value in pinned.values()}
    if len(values) == 1 and set(pinned) == set(planned.connections(session)):
        who = {1: "The window is", 2: "Both windows are"}.get(len(pinned), f"All {len(pinned)} windows are")
        since_s = max(start for start, _ in pinned.values())
        sentences.add_message(
            "windows.unchanged", f"{who} at {max(values):g} packets, unchanged since {since_s:.1f} s."
        )
    else:
        for connection, (since_s, value) in pinned.items():
            sentences.add_message(
                "window.unchanged",
                f"The window of connection {connection} is at {value:g} packets, unchanged since {since_s:.1f} s.",
            )
    cap = session["policy_facts"].get("cap_packets")
    if cap is not None and any(value >= cap for value in values):
        sentences.add_message(
            "windows.capped",
            f"The policy {session['policy']} caps each connection's window at {cap:g} packets, so the windows can't "
            "follow the ratio of the connections' throughputs.",
        )
    return sentences


def _constant_since(samples: Timed) -> tuple[float, float] | None:
    """The time from which on the values stay at their last one, and that one; None without samples."""
    if not samples.values.size:
        return None
    last = float(samples.values[-1])
    different = np.flatnonzero(~np.isclose(samples.values, last, rtol=1e-9, atol=0))
    first = int(different[-1]) + 1 if different.size else 0
    return float(samples.t_s[first]), last


def acknowledged_pps(evidence: Evidence, session: Session, from_s: float, to_s: float) -> dict[str, float]:
    """Mean acknowledged packets per second by connection over the samples between ``from_s`` and ``to_s``.

    Taken from the cumulative counters; connections with fewer than two samples there are left out.
    """
    means = {}
    for connection, samples in evidence.samples("acked", session["name"]).items():
        part = samples.between(from_s, to_s)
        if part.t_s.size >= 2 and part.t_s[-1] > part.t_s[0]:
            means[connection] = float((part.values[-1] - part.values[0]) / (part.t_s[-1] - part.t_s[0]))
    return means
