"""What two runs of one scenario differ in, figure by figure, against what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from testbed.checks import asked
from testbed.checks.evidence import CannotJudge, Evidence, Timed
from testbed.checks.ratio import quotients
from testbed.checks.settles import settled_s

SHARE_TOLERANCE = 0.03
GOODPUT_TOLERANCE = 0.03
CONVERGENCE_TOLERANCE = 0.10
CONVERGED_WITHIN = 0.20
"""Converged: the ratio of two windows is within this part of the ratio of their links' rates, for good."""


@dataclass(frozen=True)
class Difference:
    """One figure of one session on both engines; ``off`` and ``allowed`` are in the same measure."""

    session: str
    figure: str
    first: float | None
    second: float | None
    off: float
    allowed: float
    text: str

    @property
    def same(self) -> bool:
        """Whether the engines agree within what is allowed."""
        return self.off <= self.allowed

    def as_json(self) -> dict[str, Any]:
        """For ``cross-check.json``: NaN and infinity, which JSON lacks, become null."""
        document = asdict(self) | {"same": self.same}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in document.items()}


def compare(first: Evidence, second: Evidence) -> list[Difference]:
    """All differences of two runs of one plan, session by session; raises CannotJudge where a run has no data."""
    found = []
    for session in first.plan["sessions"]:
        name = session["name"]
        shares = [run.samples("window_share", name) for run in (first, second)]
        found += [_shares(name, connection, *(s[connection] for s in shares)) for connection in shares[0]]
        found.append(_goodput(session, first, second))
        if len(session["connections"]) > 1:
            found.append(_convergence(session, first, second))
    return found


def _shares(session: str, connection: str, first: Timed, second: Timed) -> Difference:
    """The largest difference at whole seconds, which both runs cover."""
    end_s = min(float(run.t_s[-1]) if run.t_s.size else 0.0 for run in (first, second))
    worst = (math.inf, 0.0, math.nan, math.nan)
    for t_s in range(1, int(end_s) + 1):
        places = [run.nearest(t_s, 0.06) for run in (first, second)]
        if None in places:
            continue
        a, b = (float(run.values[place]) for run, place in zip((first, second), places, strict=True))
        if math.isinf(worst[0]) or abs(a - b) > worst[0]:
            worst = (abs(a - b), float(t_s), a, b)
    off, at_s, a, b = worst
    text = f"share of connection {connection}: {a:.3f} and {b:.3f} at {at_s:g} s, where they differ most"
    return Difference(session, f"window share {connection}", a, b, off, SHARE_TOLERANCE, text)


def _goodput(session: Mapping[str, Any], first: Evidence, second: Evidence) -> Difference:
    name = session["name"]
    ends = [run.end_s(name) for run in (first, second)]
    if None in ends:
        raise CannotJudge(f"session {name} did not come to its end on both engines")
    a, b = (session["transfer_bytes"] / end / 2**20 for end in ends if end)
    text = f"goodput: {a:.3f} and {b:.3f} MiB/s"
    return Difference(name, "goodput", a, b, abs(b / a - 1), GOODPUT_TOLERANCE, text)


def _convergence(session: Mapping[str, Any], first: Evidence, second: Evidence) -> Difference:
    a, b = (_converged_s(session, run) for run in (first, second))
    if a is None or b is None:
        off = 0.0 if a is b else math.inf
    else:
        # One sample more or less is no difference.
        off = max(0.0, abs(b - a) - first.interval_s) / max(a, first.interval_s)
    said = ["never" if t is None else f"{t:.1f} s" for t in (a, b)]
    text = f"converged within ±{CONVERGED_WITHIN:.0%} for good: {said[0]} and {said[1]}"
    return Difference(session["name"], "convergence", a, b, off, CONVERGENCE_TOLERANCE, text)


def _converged_s(session: Mapping[str, Any], run: Evidence) -> float | None:
    """When the last connection's window came to its ratio to the first's."""
    windows = run.samples("window_packets", session["name"])
    rates = asked.rates_pps(run.plan, session)
    connections = list(windows)
    times = []
    for other in connections[1:]:
        t_s, ratio = quotients(windows[connections[0]], windows[other], within_s=run.interval_s / 2)
        times.append(settled_s(t_s, ratio, rates[connections[0]] / rates[other], CONVERGED_WITHIN))
    return None if None in times else max(t for t in times if t is not None)
