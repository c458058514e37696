"""Whether a run's telemetry is plausible: it must agree with itself, the results of the run and the plan.

A check is about a policy. This module judges the data of every run that sends NCP, whatever its checks are: whether the
samples are there, in time and in their units, and whether links and timeline were those of the plan. Where they were
not, nothing is proven, good or bad: each reason makes the run untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.judge.checks import planned
from testbed.judge.checks.as_captured import words_and_packets
from testbed.judge.checks.evidence import Evidence, Timed
from testbed.message import Message
from testbed.plan.engines import engine_of
from testbed.plan.model import Plan, Session
from testbed.plan.traffic_types import traffic_of
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
ANOTHER_UNIT = 10.0
"""Windows that sum to so many times the session's window are in another unit. Less is a question of the policy, which
its checks ask."""
RATE_OFF = 0.05
"""Largest distance, in the median, of a rate from its counter, in parts of the largest rate."""
RTT_OFF = 0.02
"""Largest shortfall of an RTT below the path's delays: those may be off by what calibration permits."""
COPYING, HASTENING = keys_that("copies"), keys_that("hastens")
"""Properties by which more frames arrive than were sent, and by which one may be faster than its link's delay."""

Array = NDArray[np.float64]


def violations(evidence: Evidence) -> list[Message]:
    """Lists the contradictions between telemetry, results and plan; none where they agree."""
    sent = traffic_of(evidence.plan)
    if sent.captured:
        return [*_of_others(evidence), *words_and_packets(evidence), *_events(evidence)]
    if not sent.windows:
        return []
    found: list[Message] = []
    for session in evidence.plan["sessions"]:
        if "connections" not in session or "carrier" in session or "send_window_bytes" not in session:
            continue
        try:
            found += _of_session(evidence, session)
        except LookupError as error:
            found.append(
                Message(
                    "telemetry.unknown",
                    "session {session}: plan or results say nothing of {error}",
                    session=session["name"],
                    error=error,
                )
            )
    return [*_of_others(evidence), *found, *_events(evidence)]


def _of_others(evidence: Evidence) -> Iterator[Message]:
    """All points are this run's."""
    others = evidence.reader.runs() - {evidence.plan["run"]}
    if others:
        yield Message(
            "telemetry.of-other-runs",
            "telemetry: has points of run {others}, and this is run {run}",
            others=", ".join(sorted(others)),
            run=evidence.plan["run"],
        )


def _of_session(evidence: Evidence, session: Session) -> Iterator[Message]:
    name = session["name"]
    end_s = _end_s(evidence, session)
    if end_s is None:
        return  # it came to no end, which its checks tell of
    for series in ("window_packets", "delivered_pps"):
        samples = evidence.samples(series, name)
        for connection in planned.connections(session):
            yield from _times(evidence, (name, connection, series), samples.get(connection), end_s)
    yield from _windows(evidence, session)
    yield from _rates(evidence, session)
    yield from _rtts(evidence, session)
    yield from _arrivals(evidence, session)


def _end_s(evidence: Evidence, session: Session) -> float | None:
    if not any(e.kind == "transfer_start" and e.session == session["name"] for e in evidence.events):
        return None
    return evidence.end_s(session["name"])


def _times(evidence: Evidence, what: tuple[str, str, str], samples: Timed | None, end_s: float) -> Iterator[Message]:
    """Whether there is one sample in every interval from the start to the end."""
    session, connection, series = what
    if samples is None or not samples.t_s.size:
        yield Message(
            "telemetry.no-samples",
            "session {session} connection {connection}, {series}: has no samples",
            session=session,
            connection=connection,
            series=series,
        )
        return
    gaps = np.diff(np.concatenate(([0.0], samples.t_s, [end_s])))
    limit_s = MOST_GAP_INTERVALS * evidence.interval_s
    if engine_of(evidence.plan).kernel:
        limit_s = max(MOST_GAP_S, limit_s)
    if gaps.max() > limit_s:
        at_s = float(np.concatenate(([0.0], samples.t_s))[int(np.argmax(gaps))])
        yield Message(
            "telemetry.gap",
            "session {session} connection {connection}, {series}: says nothing for {gap_s:.1f} s from {at_s:.1f} s on",
            gap_s=float(gaps.max()),
            at_s=at_s,
            session=session,
            connection=connection,
            series=series,
        )
    promised = int(end_s / evidence.interval_s) - 2
    if samples.t_s.size < 0.8 * promised:
        yield Message(
            "telemetry.too-few-samples",
            "session {session} connection {connection}, {series}: has {samples} of about {promised} samples",
            samples=samples.t_s.size,
            promised=promised,
            session=session,
            connection=connection,
            series=series,
        )
    close = int((np.diff(samples.t_s) < LEAST_APART * evidence.interval_s).sum())
    if close > max(2, MOST_CLOSE * samples.t_s.size):
        yield Message(
            "telemetry.samples-too-close",
            "session {session} connection {connection}, {series}: {close} samples follow another within half an "
            "interval",
            close=close,
            session=session,
            connection=connection,
            series=series,
        )


def _windows(evidence: Evidence, session: Session) -> Iterator[Message]:
    """Shares are the windows over their sum; windows that the policy normalises have the session's window as sum."""
    windows, shares = (_together(evidence.samples(s, session["name"])) for s in ("window_packets", "window_share"))
    if windows is None or shares is None or windows.shape != shares.shape:
        return
    total = windows.sum(axis=0)
    off = np.abs(shares - windows / np.where(total > 0, total, np.nan))
    if np.nanmax(off) > SHARE_OFF:
        yield Message(
            "telemetry.share-off",
            "session {session}: a window's share is {off:.3f} off the window over the sum of all",
            session=session["name"],
            off=float(np.nanmax(off)),
        )
    if not session["policy_facts"].get("normalised"):
        return
    whole = planned.session_window_packets(session)
    largest = float(np.median(total))
    if largest > ANOTHER_UNIT * whole:
        yield Message(
            "telemetry.windows-in-another-unit",
            "session {session}: its windows sum to {largest:,.0f} packets, and it may send {whole:,.0f}",
            session=session["name"],
            largest=largest,
            whole=whole,
        )


def _rates(evidence: Evidence, session: Session) -> Iterator[Message]:
    """Whether rates agree with counters: the acknowledged packets per second with the counter's rise, and the
    receiver's deliveries with its total."""
    rates, counts = (evidence.samples(s, session["name"]) for s in ("acknowledged_pps", "acked"))
    for connection, rate in rates.items():
        count = counts.get(connection)
        if count is None or count.t_s.size != rate.t_s.size or rate.t_s.size < 20:
            continue
        # An agent counts from its youngest sample that is a second old. Where packets come in bursts another sample,
        # a microsecond short of it, would say something else.
        t_ns = np.rint(count.t_s * 1e9).astype(np.int64)
        before = np.searchsorted(t_ns, t_ns - 1_000_000_000, side="right") - 1
        old, before = before >= 0, before[before >= 0]
        if not old.any():
            continue
        rose = (count.values[old] - count.values[before]) / (count.t_s[old] - count.t_s[before])
        off = float(np.median(np.abs(rose - rate.values[old])))
        if off > RATE_OFF * max(1.0, float(rose.max())):
            yield Message(
                "telemetry.rate-off-its-counter",
                "session {session} connection {connection}: its rate is {off:.0f} packets/s off its own counter",
                session=session["name"],
                connection=connection,
                off=off,
            )
    delivered = evidence.samples("delivered_pps", session["name"])
    result = evidence.result_of(session["name"], "receiver")
    for reported in (result or {}).get("connections", []):
        samples = delivered.get(str(reported.get("index")))
        if samples is None or samples.t_s.size < 20 or not reported.get("delivered"):
            continue
        brought = float((samples.values * np.diff(samples.t_s, prepend=0.0)).sum())
        if abs(brought - reported["delivered"]) > max(0.1 * reported["delivered"], 2.0 * float(samples.values.max())):
            yield Message(
                "telemetry.deliveries-off",
                "session {session} connection {connection}: its delivery rates sum to {brought:,.0f} packets, it got "
                "{delivered:,}",
                session=session["name"],
                connection=str(reported["index"]),
                brought=brought,
                delivered=reported["delivered"],
            )


def _rtts(evidence: Evidence, session: Session) -> Iterator[Message]:
    """No packet is faster than the delays of its path, at their least in the whole run."""
    delays = {link["name"]: _least_delay_ms(evidence.plan, link) for link in evidence.plan["links"]}
    for connection in session["connections"]:
        samples = evidence.samples("rtt_ms", session["name"]).get(str(connection["index"]))
        least = 2 * sum(delays[name] for name in planned.path_of(connection))
        if samples is None or not samples.values.size:
            continue
        rtt_ms = float(np.median(samples.values))
        if rtt_ms < (1 - RTT_OFF) * least - 1:
            yield Message(
                "telemetry.rtt-too-short",
                "session {session} connection {connection}: its RTT of {rtt_ms:.3g} ms is less than the {least_ms:g} "
                "ms "
                "that its links take",
                session=session["name"],
                connection=str(connection["index"]),
                rtt_ms=rtt_ms,
                least_ms=least,
            )


def _arrivals(evidence: Evidence, session: Session) -> Iterator[Message]:
    """No more packets arrive on a connection than were sent, but where a link is to copy them."""
    ends = [evidence.result_of(session["name"], role) or {} for role in ("sender", "receiver")]
    sent, received = ({reported["index"]: reported for reported in end.get("connections", [])} for end in ends)
    plan = evidence.plan
    copying = {link["name"] for link in plan["links"] if _ever(plan, link, COPYING)}
    for connection in session["connections"]:
        index = connection["index"]
        if index not in sent or index not in received or copying & set(planned.path_of(connection)):
            continue
        left, came = sent[index].get("sent"), received[index].get("received")
        if left is not None and came is not None and came > left:
            yield Message(
                "telemetry.more-arrived-than-sent",
                "session {session} connection {connection}: {came:,} packets arrived, and {left:,} were sent",
                session=session["name"],
                connection=str(index),
                came=came,
                left=left,
            )


def _least_delay_ms(plan: Plan, link: Link) -> float:
    if _ever(plan, link, HASTENING):
        return 0.0
    return min(float(settings["delay_ms"]) for settings in _settings(plan, link) if "delay_ms" in settings)


def _ever(plan: Plan, link: Link, keys: Sequence[str]) -> bool:
    """Whether one of the properties is ever set."""
    return any(settings.get(key) for settings in _settings(plan, link) for key in keys)


def _settings(plan: Plan, link: Link) -> Iterator[Mapping[str, Any]]:
    """The properties of a link, at first and by the timeline."""
    yield link
    for action in plan["timeline"]:
        if action["kind"] == "set" and action["link"] == link["name"]:
            yield action["properties"]


def _events(evidence: Evidence) -> Iterator[Message]:
    """Whether the timeline's events were carried out, once, at their times, while the transfer lasted; and nothing
    else."""
    plan = evidence.plan
    first = plan["sessions"][0]
    end_s = _end_s(evidence, first)
    if end_s is None:
        return
    late_s = float(plan["limits"].get("lateness_max_ms", 100.0)) / 1000
    done = [e for e in evidence.events if e.kind in ("set", "carrier", "pause_read")]
    start_ns = evidence.start_ns(first["name"])
    for action in plan["timeline"]:
        text, at_s = str(action["text"]), float(action["at_s"])
        if at_s > end_s:
            continue
        mine = [e for e in done if e.text == text]
        if not mine:
            yield Message(
                "timeline.not-done",
                "timeline: nothing tells that “{action}” was done at {at_s:g} s",
                action=text,
                at_s=at_s,
            )
            continue
        nearest = min(mine, key=lambda e: abs((e.t_ns - start_ns) / 1e9 - at_s))
        done.remove(nearest)
        if abs((done_s := (nearest.t_ns - start_ns) / 1e9) - at_s) > late_s:
            yield Message(
                "timeline.late",
                "timeline: “{action}” was done at {done_s:.3f} s, planned at {at_s:g} s",
                action=text,
                done_s=done_s,
                at_s=at_s,
            )
    known = {str(action["text"]) for action in plan["timeline"]}
    after = {str(action["text"]) for action in plan["timeline"] if float(action["at_s"]) > end_s}
    for event in done:
        if event.text not in known:
            yield Message("timeline.unasked", "timeline: “{action}” was done and is not in the plan", action=event.text)
        elif event.text not in after:
            done_s = (event.t_ns - start_ns) / 1e9
            yield Message(
                "timeline.once-more",
                "timeline: “{action}” was done once more, at {done_s:.3f} s",
                action=event.text,
                done_s=done_s,
            )


def _together(samples: Mapping[str, Timed]) -> Array | None:
    """One row per connection, of samples that were taken at the same times; None where they were not."""
    series: Sequence[Timed] = list(samples.values())
    if not series or any(s.t_s.size != series[0].t_s.size or not np.array_equal(s.t_s, series[0].t_s) for s in series):
        return None
    return np.array([s.values for s in series], dtype=np.float64)
