"""Sessions and other flows that run at the same time, on one clock: seconds since the first session's start."""

from __future__ import annotations

from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.planned import flows_over, path_of
from testbed.series import Samples, named
from topologies.link import Link

FRAME_OF_SEGMENT = 1514 / 1448
"""Ethernet bytes (without FCS) per payload byte of a full TCP segment over IPv4 with timestamps (RFC 7323)."""


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
    rates = {}
    for flow in evidence.plan.get("cross_traffic", []):
        name = f"iperf3-{flow['number']}"
        part = _between(evidence, found.get(str(flow["number"])), from_s, to_s, name)
        rates[name] = float(part.values.mean())
    return rates


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
    flows = flows_over(evidence.plan, link)
    goodputs_bps = flow_rates_bps(evidence, from_s, to_s) if flows else {}
    return {name: FRAME_OF_SEGMENT * goodputs_bps[name] for name in flows}


def _link(evidence: Evidence, name: str) -> Link:
    return next(link for link in evidence.plan["links"] if link["name"] == name)


def rate_of(evidence: Evidence, link: str) -> float:
    """A link's rate, bit/s; CannotJudge if there is no such link."""
    names = [known["name"] for known in evidence.plan["links"]]
    if link not in names:
        raise CannotJudge(
            "plan.no-link", "there is no link {link!r}; links: {links}", link=link, links=", ".join(names)
        )
    return float(_link(evidence, link)["rate_bps"])


def _between(evidence: Evidence, samples: Samples | None, from_s: float, to_s: float, who: str) -> Timed:
    """The samples in that time; CannotJudge where they do not reach from its start to its end."""
    start_ns = min(evidence.start_ns(session["name"]) for session in evidence.plan["sessions"])
    if samples is None:
        raise CannotJudge("samples.none-of", "there are no samples of {who}", who=who)
    t_s = samples.since(start_ns)
    part = Timed(t_s, samples.values).between(from_s, to_s)
    # iperf3 tells its goodput every half second, the agents every tenth.
    slack_s = 0.7
    if part.t_s.size < 2 or part.t_s[0] > from_s + slack_s or part.t_s[-1] < to_s - slack_s:
        raise CannotJudge(
            "samples.do-not-cover",
            "{who} does not cover {from_s:g} s to {to_s:g} s: it has samples from {first_s:.1f} s to {last_s:.1f} s",
            who=who,
            from_s=from_s,
            to_s=to_s,
            first_s=t_s[0],
            last_s=t_s[-1],
        )
    return part
