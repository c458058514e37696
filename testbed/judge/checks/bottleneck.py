"""``bottleneck``: how well is a shared link used, and how evenly is it divided?"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import AliasChoices, Field

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.fair_share import jain
from testbed.judge.checks.optimum import Capacity
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, Seconds
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.checks.round_trip import base_rtt_ms
from testbed.judge.checks.together import flow_wire_rates_bps, rate_of, session_rates_bps
from testbed.judge.status import Status
from testbed.message import Message
from testbed.plan.model import Plan, Session
from testbed.series import named

MOST = 1.05
"""Times what the link carries, beyond which nobody can have got it: the ends of the judged time are not exact."""
DELTA = 0.3
"""Largest distance from an even share at which a late comer has converged."""
HELD_S = 3
"""Time that a late comer has to keep its share, second by second: a start that overshoots is no convergence."""


class Bottleneck(CheckParameters):
    """The throughput over ``link``, of all sessions and flows, is at least ``min`` of the link's capacity in that time,
    at its rates in the timeline and less its losses. More than the capacity fails as well.

    The run's figures have the measurements, for tables: ``utilization``, that part; ``queue_ms``, the largest of the
    connections' mean RTTs less that without a queue. Several connections have ``jain``, the fairness index of their
    rates. Beside iperf3, ``rival_share`` is the least of its flows' parts of an even share of the link.

    With ``late``, the name of a session: ``converged_s``, the time from its start until it has an even share of the
    link, give or take 30%, in each of three seconds in a row (to ``to`` if it never has). Source: RFC 5166, section
    2.3, δ-fair convergence.

    All from ``from`` to ``to``, in seconds since the first session's start, during which everybody has to send.
    """

    of_traffic: ClassVar[tuple[str, ...]] = WITH_SESSIONS
    tells_figures: ClassVar[bool] = True

    judge: Literal["bottleneck"]
    link: str = Field(min_length=1)
    min: float = Field(0.0, ge=0, le=1)
    late: str | None = None
    from_s: Seconds = Field(validation_alias=AliasChoices("from", "from_s"))
    to_s: Seconds = Field(validation_alias=AliasChoices("to", "to_s"))

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"What arrives over link {self.link} is at least {self.min:.0%} of what it carries, and no more than that "
            f"(mean from {self.from_s:g} s to {self.to_s:g} s)."
        )


def bottleneck(parameters: Bottleneck, evidence: Evidence) -> CheckResult:
    """The result from received frames on the wire and the senders' RTTs."""
    link, from_s, to_s = parameters.link, parameters.from_s, parameters.to_s
    capacity = _capacity(evidence, link)
    carried_bps = (capacity.arrived_bits(to_s) - capacity.arrived_bits(from_s)) / (to_s - from_s)
    if not carried_bps:
        raise CannotJudge(
            "bottleneck.carries-nothing",
            "link {link} carries nothing from {from_s:g} s to {to_s:g} s",
            link=link,
            from_s=from_s,
            to_s=to_s,
        )
    crossing = {session["name"]: session for session in evidence.plan["sessions"] if _connection(session, link)}
    payload = session_rates_bps(evidence, from_s, to_s)
    rates = {name: payload[name] * _wire_of_payload(evidence.plan, session) for name, session in crossing.items()}
    rivals = flow_wire_rates_bps(evidence, link, from_s, to_s)
    everyone = rates | rivals
    used = sum(everyone.values()) / carried_bps
    figures: dict[str, float] = {"utilization": used}
    queues_ms = [_queue_ms(evidence, session, link, from_s, to_s) for session in crossing.values()]
    if known_ms := [queue_ms for queue_ms in queues_ms if queue_ms is not None]:
        figures["queue_ms"] = max(known_ms)
    if len(everyone) > 1:
        figures["jain"] = jain(list(everyone.values()))
    if rivals:
        figures["rival_share"] = min(rivals.values()) * len(everyone) / carried_bps
    if parameters.late is not None:
        figures["converged_s"] = _converged_s(evidence, crossing, parameters.late, capacity, len(everyone), to_s)
    each = ", ".join(f"{name} {rate / 1e6:.3f}" for name, rate in everyone.items())
    beyond = [Message("bottleneck.beyond", "The link doesn't carry that much.")] if used > MOST else []
    return CheckResult.of(
        parameters,
        Status.PASS if parameters.min <= used <= MOST else Status.FAIL,
        Message(
            "bottleneck.utilization",
            "What arrived over link {link} is {used:.1%} of the {carried_mbit_s:.3f} Mbit/s that it carries; expected "
            "at least {min:.0%}. On the wire from {from_s:g} s to {to_s:g} s, Mbit/s: {each}.",
            link=link,
            used=used,
            carried_mbit_s=carried_bps / 1000000.0,
            min=parameters.min,
            from_s=from_s,
            to_s=to_s,
            each=each,
        ).followed_by(*beyond),
        measured=rounded(used),
        expected=f"at least {parameters.min:g}",
        figures={name: rounded(value) for name, value in figures.items()},
    )


def _capacity(evidence: Evidence, name: str) -> Capacity:
    rate_of(evidence, name)
    link = next(link for link in evidence.plan["links"] if link["name"] == name)
    return Capacity.of(link, evidence.plan["timeline"], 8 * float(link["frame_bytes"]), 0.0)


def _connection(session: Session, link: str) -> str | None:
    """The first of a session's connections that crosses the link."""
    return next((str(c["index"]) for c in session["connections"] if link in planned.path_of(c)), None)


def _wire_of_payload(plan: Plan, session: Session) -> float:
    """Bytes of a full frame per byte of its payload."""
    frame_bytes = planned.link_of(plan, session, planned.connections(session)[0])["frame_bytes"]
    return frame_bytes / planned.payload_bytes(session)


def _queue_ms(evidence: Evidence, session: Session, link: str, from_s: float, to_s: float) -> float | None:
    """The mean queueing delay on a session's connection over the link; None without RTT samples."""
    connection = _connection(session, link)
    samples = evidence.samples("rtt_ms", session["name"]).get(str(connection))
    after_s = _started_s(evidence, session)
    part = samples.between(from_s - after_s, to_s - after_s) if samples else None
    known = part.values[part.values > 0] if part else None
    if known is None or not known.size:
        return None
    return float(known.mean()) - base_rtt_ms(evidence.plan, session, str(connection))


def _started_s(evidence: Evidence, session: Session) -> float:
    """Since the first session's start."""
    first_ns = min(evidence.start_ns(other["name"]) for other in evidence.plan["sessions"])
    return (evidence.start_ns(session["name"]) - first_ns) / 1e9


def _converged_s(
    evidence: Evidence, crossing: dict[str, Session], late: str, capacity: Capacity, count: int, to_s: float
) -> float:
    if late not in crossing:
        raise CannotJudge(
            "bottleneck.no-session",
            "no session {session!r} crosses the link; sessions: {sessions}",
            session=late,
            sessions=", ".join(crossing),
        )
    start_s = _started_s(evidence, crossing[late])
    # Its rate was taken from them before.
    received = evidence.reader.read(named("received_bytes"), {"session": late})[late]
    samples = Timed.of(received, evidence.start_ns(late), None)
    wire_bits = 8 * _wire_of_payload(evidence.plan, crossing[late])
    last_s = min(to_s - start_s, float(samples.t_s[-1])) - HELD_S
    for began_s in samples.t_s[samples.t_s <= last_s]:
        ends_s = began_s + np.arange(HELD_S + 1)
        got = np.diff(np.interp(ends_s, samples.t_s, samples.values)) * wire_bits
        even = np.diff([capacity.arrived_bits(start_s + end_s) for end_s in ends_s]) / count
        if (np.abs(got - even) <= DELTA * even).all():
            return float(began_s)
    return to_s - start_s
