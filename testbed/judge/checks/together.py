"""Checks of sessions and other flows that run at the same time: how a link is used, and how evenly it is shared.

All on one clock: seconds since the first session's start.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.parameters import WITH_SESSIONS, CheckParameters, Seconds
from testbed.judge.checks.planned import Steps, path_of
from testbed.judge.checks.result import CheckResult
from testbed.message import Message, unknown
from testbed.plan.intervals import LinkInterval, link_intervals
from testbed.plan.model import Plan, Session
from testbed.series import Samples, named
from topologies.link import Link

FRAME_OF_SEGMENT = 1514 / 1448
"""Ethernet bytes (without FCS) per payload byte of a full TCP segment over IPv4 with timestamps (RFC 7323)."""
MOST = 1.05
"""Times what the link carries, beyond which nobody can have got it: the ends of the judged time are not exact."""
DELTA = 0.3
"""Largest distance from an even share at which a late comer has converged."""
HELD_S = 3
"""Time that a late comer has to keep its share, second by second: a start that overshoots is no convergence."""


class FairShare(CheckParameters):
    """Jain's index of the mean goodputs is at least ``min``: 1 where all get the same, 1/n where one gets all.

    From ``from`` to ``to``, in seconds since the first session's start, during which all of them have to run.
    Source: R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984.
    """

    of_traffic = WITH_SESSIONS

    judge: Literal["fair_share"]
    min: float = Field(gt=0, le=1)
    least: float = Field(0.0, ge=0, le=1)
    """The part of an even share that everyone gets at least: among many, the index hardly shows that one is starved."""
    sessions: list[str] | None = Field(None, min_length=1)
    """The sessions to compare; None: all."""
    cross_traffic: bool = False
    """Whether iperf3's flows count as well."""
    from_s: Seconds
    to_s: Seconds

    def in_words(self) -> str:
        """The check in words."""
        who = "the sessions" if self.sessions is None else f"sessions {', '.join(self.sessions)}"
        beside = " and iperf3's flows" if self.cross_traffic else ""
        least = f", and everyone has at least {self.least:g} of an even share" if self.least else ""
        return (
            f"Jain's fairness index of the goodputs of {who}{beside} is at least {self.min:g}{least} "
            f"(means from {self.from_s:g} s to {self.to_s:g} s)."
        )

    def result(self, evidence: Evidence) -> CheckResult:
        """Jain's index over sessions and, if the check has ``cross_traffic``, flows."""
        rates = session_rates_bps(evidence, self.from_s, self.to_s)
        if self.sessions is not None:
            if others := set(self.sessions) - set(rates):
                raise CannotJudge.of(unknown("fairness.no-session", "session", others.pop(), rates))
            rates = {name: rates[name] for name in self.sessions}
        if self.cross_traffic:
            rates |= flow_rates_bps(evidence, self.from_s, self.to_s)
        if len(rates) < 2:
            raise CannotJudge("fairness.alone", "one session alone has nobody to share with")
        index = jain(rates.values())
        even_bps = sum(rates.values()) / len(rates)
        poorest = min(rates, key=rates.__getitem__)
        part = rates[poorest] / even_bps if even_bps else 0.0
        said = Message(
            "fairness.index",
            f"Jain's index is {index:.3f}; expected at least {self.min:g}. {poorest} has {part:.2f} of an even share"
            f"{f'; expected at least {self.least:g}' if self.least else ''}. Mean goodputs from {self.from_s:g} s to "
            f"{self.to_s:g} s, Mbit/s: {_mbit_s(rates)}.",
        )
        holds = index >= self.min and part >= self.least
        expected = f"at least {self.min:g}"
        return self.conclude(holds, said, measured=index, expected=expected, least=part, goodput_bps=rates)


class LinkFilled(CheckParameters):
    """The throughput over a link, of all sessions and flows, is ``min`` to ``max`` of its rate, as the timeline has it
    in that time.

    Counted in frames on the wire, from ``from`` to ``to`` seconds after the first session's start. What is sent
    a second time because it was lost counts once, so a link that is full of resends is not filled.
    """

    of_traffic = WITH_SESSIONS

    judge: Literal["link_filled"]
    link: str = Field(min_length=1)
    min: float = Field(ge=0, le=1)
    max: float = Field(1.03, gt=0)
    """More than its rate would mean that the link is not what it says; ends of the judged time are not exact."""
    from_s: Seconds
    to_s: Seconds

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"What arrives over link {self.link} is {self.min:g} to {self.max:g} of its rate "
            f"(mean from {self.from_s:g} s to {self.to_s:g} s)."
        )

    def result(self, evidence: Evidence) -> CheckResult:
        """The sum of what crossed the link, over its rate."""
        rates_bps = _over_time(evidence, self.link, lambda now: now.up * float(now.link["rate_bps"]))
        link_bps = _carried_bps(rates_bps, self.link, self.from_s, self.to_s)
        rates = wire_rates_bps(evidence, self.link, self.from_s, self.to_s)
        share = sum(rates.values()) / link_bps
        expected = f"{self.min:g} to {self.max:g}"
        said = Message(
            "link.filled",
            f"What arrived over link {self.link} is {share:.3f} of its {link_bps / 1e6:.3f} Mbit/s; expected "
            f"{expected}. On the wire from {self.from_s:g} s to {self.to_s:g} s, Mbit/s: {_mbit_s(rates)}.",
        )
        holds = self.min <= share <= self.max
        return self.conclude(holds, said, measured=share, expected=expected, wire_bps=rates)


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

    of_traffic = WITH_SESSIONS
    tells_figures = True

    judge: Literal["bottleneck"]
    link: str = Field(min_length=1)
    min: float = Field(0.0, ge=0, le=1)
    late: str | None = None
    from_s: Seconds
    to_s: Seconds

    def in_words(self) -> str:
        """The check in words."""
        return (
            f"What arrives over link {self.link} is at least {self.min:.0%} of what it carries, and no more than that "
            f"(mean from {self.from_s:g} s to {self.to_s:g} s)."
        )

    def result(self, evidence: Evidence) -> CheckResult:
        """The result from received frames on the wire and the senders' RTTs."""
        plan, from_s, to_s = evidence.plan, self.from_s, self.to_s
        carries = _over_time(evidence, self.link, lambda now: now.up * now.link["rate_bps"] * (1 - now.link["loss"]))
        carried_bps = _carried_bps(carries, self.link, from_s, to_s)
        crossing = {session["name"]: session for session in plan["sessions"] if self._connection(session)}
        payload = session_rates_bps(evidence, from_s, to_s)
        rates = {name: payload[name] * _wire_of_payload(plan, session) for name, session in crossing.items()}
        rivals = flow_wire_rates_bps(evidence, self.link, from_s, to_s)
        everyone = rates | rivals
        used = sum(everyone.values()) / carried_bps
        figures: dict[str, float] = {"utilization": used}
        queues_ms = [self._queue_ms(evidence, session) for session in crossing.values()]
        if known_ms := [queue_ms for queue_ms in queues_ms if queue_ms is not None]:
            figures["queue_ms"] = max(known_ms)
        if len(everyone) > 1:
            figures["jain"] = jain(everyone.values())
        if rivals:
            figures["rival_share"] = min(rivals.values()) * len(everyone) / carried_bps
        if self.late is not None:
            figures["converged_s"] = self._converged_s(evidence, self.late, crossing, carries, len(everyone))
        said = Message(
            "bottleneck.utilization",
            f"What arrived over link {self.link} is {used:.1%} of the {carried_bps / 1e6:.3f} Mbit/s that it carries; "
            f"expected at least {self.min:.0%}. On the wire from {self.from_s:g} s to {self.to_s:g} s, Mbit/s: "
            f"{_mbit_s(everyone)}.",
        )
        if used > MOST:
            said = said.followed_by(Message("bottleneck.beyond", "The link doesn't carry that much."))
        holds = self.min <= used <= MOST
        return self.conclude(holds, said, measured=used, expected=f"at least {self.min:g}", **figures)

    def _connection(self, session: Session) -> str | None:
        """The first of a session's connections that crosses the link."""
        return next((str(c["index"]) for c in session["connections"] if self.link in path_of(c)), None)

    def _queue_ms(self, evidence: Evidence, session: Session) -> float | None:
        """The mean queueing delay on a session's connection over the link; None without RTT samples."""
        connection = str(self._connection(session))
        samples = evidence.samples("rtt_ms", session["name"]).get(connection)
        if samples is None:
            return None
        after_s = _started_s(evidence, session)
        span_s = self.from_s - after_s, self.to_s - after_s
        rtts_ms = samples.between(*span_s).values
        known_ms = rtts_ms[rtts_ms > 0]
        base_ms = planned.base_rtt_ms(evidence.plan, session, connection, *span_s)
        return float(known_ms.mean()) - base_ms if known_ms.size else None

    def _converged_s(
        self, evidence: Evidence, late: str, crossing: Mapping[str, Session], carries: Steps, count: int
    ) -> float:
        if late not in crossing:
            raise CannotJudge.of(unknown("bottleneck.no-session", "session over the link", late, crossing))
        start_s = _started_s(evidence, crossing[late])
        # Its rate was taken from them before.
        received = evidence.reader.read(named("received_bytes"), {"session": late})[late]
        samples = Timed.of(received, evidence.start_ns(late), None)
        wire_bits = 8 * _wire_of_payload(evidence.plan, crossing[late])
        last_s = min(self.to_s - start_s, float(samples.t_s[-1])) - HELD_S
        for began_s in samples.t_s[samples.t_s <= last_s]:
            ends_s = began_s + np.arange(HELD_S + 1)
            got = np.diff(np.interp(ends_s, samples.t_s, samples.values)) * wire_bits
            even = np.diff(planned.integral(carries, start_s + ends_s)) / count
            if (np.abs(got - even) <= DELTA * even).all():
                return float(began_s)
        return self.to_s - start_s


def jain(rates: Iterable[float]) -> float:
    """Jain's fairness index (Jain, Chiu, Hawe, DEC-TR-301, 1984), (Σx)² / (n·Σx²): 1 if all are equal; 0 where nobody
    gets anything."""
    x = list(rates)
    squares = sum(rate * rate for rate in x)
    return sum(x) ** 2 / (len(x) * squares) if squares else 0.0


def _mbit_s(rates_bps: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {rate / 1e6:.3f}" for name, rate in rates_bps.items())


def _wire_of_payload(plan: Plan, session: Session) -> float:
    """Bytes of a full frame per byte of its payload."""
    frame_bytes = planned.link_of(plan, session, planned.connections(session)[0])["frame_bytes"]
    return frame_bytes / planned.payload_bytes(session)


def _started_s(evidence: Evidence, session: Session) -> float:
    """Since the first session's start."""
    return (evidence.start_ns(session["name"]) - _first_ns(evidence)) / 1e9


def _first_ns(evidence: Evidence) -> int:
    return min(evidence.start_ns(session["name"]) for session in evidence.plan["sessions"])


def session_rates_bps(evidence: Evidence, from_s: float, to_s: float) -> dict[str, float]:
    """Each session's mean payload rate, bit/s, as its receiver's cumulative bytes tell it."""
    rates = {}
    for session in evidence.plan["sessions"]:
        name = session["name"]
        found = evidence.reader.read(named("received_bytes"), {"session": name}).get(name)
        part = _between(evidence, found, from_s, to_s, f"session {name}")
        span_s = float(part.t_s[-1] - part.t_s[0])
        rates[name] = float(part.values[-1] - part.values[0]) * 8 / span_s
    return rates


def flow_rates_bps(evidence: Evidence, from_s: float, to_s: float) -> dict[str, float]:
    """Each iperf3 flow's mean goodput, bit/s, by ``iperf3-<number>``."""
    found = evidence.reader.read(named("iperf3_goodput_bps"))
    numbers = {f"iperf3-{flow['number']}": str(flow["number"]) for flow in evidence.plan.get("cross_traffic", [])}
    parts = {name: _between(evidence, found.get(of), from_s, to_s, name) for name, of in numbers.items()}
    return {name: float(part.values.mean()) for name, part in parts.items()}


def wire_rates_bps(evidence: Evidence, link: str, from_s: float, to_s: float) -> dict[str, float]:
    """Throughput over a link by session and flow: bit/s of received Ethernet frames without FCS.

    NCP's packets count once, however often they were sent, and at the size of full ones.
    """
    rates: dict[str, float] = {}
    for session in evidence.plan["sessions"]:
        crossing = [c for c in session["connections"] if link in path_of(c)]
        found = evidence.reader.read(named("delivered_pps"), {"session": session["name"]})
        for connection in crossing:
            who = f"session {session['name']} connection {connection['index']}"
            part = _between(evidence, found.get(str(connection["index"])), from_s, to_s, who)
            pps = float(part.values.mean())
            frame_bits = 8 * float(_link(evidence, connection["link"])["frame_bytes"])
            rates[session["name"]] = rates.get(session["name"], 0.0) + pps * frame_bits
    return rates | flow_wire_rates_bps(evidence, link, from_s, to_s)


def flow_wire_rates_bps(evidence: Evidence, link: str, from_s: float, to_s: float) -> dict[str, float]:
    """The part of it that is of flows beside the sessions."""
    flows = planned.flows_over(evidence.plan, link)
    goodputs_bps = flow_rates_bps(evidence, from_s, to_s) if flows else {}
    return {name: FRAME_OF_SEGMENT * goodputs_bps[name] for name in flows}


def _link(evidence: Evidence, name: str) -> Link:
    """The link of that name; CannotJudge if there is none."""
    links = {link["name"]: link for link in evidence.plan["links"]}
    if name not in links:
        raise CannotJudge.of(unknown("plan.no-link", "link", name, links))
    return links[name]


def _over_time(evidence: Evidence, name: str, value: Callable[[LinkInterval], float]) -> Steps:
    """Values of a link, in the direction of the sessions that cross it, since the first session's start."""
    link, plan = _link(evidence, name), evidence.plan
    for session in plan["sessions"]:
        if any(name in path_of(connection) for connection in session["connections"]):
            return [(at_s, value(now[name])) for at_s, now in planned.stages(plan, {**session, "start_s": 0.0})]
    return [(each.from_s, value(each)) for each in link_intervals(link, plan["timeline"], "ab")]


def _carried_bps(rates_bps: Steps, link: str, from_s: float, to_s: float) -> float:
    if carried_bps := planned.mean(rates_bps, from_s, to_s):
        return carried_bps
    raise CannotJudge("bottleneck.carries-nothing", f"link {link} carries nothing from {from_s:g} s to {to_s:g} s")


def _between(evidence: Evidence, samples: Samples | None, from_s: float, to_s: float, who: str) -> Timed:
    """The samples in that time; CannotJudge where they do not reach from its start to its end."""
    start_ns = _first_ns(evidence)
    if samples is None:
        raise CannotJudge("samples.none-of", f"there are no samples of {who}")
    t_s = samples.since(start_ns)
    part = Timed(t_s, samples.values).between(from_s, to_s)
    # iperf3 tells its goodput every half second, the agents every tenth.
    slack_s = 0.7
    if part.t_s.size < 2 or part.t_s[0] > from_s + slack_s or part.t_s[-1] < to_s - slack_s:
        raise CannotJudge(
            "samples.do-not-cover",
            f"{who} does not cover {from_s:g} s to {to_s:g} s: it has samples from {t_s[0]:.1f} s to {t_s[-1]:.1f} s",
        )
    return part
