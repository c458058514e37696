"""Agreement of engines: two runs of a scenario, or two tables of runs, figure by figure, within tolerances."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, PlainSerializer, computed_field
from pydantic.dataclasses import dataclass
from pydantic.json_schema import SkipJsonSchema

from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.in_range import TOLERANCE, quotients, settled_s
from testbed.judge.figures import title_of, unit_of
from testbed.judge.status import Status, verdict_of
from testbed.plan.model import Session
from testbed.results.report import words
from testbed.study.checks.table import judge_one
from testbed.study.kinds.table_file import Table
from testbed.study.kinds.table_result import Spread, results_of, summaries_of

SHARE_TOLERANCE = 0.03
GOODPUT_TOLERANCE = 0.03
CONVERGENCE_TOLERANCE = 0.10
FIGURE_TOLERANCE = 0.05
"""Tolerance of a figure, in parts of the first engine's; of a figure in percent, in parts of a hundred."""
SAMPLED_WITHIN_S = 0.06
DECIDED: tuple[Status, ...] = (Status.PASS, Status.FAIL, Status.ERROR, Status.MISSING, Status.UNTRUSTED)

Compared = TypeVar("Compared")


@dataclass(frozen=True)
class Deviation:
    """Deviation of a session's figure between engines; ``off`` and ``allowed`` are in the same unit. ``off`` is None
    where only one of them has it."""

    session: str
    figure: str
    first: float | None
    second: float | None
    off: float | None
    allowed: float
    text: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def same(self) -> bool:
        """Whether the engines agree within the tolerance."""
        return self.off is not None and self.off <= self.allowed


@dataclass(frozen=True, config=ConfigDict(json_schema_serialization_defaults_required=True))
class Agreement:
    """Comparison of a scenario or table on several engines, as in ``cross-check.json``. ``runs`` are the result folders
    by engine; ``untrusted`` are reasons not to trust one; ``broken`` is the reason for nothing to compare."""

    scenario: str
    title: Annotated[SkipJsonSchema[str], Field(exclude=True)]
    runs: Mapping[str, Annotated[Path, PlainSerializer(lambda folder: folder.name, return_type=str)]]
    differences: Sequence[Deviation] = ()
    plots: Annotated[SkipJsonSchema[Sequence[Any]], Field(exclude=True)] = ()
    untrusted: Sequence[str] = ()
    broken: str = ""
    runs_own: Mapping[str, Status] = field(default_factory=dict)
    """Status of each engine's own runs: two that fail in the same fact are alike, and prove nothing."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> Status:
        """``pass``, ``fail`` or ``untrusted``; never ``pass`` where nothing was compared."""
        parts = [Status.PASS if d.same else Status.FAIL for d in self.differences] or [Status.MISSING]
        parts += [*self.runs_own.values(), *([Status.ERROR] if self.broken else [])]
        return verdict_of([*parts, *([Status.UNTRUSTED] if self.untrusted else [])])

    def lines(self) -> list[str]:
        """Lines for the terminal."""
        rows = [("same" if one.same else "differs", one.text) for one in self.differences]
        rows += [(word, f"{engine}: its own runs") for engine, word in self.runs_own.items() if word != Status.PASS]
        rows += [(Status.UNTRUSTED, reason) for reason in self.untrusted]
        rows += [("broken", self.broken)] if self.broken else []
        return [f"{self.scenario}: {self.verdict}", *(f"  {word:<11} {text}" for word, text in rows)]


@dataclass(frozen=True)
class CrossCheck:
    """``cross-check.json``."""

    schema: Literal[1]
    scenarios: Sequence[Agreement]
    refused: Mapping[str, str]
    """Reasons of engines that don't support a scenario."""


def with_first(
    found: Mapping[str, Compared], compare: Callable[[Compared, Compared], Sequence[Deviation]]
) -> list[Deviation]:
    """Compare each of the others with the first; with more than two, each deviation names its pair."""
    (first, baseline), *others = found.items()
    deviations = [(word, d) for word, other in others for d in compare(baseline, other)]
    if len(others) == 1:
        return [d for _, d in deviations]
    return [replace(d, text=f"{d.text} ({first} and {word})") for word, d in deviations]


def compare_runs(first: Evidence, second: Evidence) -> list[Deviation]:
    """Compare two runs of a plan with windows, session by session; raises CannotJudge where a run has no data."""
    found = []
    for session in first.plan["sessions"]:
        name = session["name"]
        shares = [run.samples("window_share", name) for run in (first, second)]
        found += [_shares(name, together, _seconds(first), shares) for together in _sharing_links(session)]
        found.append(_goodput(session, first, second))
        if len(session["connections"]) > 1:
            found.append(_convergence(session, first, second))
    return found


def compare_figures(scenario: str, first: Mapping[str, float], second: Mapping[str, float]) -> list[Deviation]:
    """Compare two runs by the figures of their verdicts; a figure of one run alone deviates infinitely."""
    return [
        _figure(scenario, name, *(Spread.of([run[name]] if name in run else []) for run in (first, second)))
        for name in dict.fromkeys([*first, *second])
    ]


def compare_tables(table: Table, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Deviation]:
    """Compare two ``table.json``: the medians of common cells, and the statuses of the table's checks, which both have
    to decide: few runs leave open what more decide."""
    ours, theirs = ({row.name: row for row in summaries_of(document)} for document in (first, second))
    rows = [name for name in ours if name in theirs]
    columns = [name for name in first["columns"] if name in second["columns"]]
    found = []
    for row, column, figure in itertools.product(rows, columns, table.figures):
        both = ours[row].spread(column, figure), theirs[row].spread(column, figure)
        if any(spread.n for spread in both):
            found.append(_figure(f"{row} {column}", figure, *both))
    sides = [
        ([of[row] for row in rows], [c for c in results_of(document) if c.at["row"] in rows])
        for of, document in ((ours, first), (theirs, second))
    ]
    for check in table.checks:
        one, other = (judge_one(check, of, cells).status for of, cells in sides)
        differ = one in DECIDED and other in DECIDED and one != other
        text = f"“{check.name}” {words.STATUS[one]} and {words.STATUS[other]}"
        found.append(Deviation(check.name, "check", None, None, float(differ), 0.0, text))
    return found


def _sharing_links(session: Session) -> list[list[str]]:
    """Groups connections that share a link. The order of their packets divides such a link among them, and a
    microsecond of delay changes it: only their sum is the same on both engines."""
    groups: list[tuple[set[str], list[str]]] = []
    for connection in session["connections"]:
        links, names = set(planned.path_of(connection)), [str(connection["index"])]
        for group in [g for g in groups if g[0] & links]:
            groups.remove(group)
            links, names = links | group[0], [*group[1], *names]
        groups.append((links, names))
    return [names for _, names in groups]


def _seconds(run: Evidence) -> dict[int, float]:
    """Maps whole seconds to times of samples. At an event of the timeline it is a sample's interval earlier: windows
    jump there, and either run may take its sample after the jump."""
    acts = {
        a["at_s"] + later for a in run.plan["timeline"] for later in (0, a["for_s"] if a["kind"] == "pause_read" else 0)
    }
    last_s = int(max((run.end_s(s["name"]) or 0.0 for s in run.plan["sessions"]), default=0.0))
    return {t_s: t_s - run.interval_s if t_s in acts else t_s for t_s in range(1, last_s + 1)}


def _shares(
    session: str, together: Sequence[str], seconds: Mapping[int, float], shares: Sequence[Mapping[str, Timed]]
) -> Deviation:
    """Largest difference at whole seconds that both runs cover, with linear interpolation between samples. Of
    connections that share a link it is that of their sums."""
    seen = []
    for t_s, look_s in seconds.items():
        samples = [[of_run[name] for name in together if name in of_run] for of_run in shares]
        if all(of and all(one.nearest(look_s, SAMPLED_WITHIN_S) is not None for one in of) for of in samples):
            a, b = (float(sum(np.interp(look_s, one.t_s, one.values) for one in of)) for of in samples)
            seen.append((t_s, a, b))
    which = f"connection{'s' if len(together) > 1 else ''} {' and '.join(together)}"
    figure = f"window share {'+'.join(together)}"
    if not seen:
        return Deviation(session, figure, None, None, None, SHARE_TOLERANCE, f"share of {which}: nothing in both")
    at_s, a, b = max(seen, key=lambda at: abs(at[1] - at[2]))
    text = f"share of {which}: {a:.3f} and {b:.3f} at {at_s} s, where they differ most"
    return Deviation(session, figure, a, b, abs(a - b), SHARE_TOLERANCE, text)


def _goodput(session: Session, first: Evidence, second: Evidence) -> Deviation:
    name = session["name"]
    ends = [run.end_s(name) for run in (first, second)]
    if None in ends:
        raise CannotJudge("session.not-finished-on-both", f"session {name} did not finish on both engines")
    a, b = (session["transfer_bytes"] / end / 2**20 for end in ends if end)
    text = f"goodput: {a:.3f} and {b:.3f} MiB/s"
    return Deviation(name, "goodput", a, b, abs(b / a - 1), GOODPUT_TOLERANCE, text)


def _convergence(session: Session, first: Evidence, second: Evidence) -> Deviation:
    a, b = (_converged_s(session, run) for run in (first, second))
    off: float | None = 0.0 if a is b else None
    if a is not None and b is not None:  # a difference of one sample does not count
        off = max(0.0, abs(b - a) - first.interval_s) / max(a, first.interval_s)
    said = ["never" if t is None else f"{t:.1f} s" for t in (a, b)]
    text = f"converged within ±{TOLERANCE:.0%} for good: {said[0]} and {said[1]}"
    return Deviation(session["name"], "convergence", a, b, off, CONVERGENCE_TOLERANCE, text)


def _converged_s(session: Session, run: Evidence) -> float | None:
    """Time at which the last connection's window reached its ratio to the first's."""
    windows, end_s = run.samples("window_packets", session["name"]), run.end_s(session["name"]) or 0.0
    rates = planned.rates_pps(run.plan, session, end_s)
    first, *others = windows
    times = []
    for other in others:
        ratios = quotients(windows[first], windows[other], within_s=run.interval_s / 2)
        times.append(settled_s(ratios, rates[first] / rates[other], TOLERANCE))
    return None if None in times else max(t for t in times if t is not None)


def _figure(place: str, name: str, first: Spread, second: Spread) -> Deviation:
    unit, a, b = unit_of(name), first.median, second.median
    off = None
    if a is not None and b is not None:
        scale = 100 if unit == "%" else abs(a)
        off = abs(b - a) / scale if scale else None if b else 0.0
    text = f"{place}: {title_of(name)} {_shown(first)} and {_shown(second)} {unit}".rstrip()
    allowed = GOODPUT_TOLERANCE if name == "goodput_mib_s" else FIGURE_TOLERANCE
    return Deviation(place, name, a, b, off, allowed, text)


def _shown(spread: Spread) -> str:
    """Formats a median, with the range if runs of the engine differ, as a scale for a difference of medians."""
    if spread.median is None or spread.low is None or spread.high is None:
        return "nothing"
    low, high = words.figure(spread.low), words.figure(spread.high)
    return words.figure(spread.median) + (f" ({low}–{high})" if low != high else "")
