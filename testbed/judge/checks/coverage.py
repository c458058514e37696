"""The part of a check's time that a run really covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from testbed.judge.checks.evidence import Evidence, Timed
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
    found = Coverage(from_s, max(from_s, covered_to), shortened=shortened)
    gap = None
    if shortened and not evidence.plan.get("quick"):
        gap = Message(
            "coverage.ends-early", f"the samples end at {covered_to:.1f} s, {from_s:g} s to {to_s:g} s were requested"
        )
    elif shortened and found.span_s < at_least_s - 1.5 * evidence.interval_s:
        gap = Message(
            "coverage.too-short",
            f"this quick run covers {found.span_s:.1f} s of it, {from_s:g} s to {to_s:g} s were requested and "
            f"{at_least_s:g} s are the least to judge by",
        )
    else:
        promised = int(found.span_s / evidence.interval_s)
        counts = {connection: s.between(from_s, covered_to).t_s.size for connection, s in samples.items()}
        if few := next((connection for connection, count in counts.items() if count < promised / 2), None):
            gap = Message(
                "coverage.too-few-samples", f"connection {few} has only {counts[few]} of about {promised} samples there"
            )
    return replace(found, gap=gap)
