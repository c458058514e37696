"""Whether the links of a run were those of its plan.

On real packets they were measured before the run, both ways. In the simulator they are a model, and a model can be
wrong: its telemetry counts what entered and left each link, so a rate, delay, loss or queue that the plan does not have
shows there.
"""

import math
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from testbed.documents import read_csv
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.planned import as_configured, path_of
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.intervals import both_ways, link_intervals
from testbed.plan.model import DIRECTIONS, Direction, Limits, Plan
from testbed.series import Samples, named
from testbed.series.reader import start_of
from topologies.impairments import keys_that
from topologies.link import Link

LOSING = keys_that("drops", "spoils")
"""Properties by which a link loses packets that the probe sends."""
MOST_LOST = 1
"""Packets that the machine may lose on a link without loss."""
REAL_MIDDLES = ("netem", "relay")
CONFIGURED: tuple[Literal["rate_bps", "delay_ms", "loss"], ...] = ("rate_bps", "delay_ms", "loss")
"""Properties that a link is given; in the table of readings ``<property>_asked``."""


def of_measured(plan: Plan, table: Path) -> list[Message]:
    """Lists the links that ``links.csv`` shows to be off; none in virtual time, where there are no packets."""
    if not engine_of(plan).kernel or plan.get("middle") not in REAL_MIDDLES:
        return []
    if not table.is_file():
        return [Message("link.none-measured", "no link was measured before the run")]
    rows = {(row["link"], row["direction"]): row for row in read_csv(table)}
    return [
        reason.at(f"link {link['name']} {direction}")
        for link in plan["links"]
        for direction in DIRECTIONS
        for reason in _of_readings(link, rows.get((link["name"], direction)))
    ]


def _of_readings(link: Link, row: Mapping[str, str] | None) -> Iterator[Message]:
    if row is None:
        yield Message("link.not-measured", "was not measured before the run")
        return
    lost = int(row["sent"]) - int(row["received"])
    if lost > MOST_LOST and not any(link.get(key) for key in LOSING):
        yield Message("link.lost-before", f"lost {lost} of {row['sent']} packets before the run, and is to lose none")
    for key in CONFIGURED:
        column, planned = f"{key}_asked", as_configured(key, link[key])
        if abs(float(row[column]) - planned) > 1e-6 * max(1.0, planned):
            yield Message(
                "link.measured-for-another-plan",
                f"was measured as if {key} {row[column]} had been planned; the plan has {planned:g}",
            )


Array = NDArray[np.float64]
CHANCE = statistics.NormalDist().inv_cdf(0.9995)
"""Standard deviations within which 99.9% of what is up to chance lies; as for calibrated links."""
NOT_YET_S = 0.11
"""Time after a change in which a link may still report the values before it."""
BEFORE_S = 0.001
"""A sample of the time of a change tells of what holds after it."""
UNKEPT = (*keys_that("varies"), "trace_file")
"""Properties of which a mean over a run says little."""
NONE = Samples.of([], [])
FIELDS = ("achieved_bps", "achieved_delay_ms", "achieved_loss", "backlog_bytes", "drops", *CONFIGURED)


def of_simulated(evidence: Evidence) -> list[Message]:
    """Links that were not as planned, a line each; the simulator's only."""
    if engine_of(evidence.plan).kernel:
        return []
    if (start_ns := start_of(evidence.events)) is None:
        return []
    found: list[Message] = []
    for direction in DIRECTIONS:
        read = {field: evidence.reader.read(named(f"any_link_{field}"), {"direction": direction}) for field in FIELDS}
        for link in evidence.plan["links"]:
            mine = {key: Timed.of(by_link.get(link["name"], NONE), start_ns, None) for key, by_link in read.items()}
            off = _direction(evidence, link, direction, mine)
            found += [said.at(f"link {link['name']} {direction}") for said in off]
    return found


def _direction(evidence: Evidence, link: Link, direction: Direction, found: Mapping[str, Timed]) -> Iterator[Message]:
    limits, plan = evidence.plan["limits"], evidence.plan
    for begin_s, end_s, planned, up in link_intervals(link, plan["timeline"], direction):
        if any(planned.get(key) for key in UNKEPT) or not up:
            continue
        from_s, to_s = begin_s + (NOT_YET_S if begin_s else 0.0), end_s - BEFORE_S
        reported = {name: samples.between(from_s, to_s).values for name, samples in found.items()}
        yield from _configured(planned, reported)
        settled_s = begin_s + (0.0 if begin_s == 0 else 0.3 + 4 * planned["delay_ms"] / 1000)
        settled = {name: samples.between(settled_s, end_s - 0.05) for name, samples in found.items()}
        part = {name: samples.values for name, samples in settled.items()}
        if part["achieved_bps"].size < 5:
            continue
        backlog = part["backlog_bytes"] if _held_back(plan, link) else None
        fed_s = evidence.interval_s if _goes_on_slower(plan, link, float(planned["rate_bps"])) else 0.0
        yield from _rate(planned, limits, part["achieved_bps"], evidence.interval_s, backlog, fed_s)
        delays_ms = part["achieved_delay_ms"]
        delay_ms = float(np.median(delays_ms)) if delays_ms.size else planned["delay_ms"]
        if abs(off_ms := delay_ms - planned["delay_ms"]) > limits["delay_error_ms"]:
            yield Message(
                "link.delay-off", f"delay {delay_ms:.2f} ms is {off_ms:+.2f} ms off the planned {planned['delay_ms']:g}"
            )
        yield from _loss(planned, settled, evidence.interval_s)
        yield from _queue(planned, part)


def _paths(plan: Plan) -> list[list[str]]:
    return [path_of(c) for session in plan["sessions"] for c in session["connections"]]


def _held_back(plan: Plan, link: Link) -> bool:
    """Whether its queue is kept filled by senders that wait for it. A queue further on may be empty between two
    samples, though there are packets in it at both."""
    return link["queue"]["mode"] == "backpressure" and all(link["name"] not in path[1:] for path in _paths(plan))


def _goes_on_slower(plan: Plan, link: Link, rate_bps: float) -> bool:
    """Whether packets that leave it at this rate have a slower link before them, at any time of the timeline. Windows
    fill that one then, and bursts of acknowledgements from there can meet every sample with a queue that is gone
    before the next."""
    after = {name for path in _paths(plan) if path[0] == link["name"] for name in path[1:]}
    further = (other for other in plan["links"] if other["name"] in after)
    return any(each.link["rate_bps"] < rate_bps for other in further for each in both_ways(other, plan["timeline"]))


def _configured(planned: Mapping[str, Any], part: Mapping[str, Array]) -> Iterator[Message]:
    """Properties that the link reports and that are not those of the plan."""
    for key in CONFIGURED:
        expected = as_configured(key, planned[key])
        farthest = max(part[key].tolist(), key=lambda reported: abs(reported - expected), default=expected)
        if abs(farthest - expected) > 1e-6 * max(1.0, expected):
            yield Message("link.misreported", f"it reports {key} {farthest:g}, planned {expected:g}")


def _rate(
    planned: Mapping[str, Any], limits: Limits, rates: Array, interval_s: float, backlog: Array | None, fed_s: float
) -> Iterator[Message]:
    """No second carries more than the rate and a burst; and one in which packets for ``fed_s`` seconds wait at each
    sample, no less."""
    steps = max(1, round(1 / interval_s))
    if rates.size < steps:
        return
    seconds = np.convolve(rates, np.ones(steps) / steps, mode="valid")
    expected = float(planned["rate_bps"])
    frame_bits = 8 * float(planned["frame_bytes"])
    most = expected * (1 + limits["rate_error"]) + 8 * float(planned.get("burst_bytes", 0)) + frame_bits
    if (fast := float(np.median(seconds))) > most:
        yield Message(
            "link.rate-too-high", f"rate {fast / 1e6:.3f} Mbit/s is more than the planned {expected / 1e6:.3f}"
        )
    if backlog is None or backlog.size != rates.size or planned["loss"]:
        return
    line_bytes = expected / 8 * planned["delay_ms"] / 1000
    waiting = backlog > 1.05 * line_bytes + fed_s * expected / 8 + 4 * frame_bits / 8
    waits = np.convolve(waiting, np.ones(steps), mode="valid") == steps
    if waits.sum() > steps and float(np.median(seconds[waits])) < expected * (1 - limits["rate_error"]) - frame_bits:
        slow = float(np.median(seconds[waits]))
        yield Message(
            "link.rate-too-low",
            f"rate {slow / 1e6:.3f} Mbit/s, though packets wait, is less than the planned {expected / 1e6:.3f}",
        )


def _loss(planned: Mapping[str, Any], settled: Mapping[str, Timed], interval_s: float) -> Iterator[Message]:
    losses, rates = settled["achieved_loss"], settled["achieved_bps"]
    if not losses.t_s.size or planned["loss"] >= 1:
        return
    frame, expected = float(planned["frame_bytes"]), float(planned["loss"])
    left = rates.values * interval_s / 8
    packets = max(1.0, float(left.sum()) / frame)
    # What enters leaves, is held, dropped or lost, and an interval's loss is a part of what entered in it. Where all of
    # that was lost, or nothing entered, the sum of the others says how much: all is sampled at once.
    kept = left.copy()
    for unit, rose in ((1.0, settled["backlog_bytes"].values), (frame, settled["drops"].values)):
        if rose.size == kept.size:
            kept += unit * np.diff(rose, prepend=rose[:1])
    share, known = np.zeros(kept.size), np.isin(rates.t_s, losses.t_s)
    share[known] = losses.values[np.isin(losses.t_s, rates.t_s)]
    one = min(frame, float(left[left > 0].min(initial=frame)))
    some = known & (share != 1)
    lost = np.where(known, one, -kept)
    lost[some] = kept[some] * share[some] / (1 - share[some])
    lost_bytes = max(0.0, float(lost.sum()))
    loss = lost_bytes / max(1.0, lost_bytes + float(kept.sum()))
    allowed = 2 * CHANCE * math.sqrt(expected * (1 - expected) / packets) + 2 / packets if expected else 0.0
    if abs(loss - expected) > allowed:
        yield Message("link.loss-off", f"loss {loss:.2%} of about {packets:,.0f} packets, expected {expected:.2%}")


def _queue(planned: Mapping[str, Any], part: Mapping[str, Array]) -> Iterator[Message]:
    queue, backlog, drops = planned["queue"], part["backlog_bytes"], part["drops"]
    if queue["mode"] == "backpressure" and drops.size and drops[-1] > drops[0] and not planned["loss"]:
        yield Message(
            "link.queue-dropped",
            f"its queue dropped {float(drops[-1] - drops[0]):.0f} packets that it should have held back",
        )
    if queue.get("packets") and backlog.size:
        on_the_way = float(planned["rate_bps"]) / 8 * planned["delay_ms"] / 1000 / planned["frame_bytes"]
        most = (queue["packets"] + 1.05 * on_the_way + 4) * planned["frame_bytes"]
        if (held := float(np.median(backlog))) > most:
            yield Message(
                "link.holds-too-much",
                f"it holds {held / planned['frame_bytes']:.0f} packets, and queue and line have room for "
                f"{most / planned['frame_bytes']:.0f}",
            )
