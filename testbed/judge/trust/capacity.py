"""Whether more got through links than they can carry, by their own counters and by what receivers got of sessions.

In every engine, for each link and direction, at its rates in the timeline. More than 100% proves that somebody counts
wrong, or that the link is another than was planned.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.together import FRAME_OF_SEGMENT
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.intervals import LinkInterval, link_intervals
from testbed.plan.model import DIRECTIONS, Plan, Session
from testbed.series import Samples, named
from testbed.series.reader import start_of
from topologies.impairments import keys_that
from topologies.link import burst_bytes_at

RATE_UNKNOWN = ("trace_file", *keys_that("copies"))
"""Properties with which no rate tells what arrives."""
MOST_JITTER = 4
"""Times a link's jitter, beyond which no frame is delayed; of a normal one nearly none."""


def violations(evidence: Evidence) -> list[Message]:
    """Lists the links through which more got than they carry."""
    if (start_ns := start_of(evidence.events)) is None:
        return []
    of_sessions = {frozenset(_limiting(session)): session for session in evidence.plan["sessions"]}
    found = [said for session in of_sessions.values() for said in _by_receivers(evidence, session, start_ns)]
    return [*found, *_by_links(evidence, start_ns)]


def _spare_bits(plan: Plan, intervals: Sequence[LinkInterval]) -> float:
    """Bits beyond the rate: a burst and a frame, and what a machine sends that carries out a change late, or that has
    stopped."""
    late_s = plan["limits"].get("lateness_max_ms", 100.0) / 1000 if engine_of(plan).kernel else 0.0
    rates_bps = [float(each.link["rate_bps"]) for each in intervals]
    burst_bytes = max(burst_bytes_at(intervals[0].link, rate_bps) for rate_bps in rates_bps)
    return 8.0 * (burst_bytes + intervals[0].link["frame_bytes"]) + late_s * max(rates_bps)


def _by_links(evidence: Evidence, start_ns: int) -> Iterator[Message]:
    """Compares what left a link between any two samples with what its rate lets through meanwhile: what left then had
    entered a delay before."""
    plan = evidence.plan
    for direction in DIRECTIONS:
        counted = evidence.reader.read(named("any_link_achieved_bps"), {"direction": direction})
        for link in plan["links"]:
            t_s, bps = Timed.of(counted.get(link["name"], Samples.of([], [])), start_ns, None)
            intervals = list(link_intervals(link, plan["timeline"], direction))
            if not t_s.size or any(each.link.get(key) for each in intervals for key in (*RATE_UNKNOWN, "jitter_file")):
                continue
            most = 1 + plan["limits"]["rate_error"]
            steps = [(each.from_s, most * each.up * each.link["rate_bps"]) for each in intervals]
            delays_s = [each.link["delay_ms"] / 1000 for each in intervals]
            jitter_s = MOST_JITTER * max(each.link.get("jitter_ms", 0.0) for each in intervals) / 1000
            hastened = any(each.link.get(key) for each in intervals for key in keys_that("hastens"))
            left = np.concatenate(([0.0], np.cumsum(bps[1:] * np.diff(t_s))))
            # The link had its first rate before the run, too.
            entered_first, entered_last = (
                planned.integral(steps, t_s - delay_s) + np.minimum(t_s - delay_s, 0.0) * steps[0][1]
                for delay_s in (max(delays_s) + jitter_s, 0.0 if hastened else min(delays_s))
            )
            beyond = left - entered_last - np.minimum.accumulate(left - entered_first)
            to = int(beyond.argmax())
            if beyond[to] > _spare_bits(plan, intervals):
                first = int((left - entered_first)[: to + 1].argmin())
                yield Message(
                    "link.beyond-its-rate",
                    f"{(left[to] - left[first]) / 8:,.0f} bytes left it from {t_s[first]:.1f} s to {t_s[to]:.1f} s, "
                    f"{beyond[to] / 8:,.0f} more than its rate lets through",
                ).at(f"link {link['name']} {direction}")


def _by_receivers(evidence: Evidence, session: Session, start_ns: int) -> Iterator[Message]:
    """Compares what had arrived by any time with what the links carry by then that limit a session's connections at
    first: all of it came through them, as what other sessions got that they limit, too."""
    plan, links = evidence.plan, _limiting(session)
    parts = [_arrived(evidence, other, start_ns) for other in plan["sessions"] if _limiting(other) <= links]
    t_s = np.unique(np.concatenate([part.t_s for part in parts]))
    if not t_s.size:
        return
    over_time = planned.stages(plan, {**session, "start_s": 0.0})
    intervals = {link: [now[link] for _, now in over_time] for link in links}
    if any(each.link.get(key) for those in intervals.values() for each in those for key in RATE_UNKNOWN):
        return
    # What was known of each by a time.
    known = [np.append(0.0, each.values)[np.searchsorted(each.t_s, t_s, side="right")] for each in parts]
    bits = np.sum(known, axis=0)
    most = 1 + plan["limits"]["rate_error"]
    steps = [(at_s, most * sum(now[link].up * now[link].link["rate_bps"] for link in links)) for at_s, now in over_time]
    can_bits = planned.integral(steps, t_s) + sum(_spare_bits(plan, those) for those in intervals.values())
    worst = int(np.argmax(bits - can_bits))
    if bits[worst] > can_bits[worst]:
        yield Message(
            "link.more-arrived-than-it-carries",
            f"link {', '.join(sorted(links))}: receivers tell of {bits[worst] / 8:,.0f} bytes on the wire by "
            f"{t_s[worst]:.1f} s, and {can_bits[worst] / 8:,.0f} can have arrived",
        )


def _limiting(session: Session) -> set[str]:
    return {connection["link"] for connection in session["connections"]}


def _arrived(evidence: Evidence, session: Session, start_ns: int) -> Timed:
    """Bits on the wire by times since the run's start at ``start_ns``: of the bytes that the receiver tells of under
    way, and of its goodput at the end."""
    name, result = session["name"], evidence.result_of(session["name"], "receiver") or {}
    if (end_s := evidence.end_s(name)) is None:
        return Timed(np.array([]), np.array([]))
    got = [pair for part in evidence.samples("received_bytes", name).values() for pair in zip(*part, strict=True)]
    if duration_s := result.get("duration_s"):
        got.append((max(end_s, duration_s), result.get("goodput_bps", 0.0) * duration_s / 8))
    if not got:
        return Timed(np.array([]), np.array([]))
    first = planned.link_of(evidence.plan, session, planned.connections(session)[0])
    wire = first["frame_bytes"] / planned.payload_bytes(session)
    # Small packets share the segments of a stream.
    wire = min(wire, FRAME_OF_SEGMENT) if session["transport"] == "tcp" else wire
    t_s, received = np.array(got).reshape(-1, 2).T
    # It begins when its handshake is done, which behind a full queue is long after it was to start.
    return Timed(t_s + (evidence.start_ns(name) - start_ns) / 1e9, 8 * wire * received)
