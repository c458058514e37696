"""The part of a check's time that a run really covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from testbed.judge.checks.evidence import Evidence, Timed
from testbed.judge.checks.result import rounded
from testbed.message import Message

NO_SAMPLES = Message("samples.none-there", "no samples there")
A_CONNECTION_HAS_NONE = Message("samples.a-connection-has-none", "a connection has no samples there")
NO_PAIRS = Message("samples.no-pairs", "no two samples at the same time")


@dataclass(frozen=True)
class Coverage:
    """The judged time ``from_s`` to ``to_s``; ``gap`` says why it does not decide the check (None if it does).

    ``shortened`` is set where a quick run is judged over the part that it covers.
    """

    from_s: float
    to_s: float
    gap: Message | None = None
    shortened: bool = False

    def figures(self, session: str) -> dict[str, Any]:
        """The figures of every check that is judged over such a time."""
        return {"session": session, "judged_from_s": rounded(self.from_s), "judged_to_s": rounded(self.to_s)}


def cover(evidence: Evidence, samples: Mapping[str, Timed], from_s: float, to_s: float, at_least_s: float) -> Coverage:
    """The part of ``from_s``..``to_s`` that the samples (by connection) cover.

    A full run has to cover all of it; a quick one is judged over what it covers if that is ``at_least_s``
    or more. At least half of the samples that the interval promises have to be there.
    """
    interval = evidence.interval_s
    covered_to = min(to_s, min(float(s.t_s[-1]) if s.t_s.size else 0.0 for s in samples.values()))
    covered = max(0.0, covered_to - from_s)
    quick = bool(evidence.plan.get("quick"))
    # The last sample may be up to one interval before the requested end.
    complete = covered_to >= to_s - 1.5 * interval
    coverage = Coverage(from_s, max(from_s, covered_to), shortened=not complete)
    if not complete and not quick:
        gap = Message(
            "coverage.ends-early",
            "the samples end at {end_s:.1f} s, {from_s:g} s to {to_s:g} s were requested",
            end_s=covered_to,
            from_s=from_s,
            to_s=to_s,
        )
        return replace(coverage, gap=gap)
    if not complete and covered < at_least_s - 1.5 * interval:
        gap = Message(
            "coverage.too-short",
            "this quick run covers {covered_s:.1f} s of it, {from_s:g} s to {to_s:g} s were requested and "
            "{at_least_s:g} s are the least to judge by",
            covered_s=covered,
            from_s=from_s,
            to_s=to_s,
            at_least_s=at_least_s,
        )
        return replace(coverage, gap=gap)
    promised = int(covered / interval)
    for connection, s in samples.items():
        found = s.between(from_s, covered_to).t_s.size
        if found < promised / 2:
            gap = Message(
                "coverage.too-few-samples",
                "connection {connection} has only {samples} of about {promised} samples there",
                connection=connection,
                samples=found,
                promised=promised,
            )
            return replace(coverage, gap=gap)
    return coverage
