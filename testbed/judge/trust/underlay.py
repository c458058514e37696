"""The network between machines with hosts of a run, and their clocks: what samples say of it, and what that takes of
the run's trust."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from testbed.documents import read_csv, write_csv
from testbed.message import Message
from testbed.plan.model import Limits, Plan
from testbed.plan.place import HERE, Way, in_words, ways_below

if TYPE_CHECKING:
    from testbed.series.reader import Event

FILE = "underlay.csv"
"""File in the result folder: a row for each packet."""
MOST_LOST = 1
"""Packets that the underlay may lose, as a link in its calibration."""
CLOCK_LIMIT_MS = 25.0
"""A quarter of the interval of telemetry: samples of two machines at one time have one timestamp."""
LEAST_SAMPLES = 20
UNMEASURED_S = 1.0
"""Longest part of the transfer without a packet, even a lost one: the path is unknown in a longer one."""


@dataclass(frozen=True)
class Sample:
    """The sample of a packet: there and back, in nanoseconds; a lost one has zeros."""

    machine: str
    when: str
    """``before`` or ``during``."""
    sent_unix_ns: int
    lost: bool
    rtt_ns: int
    offset_ns: int
    """Offset of the other clock, ahead as positive."""
    idle: int
    """Jiffies of all its cores since it was booted, and of those the idle ones."""
    cpu: int
    origin: str = HERE
    """The machine that sent the packet; earlier files do not have it, as all were sent here."""

    @property
    def way(self) -> Way:
        """The two machines."""
        return self.origin, self.machine


_SAMPLE = TypeAdapter(Sample)


@dataclass(frozen=True)
class Underlay:
    """Figures of a path between two machines."""

    machine: str
    samples: int
    lost: int
    one_way_ms: float
    """Half of the median there and back: how it is shared between the ways can't be known."""
    one_way_p99_ms: float
    asymmetry_ms: float
    """Largest error of either direction: half of the shortest round trip."""
    ahead_ns: int
    """The clock, by the samples that were quickest."""
    origin: str = HERE


def of(samples: Sequence[Sample]) -> Underlay:
    """The figures of samples of one way. ValueError where none came back."""
    back = sorted((one for one in samples if not one.lost), key=lambda one: one.rtt_ns)
    if not back:
        raise ValueError("no packet came back")
    ways_ms = [one.rtt_ns / 1e6 / 2 for one in back]
    delays_ms = statistics.median(ways_ms), ways_ms[min(len(back) - 1, int(0.99 * len(back)))], ways_ms[0]
    ahead_ns = round(statistics.median(one.offset_ns for one in back[: max(1, len(back) // 10)]))
    machine, origin = back[0].machine, back[0].origin
    return Underlay(machine, len(samples), len(samples) - len(back), *delays_ms, ahead_ns, origin)


def samples_of(text: str, machine: str, when: str, origin: str = HERE, ahead_ns: int = 0) -> list[Sample]:
    """Samples of ``ncp-far measure``, a line each; from another machine than this, whose clock is ahead by the
    offset."""
    whole = (line for line in text.splitlines() if line.startswith("{") and line.endswith("}"))
    return [sample_of(json.loads(line), machine, when, origin, ahead_ns) for line in whole]


def sample_of(said: Mapping[str, int], machine: str, when: str, origin: str = HERE, ahead_ns: int = 0) -> Sample:
    """The sample of one such line."""
    here = {"machine": machine, "when": when, "origin": origin, "sent_unix_ns": int(said["sent_unix_ns"]) - ahead_ns}
    return _SAMPLE.validate_python({**said, **here})


def ways_of(plan: Plan) -> dict[Way, bool]:
    """Paths to measure in a run, and whether frames of links take them; one from here to each machine is for its
    clock."""
    place, middles = plan.get("place", {}), plan.get("middles", {})
    taken = [way for link in plan["links"] for way in ways_below(link, place, middles.get(link["name"], HERE))]
    ways = [*((HERE, machine) for machine in place.values()), *taken]
    return {way: way in taken for way in ways}


def span_of(events: Sequence[Event]) -> tuple[int, int] | None:
    """The time of the transfer, in Unix nanoseconds; None without telemetry of it."""
    from testbed.series.reader import start_of  # not where samples are taken

    start, ends = start_of(events), [one.t_ns for one in events if one.kind == "transfer_end"]
    return None if start is None or not ends else (start, max(ends))


def violations(
    limits: Limits, ways: Mapping[Way, bool], samples: Iterable[Sample], span: tuple[int, int] | None = None
) -> list[Message]:
    """Reasons not to trust links over the underlay, and times of the other machines, a line each. ``ways``: as
    :func:`ways_of` has them."""
    of_way: dict[Way, list[Sample]] = {way: [] for way in ways}
    for one in samples:
        of_way.setdefault(one.way, []).append(one)
    reasons: list[Message] = []
    for way, frames in ways.items():
        before, during = ([one for one in of_way[way] if one.when == when] for when in ("before", "during"))
        unknown = list(_unknown(before, during, span))
        of_path = unknown or (_of_frames(limits, before, during) if frames else ())
        reasons += [said.at(f"underlay {in_words(way)}") for said in of_path]
        if way[0] == HERE and not unknown:
            reasons += _of_machine(limits, way[1], before, during)
    return reasons


def _unknown(before: Sequence[Sample], during: Sequence[Sample], span: tuple[int, int] | None) -> Iterator[Message]:
    """The reason why a path is unknown, if it was not measured all through."""
    for when, part in (("before", before), ("during", during)):
        if sum(not one.lost for one in part) < LEAST_SAMPLES:
            yield Message(
                "underlay.too-few-samples",
                f"too few packets came back {when} the run to know it ({len(part)} were sent)",
            )
            return
    if span is None:
        return
    start, end = span
    sent = [start, *sorted(one.sent_unix_ns for one in during if start < one.sent_unix_ns < end), end]
    longest_ns, from_ns = max((b - a, a) for a, b in pairwise(sent))
    if longest_ns > UNMEASURED_S * 1e9:
        yield Message(
            "underlay.not-measured",
            f"it was not measured for {longest_ns / 1e9:.1f} s of the transfer, from {(from_ns - start) / 1e9:.1f} s "
            "on",
        )


def _of_frames(limits: Limits, before: Sequence[Sample], during: Sequence[Sample]) -> Iterator[Message]:
    """Reasons in the path's effect on frames of links, beyond the delay that is subtracted."""
    begun, on = of(before), of(during)
    if (lost := begun.lost + on.lost) > MOST_LOST:
        came = sorted(one.sent_unix_ns for one in during if not one.lost)
        yield Message(
            "underlay.lost",
            f"it lost {lost} of {begun.samples + on.samples} packets, for up to "
            f"{max((b - a for a, b in pairwise(came)), default=0) / 1e9:.1f} s, beyond the plan",
        )
    if abs(change_ms := on.one_way_ms - begun.one_way_ms) > limits["delay_error_ms"]:
        yield Message(
            "underlay.delay-changed",
            f"its one-way delay was {on.one_way_ms:.2f} ms during the run, {change_ms:+.2f} ms off what was "
            f"subtracted from the links' (limit ±{limits['delay_error_ms']:g} ms)",
        )
    if (late_ms := on.one_way_p99_ms - on.one_way_ms) > limits["lateness_p99_ms"]:
        yield Message(
            "underlay.late",
            f"1% of the packets came more than {late_ms:.2f} ms late (limit {limits['lateness_p99_ms']:g} ms)",
        )


def _of_machine(limits: Limits, machine: str, before: Sequence[Sample], during: Sequence[Sample]) -> Iterator[Message]:
    """Reasons in a machine's spare CPU time, and in the error of its clock."""
    if (idle := idle_share(during)) is None:
        yield Message("machine.cpu-unknown", f"{machine} does not tell its CPU time, so it may have been starved")
    elif idle < limits["cpu_idle"]:
        yield Message(
            "machine.elsewhere-starved",
            f"{machine} was starved: {idle:.1%} of its CPU time was idle (limit {limits['cpu_idle']:.0%})",
        )
    uncertain_ms = clock_uncertainty_ms([*before, *during])
    if uncertain_ms > CLOCK_LIMIT_MS:
        yield Message(
            "machine.clock-unknown",
            f"{machine}: its clock is known to ±{uncertain_ms:.1f} ms only (limit ±{CLOCK_LIMIT_MS:g} ms), so its "
            "points are not at the times at which they were sampled",
        )


def clock_uncertainty_ms(samples: Sequence[Sample]) -> float:
    """The error of a machine's times during the run, by samples from here: the asymmetry of the path, and the drift or
    steps of its clock since the measurement before."""
    begun = of([one for one in samples if one.when == "before"])
    during = (one for one in samples if one.when == "during" and not one.lost)
    drift_ns = max((max(0.0, abs(one.offset_ns - begun.ahead_ns) - one.rtt_ns / 2) for one in during), default=0.0)
    return begun.asymmetry_ms + drift_ns / 1e6


def idle_share(samples: Sequence[Sample]) -> float | None:
    """The idle part of a machine's CPU time; None where it is unknown."""
    known = [one for one in samples if not one.lost and one.cpu]
    if len(known) < 2 or known[-1].cpu == known[0].cpu:
        return None
    return (known[-1].idle - known[0].idle) / (known[-1].cpu - known[0].cpu)


def write(samples: Sequence[Sample], path: Path) -> None:
    """``underlay.csv``."""
    rows = [{**asdict(one), "lost": int(one.lost)} for one in samples]
    write_csv(path, rows, [field.name for field in fields(Sample)], "\n")


def read(path: Path) -> list[Sample]:
    """The rows of the file; raises BadInput or ValueError where it has none."""
    return [_SAMPLE.validate_python(row) for row in read_csv(path)]
