"""What two runs of one scenario differ in, figure by figure, against what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from testbed.judge.checks import asked
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.ratio import quotients
from testbed.judge.checks.settles import TOLERANCE, settled_s
from testbed.message import Message
from testbed.plan.model import Session

SHARE_TOLERANCE = 0.03
GOODPUT_TOLERANCE = 0.03
CONVERGENCE_TOLERANCE = 0.10
_SAMPLED_WITHIN_S = 0.06


@dataclass(frozen=True)
class Deviation:
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


def of_runs(first: Evidence, second: Evidence) -> list[Deviation]:
    """All differences of two runs of one plan, session by session; raises CannotJudge where a run has no data."""
    found = []
    for session in first.plan["sessions"]:
        name = session["name"]
        shares = [run.samples("window_share", name) for run in (first, second)]
        for together in _over_the_same_links(session):
            sums = [_sum([of_run[c] for c in together if c in of_run]) for of_run in shares]
            found.append(_shares(name, together, _seconds(first), *sums))
        found.append(_goodput(session, first, second))
        if len(session["connections"]) > 1:
            found.append(_convergence(session, first, second))
    return found


def _over_the_same_links(session: Session) -> list[list[str]]:
    """Connections, those together that share a link. What such a link carries is divided by the order in which their
    packets come to it, and a microsecond of delay changes that: only what they have together is the same."""
    groups: list[tuple[set[str], list[str]]] = []
    for connection in session["connections"]:
        links, names = set(asked.path_of(connection)), [str(connection["index"])]
        for group in [g for g in groups if g[0] & links]:
            groups.remove(group)
            links, names = links | group[0], [*group[1], *names]
        groups.append((links, names))
    return [names for _, names in groups]


def _sum(connections: Sequence[Timed]) -> Timed:
    """Of samples that were taken together."""
    if not connections:
        return Timed(np.empty(0), np.empty(0))
    length = min(s.t_s.size for s in connections)
    return Timed(connections[0].t_s[:length], np.sum([s.values[:length] for s in connections], axis=0))


def _seconds(run: Evidence) -> dict[int, float]:
    """Whole seconds, and when to look: where the timeline acts a sample's interval earlier, as windows jump there, and
    which run took its sample after the jump says nothing."""
    acts = {
        a["at_s"] + later for a in run.plan["timeline"] for later in (0, a["for_s"] if a["kind"] == "pause_read" else 0)
    }
    last_s = int(max((run.end_s(s["name"]) or 0.0 for s in run.plan["sessions"]), default=0.0))
    return {t_s: t_s - run.interval_s if t_s in acts else t_s for t_s in range(1, last_s + 1)}


def _shares(
    session: str, connections: Sequence[str], seconds: Mapping[int, float], first: Timed, second: Timed
) -> Deviation:
    """The largest difference at whole seconds, which both runs cover; between samples by the straight line."""
    worst = (math.inf, 0, math.nan, math.nan)
    for t_s, look_s in seconds.items():
        if any(run.nearest(look_s, _SAMPLED_WITHIN_S) is None for run in (first, second)):
            continue
        a, b = (float(np.interp(look_s, run.t_s, run.values)) for run in (first, second))
        if math.isinf(worst[0]) or abs(a - b) > worst[0]:
            worst = (abs(a - b), t_s, a, b)
    off, at_s, a, b = worst
    which = f"connection{'s' if len(connections) > 1 else ''} {' and '.join(connections)}"
    text = f"share of {which}: {a:.3f} and {b:.3f} at {at_s} s, where they differ most"
    return Deviation(session, f"window share {'+'.join(connections)}", a, b, off, SHARE_TOLERANCE, text)


def _goodput(session: Session, first: Evidence, second: Evidence) -> Deviation:
    name = session["name"]
    ends = [run.end_s(name) for run in (first, second)]
    if None in ends:
        raise CannotJudge(
            Message("session.not-finished-on-both", "session {session} did not finish on both engines", session=name)
        )
    a, b = (session["transfer_bytes"] / end / 2**20 for end in ends if end)
    text = f"goodput: {a:.3f} and {b:.3f} MiB/s"
    return Deviation(name, "goodput", a, b, abs(b / a - 1), GOODPUT_TOLERANCE, text)


def _convergence(session: Session, first: Evidence, second: Evidence) -> Deviation:
    a, b = (_converged_s(session, run) for run in (first, second))
    if a is None or b is None:
        off = 0.0 if a is b else math.inf
    else:
        # One sample more or less is no difference.
        off = max(0.0, abs(b - a) - first.interval_s) / max(a, first.interval_s)
    said = ["never" if t is None else f"{t:.1f} s" for t in (a, b)]
    text = f"converged within ±{TOLERANCE:.0%} for good: {said[0]} and {said[1]}"
    return Deviation(session["name"], "convergence", a, b, off, CONVERGENCE_TOLERANCE, text)


def _converged_s(session: Session, run: Evidence) -> float | None:
    """When the last connection's window came to its ratio to the first's."""
    windows = run.samples("window_packets", session["name"])
    rates = asked.rates_pps(run.plan, session)
    connections = list(windows)
    times = []
    for other in connections[1:]:
        t_s, ratio = quotients(windows[connections[0]], windows[other], within_s=run.interval_s / 2)
        times.append(settled_s(t_s, ratio, rates[connections[0]] / rates[other], TOLERANCE))
    return None if None in times else max(t for t in times if t is not None)
