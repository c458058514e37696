"""The evidence of a check: the plan, the samples and the agents' results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from testbed.documents import read_json
from testbed.message import InvalidValue, Message
from testbed.plan.model import Plan
from testbed.series import Event, Reader, Samples, named
from testbed.series.reader import end_of, start_of


class CannotJudge(InvalidValue):
    """Something a check needs is missing or broken; ``said`` says what."""


def none_of(series: str, missing: Sequence[str]) -> CannotJudge:
    """The values of connections without samples of a series."""
    return CannotJudge("samples.none", f"there are no samples of {series} for connection {', '.join(missing)}")


@dataclass(frozen=True)
class Evidence:
    """One run's evidence.

    ``results`` are the agents' ``result.json`` documents. ``file_points`` is how many points of telemetry
    ``telemetry.lp`` holds, ``database_points`` how many of the run's InfluxDB held when the run ended (None
    where there is no file or no database took part). ``folder`` is the result folder, ``complete`` whether it has
    to have all evidence of today.
    """

    plan: Plan
    reader: Reader
    results: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    file_points: int | None = None
    database_points: int | None = None
    folder: Path | None = None
    complete: bool = True

    @cached_property
    def events(self) -> list[Event]:
        """All events in time order."""
        return self.reader.events()

    @property
    def interval_s(self) -> float:
        """Seconds between two samples of one series."""
        return float(self.plan["telemetry"]["interval_ms"]) / 1000

    def result_of(self, session: str, role: str) -> Mapping[str, Any] | None:
        """The result of one end of a session; None if it left nothing."""
        theirs = (r for r in self.results if r.get("session") == session and r.get("role") == role)
        return next(theirs, None)

    def needed_result(self, session: str, role: str) -> Mapping[str, Any]:
        """The result of one end of a session; CannotJudge if it left nothing."""
        result = self.result_of(session, role)
        if result is None:
            raise CannotJudge(
                "result.of-no-agent", f"there is no result of the {role} of session {session}; the agent left none"
            )
        return result

    def start_ns(self, session: str) -> int:
        """Unix nanoseconds of the session's t = 0; CannotJudge if it never started."""
        start = start_of(self.events, session)
        if start is None:
            raise CannotJudge(
                "session.never-started", f"session {session} has no transfer_start event, so it has no t = 0"
            )
        return start

    def end_s(self, session: str) -> float | None:
        """Seconds from the session's start to its transfer_end; None of a session without one of them."""
        start, end = start_of(self.events, session), end_of(self.events, session)
        return None if start is None or end is None else (end - start) / 1e9

    def samples(self, series: str, session: str) -> dict[str, Timed]:
        """A session's samples of a series by group, in seconds since its start, up to its end."""
        start, end = self.start_ns(session), self.end_s(session)
        found = self.reader.read(named(series), {"session": session})
        return {group: Timed.of(samples, start, end) for group, samples in found.items()}

    def samples_of(self, series: str, session: str, connections: Sequence[str]) -> dict[str, Timed]:
        """The samples of some connections, in that order; CannotJudge if one has none."""
        found = self.samples(series, session)
        missing = [c for c in connections if c not in found or not found[c].t_s.size]
        if missing:
            raise none_of(series, missing)
        return {c: found[c] for c in connections}


class Timed(NamedTuple):
    """Samples at ``t_s`` seconds since the transfer's start (float64), with their ``values`` (float64)."""

    t_s: np.typing.NDArray[np.float64]
    values: np.typing.NDArray[np.float64]

    @classmethod
    def of(cls, samples: Samples, start_ns: int, end_s: float | None) -> Timed:
        """``samples`` from the start to ``end_s``, if that is known (the session's linger follows)."""
        t_s = samples.since(start_ns)
        inside = (t_s >= 0) & (t_s <= (np.inf if end_s is None else end_s))
        return cls(t_s[inside], samples.values[inside])

    def between(self, from_s: float, to_s: float) -> Timed:
        """The samples with ``from_s`` ≤ t ≤ ``to_s``."""
        inside = (self.t_s >= from_s) & (self.t_s <= to_s)
        return Timed(self.t_s[inside], self.values[inside])

    def nearest(self, t_s: float, within_s: float) -> int | None:
        """The index of the sample nearest to ``t_s``; None if none is within ``within_s``."""
        if not self.t_s.size:
            return None
        index = int(np.argmin(np.abs(self.t_s - t_s)))
        return index if abs(self.t_s[index] - t_s) <= within_s else None


NO_SAMPLES = Message("samples.none-there", "no samples there")
A_CONNECTION_HAS_NONE = Message("samples.a-connection-has-none", "a connection has no samples there")
NO_PAIRS = Message("samples.no-pairs", "no two samples at the same time")


class Coverage(NamedTuple):
    """The judged time ``from_s`` to ``to_s``; ``gap`` says why it does not decide the check (None if it does).

    ``shortened`` is set where a quick run is judged over the part that it covers.
    """

    from_s: float
    to_s: float
    gap: Message | None = None
    shortened: bool = False

    @property
    def span_s(self) -> float:
        """The length of the judged time."""
        return self.to_s - self.from_s

    def figures(self, session: str) -> dict[str, Any]:
        """The figures of every check that is judged over such a time."""
        return {"session": session, "judged_from_s": self.from_s, "judged_to_s": self.to_s}


def cover(evidence: Evidence, samples: Mapping[str, Timed], from_s: float, to_s: float, at_least_s: float) -> Coverage:
    """The part of ``from_s``..``to_s`` that the samples (by connection) cover.

    A full run has to cover all of it; a quick one is judged over what it covers if that is ``at_least_s``
    or more. At least half of the samples that the interval promises have to be there.
    """
    covered_to = min(to_s, min(float(s.t_s[-1]) if s.t_s.size else 0.0 for s in samples.values()))
    # The last sample may be up to one interval before the requested end.
    shortened = covered_to < to_s - 1.5 * evidence.interval_s
    span_s, gap = max(0.0, covered_to - from_s), None
    if shortened and not evidence.plan.get("quick"):
        gap = Message(
            "coverage.ends-early", f"the samples end at {covered_to:.1f} s, {from_s:g} s to {to_s:g} s were requested"
        )
    elif shortened and span_s < at_least_s - 1.5 * evidence.interval_s:
        gap = Message(
            "coverage.too-short",
            f"this quick run covers {span_s:.1f} s of it, {from_s:g} s to {to_s:g} s were requested and "
            f"{at_least_s:g} s are the least to judge by",
        )
    else:
        promised = int(span_s / evidence.interval_s)
        counts = {connection: s.between(from_s, covered_to).t_s.size for connection, s in samples.items()}
        if few := next((connection for connection, count in counts.items() if count < promised / 2), None):
            gap = Message(
                "coverage.too-few-samples", f"connection {few} has only {counts[few]} of about {promised} samples there"
            )
    return Coverage(from_s, max(from_s, covered_to), gap, shortened)


def agent_results(folder: Path) -> list[dict[str, Any]]:
    """The documents in ``agents/``; BadInput names a file that is no JSON object. No folder gives none."""
    return [read_json(path) for path in sorted(folder.glob("*.json"))]
