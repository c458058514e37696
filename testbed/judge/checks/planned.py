"""Quantities of a plan that checks need: rates, packet sizes, bounds.

The plan is the JSON document that a run was made from (``plan.json``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from testbed.judge.checks.evidence import CannotJudge
from testbed.message import unknown
from testbed.plan.intervals import link_intervals
from testbed.plan.model import Action, Connection, Plan, Session
from topologies.link import Link, rate_pps
from topologies.units import whole_bps


def as_configured(key: str, value: float) -> float:
    """The value of a link's property as programs are configured with it: a rate is in whole bit/s."""
    return float(whole_bps(value) if key == "rate_bps" else value)


def session_of(plan: Plan, name: str | None) -> Session:
    """The session of that name; without a name the plan's only or first one. CannotJudge if there is none."""
    for session in plan["sessions"]:
        if name in (None, session["name"]):
            return session
    known = (session["name"] for session in plan["sessions"])
    raise CannotJudge.of(unknown("plan.no-session", "session", name, known))


def session_window_packets(session: Session) -> float:
    """The session's whole window W in packets: send window / MTU, seldom a whole number, as agents (and ncp-go) take
    it. What telemetry calls ``window_packets`` is a connection's part of it."""
    return float(session["send_window_bytes"] / session["mtu_bytes"])


def connections(session: Session) -> list[str]:
    """The connections' indices as their ``connection`` tags have them."""
    return [str(connection["index"]) for connection in session["connections"]]


def link_of(plan: Plan, session: Session, connection: str) -> Link:
    """The link that a connection runs over."""
    name = next(c["link"] for c in session["connections"] if str(c["index"]) == connection)
    return next(link for link in plan["links"] if link["name"] == name)


def rates_pps(plan: Plan, session: Session) -> dict[str, float]:
    """Each connection's rate in full-size packets per second: the least on its path, where a link that several of
    the session's connections cross is shared evenly."""
    rates = {link["name"]: rate_pps(link) for link in plan["links"]}
    over = connections_over(session)
    return {str(c["index"]): min(rates[x] / over[x] for x in path_of(c)) for c in session["connections"]}


def path_of(connection: Connection) -> list[str]:
    """The names of the links that a connection's packets cross, in order."""
    return connection.get("path", [connection["link"]])


def connections_over(session: Session) -> Counter[str]:
    """The number of a session's connections over each link, by the link's name."""
    return Counter(name for connection in session["connections"] for name in path_of(connection))


def bound_bps(plan: Plan, session: Session, links: Collection[str] | None = None) -> float:
    """Payload bits/s that a session's links (or only ``links``) carry at their rates, less what they lose."""
    used = {link["name"]: link for c in connections(session) for link in [link_of(plan, session, c)]}
    pps = sum(rate_pps(x) * (1 - x["loss"]) for x in used.values() if links is None or x["name"] in links)
    return float(pps * payload_bytes(session) * 8)


def payload_bytes(session: Session) -> float:
    """Payload bytes in a full packet."""
    return session["mtu_bytes"] if "mtu_bytes" in session else session["segment_bytes"]


def flows_over(plan: Plan, link: str) -> list[str]:
    """The flows beside the sessions that cross a link, named as in telemetry."""
    return [f"iperf3-{flow['number']}" for flow in plan.get("cross_traffic", []) if link in flow["path"]]


def initial_windows(session: Session) -> dict[str, float]:
    """Each connection's initial window in packets; equal parts of W where the plan says nothing."""
    indices = connections(session)
    equal = [session_window_packets(session) / len(indices)] * len(indices)
    windows: Sequence[float] = session.get("initial_windows") or equal
    return {index: float(window) for index, window in zip(indices, windows, strict=True)}


def base_rtt_ms(plan: Plan, session: Session, connection: str) -> float:
    """A connection's mean RTT without a queue, in ms."""
    delays_ms = {link["name"]: float(link["delay_ms"]) for link in plan["links"]}
    path = next(path_of(c) for c in session["connections"] if str(c["index"]) == connection)
    return 2 * sum(delays_ms[link] for link in path) + float(session.get("ack_interval_ms", 0.0)) / 2


class Capacity(NamedTuple):
    """A link's capacity, bits/s of payload, from each time on (s), and its delay."""

    steps: Sequence[tuple[float, float]]
    """Rates in the order of time, the first at 0."""
    delay_s: float

    @classmethod
    def of(cls, link: Link, timeline: Sequence[Action], bits_per_packet: float, delay_s: float) -> Capacity:
        """The supply of a link that loses packets, is down or changes its rate, by the timeline, from its sender's
        end."""
        steps = [
            (each.from_s, each.up * rate_pps(each.link) * (1 - each.link["loss"]) * bits_per_packet)
            for each in link_intervals(link, timeline, "ab")
        ]
        return cls(steps, delay_s)

    def arrived_bits(self, by_s: float) -> float:
        """Bits that have arrived by a time over a link that was never idle."""
        until = by_s - self.delay_s
        ends = [*(at_s for at_s, _ in self.steps[1:]), float("inf")]
        return sum(
            bps * max(0.0, min(end_s, until) - from_s) for (from_s, bps), end_s in zip(self.steps, ends, strict=True)
        )
