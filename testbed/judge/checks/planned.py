"""Quantities of a plan that checks need: rates, packet sizes, bounds.

The plan is the JSON document that a run was made from (``plan.json``).
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from testbed.judge.checks.evidence import CannotJudge
from testbed.message import unknown
from testbed.plan.intervals import LinkInterval, at, link_intervals
from testbed.plan.model import Connection, Plan, Session
from topologies.link import Link, rate_pps
from topologies.units import whole_bps

Rates = Mapping[str, float]
"""Packets/s by connection."""
Steps = Sequence[tuple[float, float]]
"""Values from each time on (s), in order, the first at 0."""
Links = Mapping[str, LinkInterval]
"""Properties of links at a time, by name."""


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
    """The link that limits a connection's rate when the session starts."""
    name = next(c["link"] for c in session["connections"] if str(c["index"]) == connection)
    return next(link for link in plan["links"] if link["name"] == name)


def stages(
    plan: Plan, session: Session, *, back: bool = False, more_s: Iterable[float] = ()
) -> list[tuple[float, Links]]:
    """The links of a session's paths, each in the direction of the data (``back``: of what answers it), from each
    change of the timeline on: seconds since the session's start, the first 0; and from ``more_s`` on."""
    links, start_s = {link["name"]: link for link in plan["links"]}, session["start_s"]
    over: dict[str, list[LinkInterval]] = {}
    for connection in session["connections"]:
        host = session["sender_host"]
        for link in (links[name] for name in path_of(connection)):
            reverse = link["b"]["host"] == host
            host = link["a" if reverse else "b"]["host"]
            all_ = link_intervals(link, plan.get("timeline", []), "ba" if reverse != back else "ab")
            over[link["name"]] = [each for each in all_ if each.to_s > start_s]
    times = {each.from_s - start_s for those in over.values() for each in those}
    return [
        (at_s, {name: at(those, start_s + at_s) for name, those in over.items()})
        for at_s in sorted({max(0.0, at_s) for at_s in (*times, *more_s)})
    ]


def integral(steps: Steps, to_s: ArrayLike) -> NDArray[np.float64]:
    """The sum of value × seconds from 0 to each of the times, of their shape; 0 where that is earlier."""
    ends = [*(at_s for at_s, _ in steps[1:]), math.inf]
    each = (
        value * np.clip(np.asarray(to_s, dtype=np.float64) - from_s, 0.0, end_s - from_s)
        for (from_s, value), end_s in zip(steps, ends, strict=True)
    )
    return np.asarray(sum(each), dtype=np.float64)


def value_at(steps: Steps, at_s: ArrayLike) -> NDArray[np.float64]:
    """The values at times, of their shape; at the time of a change, what holds after it."""
    times, values = np.array(steps, dtype=np.float64).T
    return np.asarray(values[np.maximum(np.searchsorted(times, at_s, side="right") - 1, 0)], dtype=np.float64)


def mean(steps: Steps, from_s: float, to_s: float) -> float:
    """The mean of values between two times, where they are one the value then."""
    if len(steps) == 1 or to_s <= from_s:
        return float(value_at(steps, from_s))
    return float(integral(steps, to_s) - integral(steps, from_s)) / (to_s - from_s)


def rates_over_time(plan: Plan, session: Session) -> list[tuple[float, Rates]]:
    """Each connection's rate in full-size packets per second from each change on, up or down: the least on its path,
    where a link that several of the session's connections cross is shared evenly."""
    over = connections_over(session)
    return [
        (
            at_s,
            {str(c["index"]): min(rate_pps(now[x].link) / over[x] for x in path_of(c)) for c in session["connections"]},
        )
        for at_s, now in stages(plan, session)
    ]


def rates_pps(plan: Plan, session: Session, before_s: float = 0.0) -> Rates:
    """The rates when the session starts, or just before a later time."""
    return [rates for at_s, rates in rates_over_time(plan, session) if at_s < before_s or at_s == 0][-1]


def rates_by_plan(plan: Plan, session: Session) -> list[tuple[float, Rates]]:
    """Rates at which packets can be acknowledged by the plan alone, before anything was sent: from the start on, and
    from each time (s) at which the timeline changes them.

    Nothing is fitted to what was measured: a busy link without loss acknowledges packets at its rate. A connection is
    stopped while its reader is paused or a link of its path is down or loses everything.
    A loss of less than all is not in the law.
    """
    over = connections_over(session)
    pauses = [
        (str(action["connection"]), action["at_s"] - session["start_s"], action["for_s"])
        for action in plan.get("timeline", [])
        if action["kind"] == "pause_read"
    ]
    found: list[tuple[float, Rates]] = []
    ends = {max(0.0, at_s) for _, from_s, for_s in pauses for at_s in (from_s, from_s + for_s)}
    for at_s, now in stages(plan, session, more_s=ends):
        paused = {connection for connection, from_s, for_s in pauses if from_s <= at_s < from_s + for_s}
        brought = {name: _brought_pps(each) / over[name] for name, each in now.items()}
        paths = {str(c["index"]): path_of(c) for c in session["connections"]}
        rates = {c: 0.0 if c in paused else min(brought[name] for name in path) for c, path in paths.items()}
        if not found or rates != found[-1][1]:
            found.append((at_s, rates))
    return found


def _brought_pps(interval: LinkInterval) -> float:
    bursts = interval.link.get("gilbert_elliott")
    least_loss = min(bursts["loss_good"], bursts["loss_bad"]) if bursts else interval.link["loss"]
    return rate_pps(interval.link) if interval.up and least_loss < 1 else 0.0


def by_connection(rates: Sequence[tuple[float, Rates]]) -> dict[str, Steps]:
    """The steps of each connection's rate."""
    return {c: without_repeats([(at_s, each[c]) for at_s, each in rates]) for c in rates[0][1]}


def without_repeats(steps: Steps) -> Steps:
    """The steps at which the value changes."""
    return [step for before, step in pairwise([(-1.0, math.nan), *steps]) if step[1] != before[1]]


def path_of(connection: Connection) -> list[str]:
    """The names of the links that a connection's packets cross, in order."""
    return connection.get("path", [connection["link"]])


def connections_over(session: Session) -> Counter[str]:
    """The number of a session's connections over each link, by the link's name."""
    return Counter(name for connection in session["connections"] for name in path_of(connection))


def bound_bps(
    plan: Plan, session: Session, links: Collection[str] | None = None, from_s: float = 0.0, to_s: float = 0.0
) -> float:
    """Payload bits/s that a session's links (or only ``links``) carry between two times, at their rates in the
    timeline, less what they lose; those that are down carry nothing."""
    mine = [c for c in session["connections"] if links is None or c["link"] in links]
    only: Session = {**session, "connections": mine}
    return mean(carried_bps(plan, only), from_s, to_s)


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


def base_rtt_ms(plan: Plan, session: Session, connection: str, from_s: float = 0.0, to_s: float = 0.0) -> float:
    """A connection's mean RTT without a queue between two times, in ms."""
    path = next(path_of(c) for c in session["connections"] if str(c["index"]) == connection)
    rtt_ms = float(session.get("ack_interval_ms", 0.0)) / 2
    for back in (True, False):
        ways = [(at_s, [now[name].link["delay_ms"] for name in path]) for at_s, now in stages(plan, session, back=back)]
        rtt_ms += mean([(at_s, float(sum(each_ms))) for at_s, each_ms in ways], from_s, to_s)
    return rtt_ms


class Carried(NamedTuple):
    """Payload bit/s that a link carries for a session, and the delay of what it carries."""

    bps: float
    delay_s: float


def carried(
    plan: Plan, session: Session, crossing: Mapping[str, int] | None = None
) -> list[tuple[float, list[Carried]]]:
    """The links that limit a session's connections from each change on, as they carry it, less their losses;
    ``crossing`` are those that share a link evenly."""
    sharing = Counter(name for each in plan["sessions"] for c in each["connections"] for name in path_of(c))
    found = []
    for at_s, now in stages(plan, session):
        delays_s: dict[str, float] = {}
        for path in map(path_of, session["connections"]):
            name = min(path, key=lambda name: now[name].up * rate_pps(now[name].link) / max(1, sharing[name]))
            delay_s = sum(float(now[name].link["delay_ms"]) for name in path) / 1000
            delays_s[name] = min(delay_s, delays_s.get(name, delay_s))
        bits = {name: 8 * payload_bytes(session) / (crossing[name] if crossing else 1) for name in delays_s}
        pps = {name: now[name].up * rate_pps(now[name].link) * (1 - now[name].link["loss"]) for name in delays_s}
        found.append((at_s, [Carried(pps[name] * bits[name], delay_s) for name, delay_s in delays_s.items()]))
    return found


def carried_bps(plan: Plan, session: Session, crossing: Mapping[str, int] | None = None) -> Steps:
    """The sum of what they carry."""
    return without_repeats([(at_s, sum(each.bps for each in now)) for at_s, now in carried(plan, session, crossing)])
