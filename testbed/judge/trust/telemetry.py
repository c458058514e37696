"""Whether a run's telemetry is plausible: it must agree with itself, the results of the run and the plan.

A check is about a policy. This module judges the data of every run that sends NCP, whatever its checks are: whether the
samples are there, in time and in their units, and whether links and timeline were those of the plan. Where they were
not, nothing is proven, good or bad: each reason makes the run untrusted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.trust import counts, payload, windows
from testbed.judge.trust.windows import ROUNDED
from testbed.message import Message
from testbed.plan.codes import is_own
from testbed.plan.engines import engine_of
from testbed.plan.intervals import both_ways, ever_has
from testbed.plan.model import Plan, Session
from testbed.plan.traffic_types import traffic_of
from testbed.series import named
from topologies.impairments import keys_that
from topologies.link import Link

MOST_GAP_S = 1.0
"""A sampler may be held up by its machine, but where it says nothing for longer it is not known what happened."""
MOST_GAP_INTERVALS = 3
"""Most missing intervals. In virtual time nothing delays a sampler, so that more are a fault of the telemetry."""
LEAST_APART = 0.5
"""Two samples of one series may not be closer than this part of the interval; a late one is not made up for."""
MOST_CLOSE = 0.02
"""The part of the samples that may be, where a machine was busy."""
SHARE_OFF = 0.001
"""Largest distance of a share from its window over the sum of all; telemetry keeps more digits than that."""
SHARES = {
    "window_share": "window_packets",
    "delivered_share": "delivered_pps",
    "acknowledged_share": "acknowledged_pps",
}
"""Series of shares, and what they are shares of."""
RATE_OFF = 0.05
"""Largest distance, in the median, of a rate from its counter, in parts of the largest rate."""
RTT_OFF = 0.02
"""Largest shortfall of an RTT below the path's delays: those may be off by what calibration permits."""
COPYING, HASTENING = keys_that("copies"), keys_that("hastens")
"""Properties by which more frames arrive than were sent, and by which one may be faster than its link's delay."""

CLOCK_S = 0.05
"""Largest difference between a program's clock and the time at which it is seen to act: a clock has ticks, and a
machine may stop a program between the two."""

Array = NDArray[np.float64]


SERIES = ("window_packets", "delivered_pps", "acknowledged_pps", "acked", "rtt_ms")
NONE = Timed(np.array([]), np.array([]))


class _Connection(NamedTuple):
    """One connection: the links that it crosses, its samples by series, and the reports of its ends,
    empty where there is none."""

    path: list[Link]
    samples: Mapping[str, Timed]
    sent: Mapping[str, Any]
    received: Mapping[str, Any]


def violations(evidence: Evidence) -> list[Message]:
    """Lists the contradictions between telemetry, results and plan; none where they agree."""
    sent = traffic_of(evidence.plan)
    if not sent.captured and not sent.windows:
        return []
    found: list[Message] = []
    for session in evidence.plan["sessions"]:
        name = session["name"]
        try:
            for said in of_program(evidence, name) if sent.captured else _of_session(evidence, session):
                found.append(said.at(f"session {name}"))
        except LookupError as error:
            said = Message("telemetry.unknown", f"plan or results say nothing of {error}")
            found.append(said.at(f"session {name}"))
    carried = counts.of_links(evidence) if sent.windows else ()
    return [*_of_others(evidence), *found, *carried, *_events(evidence)]


def _of_others(evidence: Evidence) -> Iterator[Message]:
    """All points are this run's."""
    others = evidence.reader.runs() - {evidence.plan["run"]}
    if others:
        yield Message(
            "telemetry.of-other-runs",
            f"telemetry: has points of run {', '.join(sorted(others))}, and this is run {evidence.plan['run']}",
        )


def of_program(evidence: Evidence, session: str) -> Iterator[Message]:
    """Whether packets, clock and payload bear out what a program reports of itself.

    Another developer's program is not trusted in anything that can be seen from outside: where the two disagree, its
    figures prove nothing.
    """
    sender, receiver = (evidence.result_of(session, role) for role in ("sender", "receiver"))
    if sender is None or receiver is None:
        return  # it came to no end, which its checks tell of
    captured, reported = receiver.get("captured"), receiver.get("said")
    if not isinstance(captured, Mapping) or not isinstance(reported, Mapping):
        yield Message("program.nothing-captured", "the receiver's result has no captured packets")
        return
    if missed := int(captured["frames_not_captured"]):
        yield Message(
            "program.frames-not-captured", f"{missed:,} frames were not captured, so that nothing is held against them"
        )
        return
    sent, got, arrived = int(sender["bytes"]), int(receiver["bytes"]), sum(captured["payload_bytes"].values())
    if got > arrived:
        yield Message(
            "program.receiver-claims-more",
            f"its receiver says that it got {got:,} bytes, and packets brought {arrived:,}",
        )
    if sent > max(arrived, got):
        yield Message(
            "program.sender-claims-more",
            f"its sender says that it sent {sent:,} bytes, and packets brought {arrived:,}",
        )
    if receiver["sha256"] != receiver["payload_sha256"]:
        yield Message(
            "program.other-payload", f"its receiver has not the SHA-256 of the {got:,} bytes that were to be sent"
        )
    if (before := int(captured["payload_bytes_when_finished"])) < got:
        yield Message(
            "program.finished-too-early",
            f"when its receiver says that it had {got:,} bytes, packets had brought {before:,}",
        )
    if int(reported["finished_unix_ns"]) > int(receiver["finished_unix_ns"]) + CLOCK_S * 1e9:
        yield Message("program.ended-after-its-result", "its receiver says that it ended after its result was there")


def _of_session(evidence: Evidence, session: Session) -> Iterator[Message]:
    end_s, name = evidence.end_s(session["name"]), session["name"]
    if "connections" not in session or "carrier" in session or "send_window_bytes" not in session or end_s is None:
        return  # checks report one that came to no end
    yield from _windows(evidence, session)
    yield from _codes(evidence, session)
    ends = counts.Ends(evidence, session)
    for violations_of in (counts.violations, windows.violations, payload.violations):
        yield from violations_of(ends)
    known = {str(connection["index"]) for connection in session["connections"]}
    for series in SERIES:
        for index in sorted(evidence.reader.read(named(series), {"session": name}).keys() - known):
            yield Message("telemetry.unplanned", f"has samples of a connection {index} that is not planned, {series}")
    samples = {series: evidence.samples(series, name) for series in SERIES}
    for connection, path in zip(session["connections"], ends.paths, strict=True):
        index = str(connection["index"])
        of_one = _Connection(
            path=path,
            samples={series: found.get(index, NONE) for series, found in samples.items()},
            sent=_reported(ends.sender, index),
            received=_reported(ends.receiver, index),
        )
        for series in ("window_packets", "delivered_pps"):
            for said in _times(evidence, of_one.samples[series], end_s):
                yield said.at(f"connection {index}, {series}")
        for rule in (_rates, _deliveries, _rtts, _arrivals):
            for said in rule(evidence.plan, of_one):
                yield said.at(f"connection {index}")


def _codes(evidence: Evidence, session: Session) -> Iterator[Message]:
    """Whether npm's ends ran the plan's package, and Node's event loop let it act in time: its timeouts, round trips
    and acknowledgements are by timers, which a loop that stands still holds up as a break of all links would."""
    name, limit_ms = session["name"], float(evidence.plan["limits"].get("lateness_max_ms", 100.0))
    late = evidence.reader.read(named("event_loop_max_ms"), {"session": name})
    for role, code in session.get("code", {}).items():
        ran, own = (evidence.result_of(name, role) or {}).get("implementation"), is_own(code)
        if not own and ran != (planned_code := f"@nkn/ncp {code.removeprefix('npm-')}"):
            yield Message("code.another", f"its {role} ran {ran}, and the plan has {planned_code}")
        if role not in late or not late[role].values.size:
            if not own:  # which may be no program of Node's
                yield Message("code.event-loop-unknown", f"its {role} tells nothing of Node's event loop")
        elif (worst_ms := float(late[role].values.max())) > limit_ms:
            yield Message(
                "code.event-loop-late",
                f"its {role} stood still: Node's event loop was {worst_ms:.0f} ms late (limit {limit_ms:g} ms), and "
                "all timers of the package with it",
            )


def _times(evidence: Evidence, samples: Timed, end_s: float) -> Iterator[Message]:
    """Whether there is one sample in every interval from the start to the end."""
    if not samples.t_s.size:
        yield Message("telemetry.no-samples", "has no samples")
        return
    gaps = np.diff(np.concatenate(([0.0], samples.t_s, [end_s])))
    limit_s = MOST_GAP_INTERVALS * evidence.interval_s
    if engine_of(evidence.plan).kernel:
        limit_s = max(MOST_GAP_S, limit_s)
    if gaps.max() > limit_s:
        at_s = float(np.concatenate(([0.0], samples.t_s))[int(np.argmax(gaps))])
        yield Message("telemetry.gap", f"says nothing for {float(gaps.max()):.1f} s from {at_s:.1f} s on")
    found, promised = samples.t_s.size, int(end_s / evidence.interval_s) - 2
    if found < 0.8 * promised:
        yield Message("telemetry.too-few-samples", f"has {found} of about {promised} samples")
    close = int((np.diff(samples.t_s) < LEAST_APART * evidence.interval_s).sum())
    if close > max(2, MOST_CLOSE * found):
        yield Message("telemetry.samples-too-close", f"{close} samples follow another within half an interval")


def _windows(evidence: Evidence, session: Session) -> Iterator[Message]:
    """Shares are parts of the sum of all; windows that the policy normalises have the session's window as sum."""
    for share, part in SHARES.items():
        (t_s, parts), (shared_s, shares) = (_together(evidence.samples(s, session["name"])) for s in (part, share))
        # Of nothing there is no share.
        parts = parts[:, np.isin(t_s, shared_s)]
        if parts.shape != shares.shape or not shares.size:
            continue
        total = parts.sum(axis=0)
        off = float(np.nanmax(np.abs(shares - parts / np.where(total > 0, total, np.nan)), initial=0.0))
        if off > SHARE_OFF:
            yield Message("telemetry.share-off", f"a {share} is {off:.3f} off its part of the sum of all")
    _, windows = _together(evidence.samples("window_packets", session["name"]))
    sums = windows.sum(axis=0) if windows.size else np.array([planned.session_window_packets(session)])
    whole, largest, usual = planned.session_window_packets(session), float(sums.max()), float(np.median(sums))
    # A window that would fall below the least is put on it (ncp-agent/policy/nkp24.go).
    most = whole * (1 + ROUNDED) + session["policy_facts"].get("min_packets", 1) * len(session["connections"])
    if session["policy_facts"].get("normalised") and (largest > most or usual < whole * (1 - ROUNDED)):
        yield Message(
            "telemetry.windows-over-the-sessions",
            f"its windows sum to {usual:,.0f} packets, at most to {largest:,.0f}, and it may send {whole:,.0f}",
        )


def _rates(_: Plan, of_one: _Connection) -> Iterator[Message]:
    """Whether the acknowledged packets per second agree with the rise of their counter."""
    off, largest = counts.rate_off(of_one.samples["acknowledged_pps"], of_one.samples["acked"])
    if off > RATE_OFF * largest:
        yield Message("telemetry.rate-off-its-counter", f"its rate is {off:.0f} packets/s off its own counter")


def _deliveries(_: Plan, of_one: _Connection) -> Iterator[Message]:
    """Whether the receiver's rates of delivery agree with its total."""
    samples, delivered = of_one.samples["delivered_pps"], of_one.received.get("delivered")
    if samples.t_s.size < 20 or not delivered:
        return
    brought = float((samples.values * np.diff(samples.t_s, prepend=0.0)).sum())
    if abs(brought - delivered) > max(0.1 * delivered, 2.0 * float(samples.values.max())):
        yield Message(
            "telemetry.deliveries-off", f"its delivery rates sum to {brought:,.0f} packets, it got {delivered:,}"
        )


def _rtts(plan: Plan, of_one: _Connection) -> Iterator[Message]:
    """No packet is faster than the delays of its path, at their least in the whole run."""
    rtts_ms = of_one.samples["rtt_ms"].values
    least = 2 * sum(_least_delay_ms(plan, link) for link in of_one.path)
    if rtts_ms.size and (rtt_ms := float(np.median(rtts_ms))) < (1 - RTT_OFF) * least - 1:
        yield Message(
            "telemetry.rtt-too-short", f"its RTT of {rtt_ms:.3g} ms is less than the {least:g} ms that its links take"
        )


def _arrivals(plan: Plan, of_one: _Connection) -> Iterator[Message]:
    """No more packets arrive on a connection than were sent, but where a link is to copy them."""
    left, came = of_one.sent.get("sent"), of_one.received.get("received")
    copied = any(ever_has(link, plan["timeline"], COPYING) for link in of_one.path)
    if left is not None and came is not None and came > left and not copied:
        yield Message("telemetry.more-arrived-than-sent", f"{came:,} packets arrived, and {left:,} were sent")


def _reported(result: Mapping[str, Any], index: str) -> Mapping[str, Any]:
    """An end's report of a connection."""
    return next((each for each in result.get("connections", []) if str(each["index"]) == index), {})


def _least_delay_ms(plan: Plan, link: Link) -> float:
    if ever_has(link, plan["timeline"], HASTENING):
        return 0.0
    return min(float(each.link["delay_ms"]) for each in both_ways(link, plan["timeline"]))


def _events(evidence: Evidence) -> Iterator[Message]:
    """Whether the timeline's events were carried out, once, at their times, while the transfer lasted; and nothing
    else."""
    plan = evidence.plan
    first = plan["sessions"][0]
    end_s = evidence.end_s(first["name"])
    if end_s is None:
        return
    late_s = float(plan["limits"].get("lateness_max_ms", 100.0)) / 1000
    start_ns = evidence.start_ns(first["name"])
    kinds = ("set", "carrier", "pause_read")
    done = [((e.t_ns - start_ns) / 1e9, e.text) for e in evidence.events if e.kind in kinds]
    planned_s = [(str(action["text"]), float(action["at_s"])) for action in plan["timeline"]]
    for text, at_s in planned_s:
        if at_s > end_s:
            continue
        nearest = min((each for each in done if each[1] == text), key=lambda each: abs(each[0] - at_s), default=None)
        if nearest is None:
            yield Message("timeline.not-done", f"timeline: nothing tells that “{text}” was done at {at_s:g} s")
            continue
        done.remove(nearest)
        if abs(nearest[0] - at_s) > late_s:
            yield Message("timeline.late", f"timeline: “{text}” was done at {nearest[0]:.3f} s, planned at {at_s:g} s")
    after = {text for text, at_s in planned_s if at_s > end_s}
    for done_s, text in done:
        if text not in after:
            yield Message("timeline.unasked", f"timeline: “{text}” was done at {done_s:.3f} s, not as planned")


def _together(samples: Mapping[str, Timed]) -> tuple[Array, Array]:
    """The times of samples that were taken together, and a row per connection; none where they were not."""
    series: Sequence[Timed] = list(samples.values())
    if not series or any(not np.array_equal(s.t_s, series[0].t_s) for s in series):
        return np.array([]), np.zeros((0, 0))
    return series[0].t_s, np.array([s.values for s in series], dtype=np.float64)
