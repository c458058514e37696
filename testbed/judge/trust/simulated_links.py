"""Whether the links of a run in the simulator were those of its plan, by what their own telemetry says of them.

Real links are measured before a run; links of virtual time are a model, and a model can be wrong. Its telemetry counts
what entered and left each link, so a rate, delay, loss or queue that nobody asked for shows there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.judge.checks.asked import path_of
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.intervals import link_intervals
from testbed.plan.model import DIRECTIONS, Direction, Limits, Plan, Session
from testbed.series import named
from topologies.impairments import keys_that
from topologies.link import Link
from topologies.units import whole_bps

Array = NDArray[np.float64]
CHANCE = statistics.NormalDist().inv_cdf(0.9995)
"""Standard deviations within which 99.9% of what is up to chance lies; as for calibrated links."""
NOT_YET_S = 0.11
"""So long after a change a link may still say that it was told what held before."""
BEFORE_S = 0.001
"""A sample of the time of a change tells of what holds after it."""
UNKEPT = (*keys_that("varies"), "trace_file")
"""Properties with which a mean over a run says little of what was asked."""
FIELDS = {
    "rate": "achieved_bps",
    "delay": "achieved_delay_ms",
    "loss": "achieved_loss",
    "backlog": "backlog_bytes",
    "drops": "drops",
    "loss asked": "loss",
    "delay asked": "delay_ms",
    "rate asked": "rate_bps",
}


def violations(evidence: Evidence) -> list[Message]:
    """Where a link was not what the plan asks, a line each; of the simulator's only."""
    if engine_of(evidence.plan).kernel:
        return []
    starts = [evidence.start_ns(s["name"]) for s in evidence.plan["sessions"] if _started(evidence, s)]
    if not starts:
        return []
    found: list[Message] = []
    for direction in DIRECTIONS:
        read = {
            name: evidence.reader.read(named(f"any_link_{field}"), {"direction": direction})
            for name, field in FIELDS.items()
        }
        for link in evidence.plan["links"]:
            mine = {
                name: Timed.of(by_link[link["name"]], min(starts), None)
                for name, by_link in read.items()
                if link["name"] in by_link
            }
            off = _direction(evidence, link, direction, mine)
            found += [
                said.at(f"link {link['name']} {direction}", link=link["name"], direction=direction) for said in off
            ]
    return found


def _started(evidence: Evidence, session: Session) -> bool:
    return any(e.kind == "transfer_start" and e.session == session["name"] for e in evidence.events)


def _direction(evidence: Evidence, link: Link, direction: Direction, found: Mapping[str, Timed]) -> Iterator[Message]:
    limits, plan = evidence.plan["limits"], evidence.plan
    for begin_s, end_s, asked, up in link_intervals(link, plan["timeline"], direction):
        if any(asked.get(key) for key in UNKEPT) or not up:
            continue
        from_s, to_s = begin_s + (NOT_YET_S if begin_s else 0.0), end_s - BEFORE_S
        told = {name: samples.between(from_s, to_s).values for name, samples in found.items()}
        yield from _configured(asked, told)
        settled_s = begin_s + (0.0 if begin_s == 0 else 0.3 + 4 * asked["delay_ms"] / 1000)
        settled = {name: samples.between(settled_s, end_s - 0.05) for name, samples in found.items()}
        part = {name: samples.values for name, samples in settled.items()}
        if part.get("rate", np.empty(0)).size < 5:
            continue
        backlog = part.get("backlog") if _held_back(plan, link) else None
        fed_s = evidence.interval_s if _goes_on_slower(plan, link, float(asked["rate_bps"])) else 0.0
        yield from _rate(asked, limits, part["rate"], evidence.interval_s, backlog, fed_s)
        delays = part.get("delay", np.empty(0))
        if delays.size and abs(off := float(np.median(delays)) - asked["delay_ms"]) > limits["delay_error_ms"]:
            delay_ms = asked["delay_ms"] + off
            yield Message(
                "link.delay-off",
                "delay {delay_ms:.2f} ms is {off_ms:+.2f} ms off the asked {asked_ms:g}",
                delay_ms=delay_ms,
                off_ms=off,
                asked_ms=asked["delay_ms"],
            )
        yield from _loss(asked, settled, evidence.interval_s)
        yield from _queue(asked, part)


def _held_back(plan: Plan, link: Link) -> bool:
    """Whether its queue is kept filled by senders that wait for it. A queue further on may be empty between two
    samples, though there are packets in it at both."""
    paths = [path_of(c) for session in plan["sessions"] for c in session["connections"]]
    first = all(link["name"] not in path[1:] for path in paths)
    return first and link["queue"]["mode"] == "backpressure"


def _goes_on_slower(plan: Plan, link: Link, rate_bps: float) -> bool:
    """Whether packets that leave it at this rate have a slower link before them, at any time of the timeline. Windows
    fill that one then, and bursts of acknowledgements from there can meet every sample with a queue that is gone
    before the next."""
    paths = [path_of(c) for session in plan["sessions"] for c in session["connections"]]
    after = {name for path in paths if path[0] == link["name"] for name in path[1:]}
    rates = (
        each.link["rate_bps"]
        for other in plan["links"]
        if other["name"] in after
        for way in DIRECTIONS
        for each in link_intervals(other, plan["timeline"], way)
    )
    return min(rates, default=rate_bps) < rate_bps


def _configured(asked: Mapping[str, Any], part: Mapping[str, Array]) -> Iterator[Message]:
    """What the link itself says that it was told."""
    for name, key in (("loss asked", "loss"), ("delay asked", "delay_ms"), ("rate asked", "rate_bps")):
        told = part.get(name, np.empty(0))
        wanted = whole_bps(asked[key]) if key == "rate_bps" else float(asked[key])
        if told.size and float(np.abs(told - wanted).max()) > 1e-6 * max(1.0, wanted):
            farthest = float(told[int(np.abs(told - wanted).argmax())])
            yield Message(
                "link.told-otherwise",
                "it was told {key} {told:g}, asked {asked:g}",
                key=key,
                told=farthest,
                asked=wanted,
            )


def _rate(
    asked: Mapping[str, Any], limits: Limits, rates: Array, interval_s: float, backlog: Array | None, fed_s: float
) -> Iterator[Message]:
    """No second carries more than the rate and a burst; and one in which packets for ``fed_s`` seconds wait at each
    sample, no less."""
    steps = max(1, round(1 / interval_s))
    if rates.size < steps:
        return
    seconds = np.convolve(rates, np.ones(steps) / steps, mode="valid")
    wanted = float(asked["rate_bps"])
    frame_bits = 8 * float(asked["frame_bytes"])
    most = wanted * (1 + limits["rate_error"]) + 8 * float(asked.get("burst_bytes", 0)) + frame_bits
    if float(np.median(seconds)) > most:
        yield Message(
            "link.rate-too-high",
            "rate {mbps:.3f} Mbit/s is more than the asked {asked_mbps:.3f}",
            mbps=float(np.median(seconds)) / 1e6,
            asked_mbps=wanted / 1e6,
        )
    if backlog is None or backlog.size != rates.size or asked["loss"]:
        return
    line_bytes = wanted / 8 * asked["delay_ms"] / 1000
    waiting = backlog > 1.05 * line_bytes + fed_s * wanted / 8 + 4 * frame_bits / 8
    waits = np.convolve(waiting, np.ones(steps), mode="valid") == steps
    if waits.sum() > steps and float(np.median(seconds[waits])) < wanted * (1 - limits["rate_error"]) - frame_bits:
        slow = float(np.median(seconds[waits]))
        yield Message(
            "link.rate-too-low",
            "rate {mbps:.3f} Mbit/s, though packets wait, is less than the asked {asked_mbps:.3f}",
            mbps=slow / 1e6,
            asked_mbps=wanted / 1e6,
        )


def _loss(asked: Mapping[str, Any], settled: Mapping[str, Timed], interval_s: float) -> Iterator[Message]:
    losses, rates = settled.get("loss"), settled["rate"]
    if losses is None or not losses.t_s.size or asked["loss"] >= 1:
        return
    left = rates.values * interval_s / (8 * float(asked["frame_bytes"]))
    packets = max(1.0, float(left.sum()))
    wanted = float(asked["loss"])
    # An interval's part of what was lost is of the packets that entered in it, which nobody counts. Those that were
    # kept left a delay later, in one interval or in two, of which one may have few and the other many: the sender may
    # stop in between. They are told as few or as many, whichever makes the loss more like the one that is asked.
    due = losses.t_s + asked["delay_ms"] / 1000
    first, end = (np.searchsorted(rates.t_s, due + side * 0.999 * interval_s) for side in (-1, 1))
    near = np.array([left[np.clip(index, 0, left.size - 1)] for index in (first, end - 1)])
    entered = np.maximum(1.0, near / np.where(losses.values < 1, 1 - losses.values, np.inf))
    few, many = entered.min(axis=0), entered.max(axis=0)
    beyond = losses.values > wanted
    too_much, too_little = (
        float(np.average(losses.values, weights=weights))
        for weights in (np.where(beyond, few, many), np.where(beyond, many, few))
    )
    lost = too_much if too_much > wanted else min(too_little, wanted)
    allowed = 2 * CHANCE * math.sqrt(wanted * (1 - wanted) / packets) + 2 / packets if wanted else 0.0
    if abs(lost - wanted) > allowed:
        yield Message(
            "link.loss-off",
            "loss {loss:.2%} of about {packets:,.0f} packets, asked {asked:.2%}",
            loss=lost,
            packets=packets,
            asked=wanted,
        )


def _queue(asked: Mapping[str, Any], part: Mapping[str, Array]) -> Iterator[Message]:
    queue = asked["queue"]
    backlog, drops = part.get("backlog", np.empty(0)), part.get("drops", np.empty(0))
    if queue["mode"] == "backpressure" and drops.size and drops[-1] > drops[0] and not asked["loss"]:
        yield Message(
            "link.queue-dropped",
            "its queue dropped {packets:.0f} packets that it should have held back",
            packets=float(drops[-1] - drops[0]),
        )
    if queue.get("packets") and backlog.size:
        on_the_way = float(asked["rate_bps"]) / 8 * asked["delay_ms"] / 1000 / asked["frame_bytes"]
        most = (queue["packets"] + 1.05 * on_the_way + 4) * asked["frame_bytes"]
        if float(np.median(backlog)) > most:
            held = float(np.median(backlog)) / asked["frame_bytes"]
            room = most / asked["frame_bytes"]
            yield Message(
                "link.holds-too-much",
                "it holds {packets:.0f} packets, and queue and line have room for {room:.0f}",
                packets=held,
                room=room,
            )
