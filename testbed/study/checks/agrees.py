"""Do engines agree? Two runs of one scenario, or two tables of runs, figure by figure, against what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from typing_extensions import TypedDict

from testbed.documents import entry_of
from testbed.judge.checks import planned
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.ratio import quotients
from testbed.judge.checks.settles import TOLERANCE, settled_s
from testbed.judge.figures import title_of, unit_of
from testbed.judge.status import Status, verdict_of
from testbed.plan.model import Session
from testbed.results.report import words
from testbed.results.report.plot import Plot
from testbed.study.checks.table import judge_one
from testbed.study.kinds.table_file import Table
from testbed.study.kinds.table_result import Spread, results_of, summaries_of

SHARE_TOLERANCE = 0.03
GOODPUT_TOLERANCE = 0.03
CONVERGENCE_TOLERANCE = 0.10
FIGURE_TOLERANCE = 0.05
"""Of a figure, as a part of the first engine's; of one in percent, as a part of a hundred."""
SAMPLED_WITHIN_S = 0.06
DECIDED: tuple[Status, ...] = (Status.PASS, Status.FAIL, Status.ERROR, Status.MISSING, Status.UNTRUSTED)

Compared = TypeVar("Compared")


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


class AgreementEntry(TypedDict):
    """A scenario or table in ``cross-check.json``."""

    scenario: str
    verdict: Status
    untrusted: list[str]
    broken: str
    runs: dict[str, str]
    runs_own: dict[str, Status]
    differences: list[Annotated[dict[str, Any], entry_of(Deviation, same=bool, off=float | None)]]


@dataclass(frozen=True)
class Agreement:
    """One scenario or table on several engines. ``runs`` are the result folders by engine, ``untrusted`` the reasons
    why one can't be trusted, ``broken`` why there is nothing to compare."""

    scenario: str
    title: str
    runs: Mapping[str, Path]
    differences: Sequence[Deviation] = ()
    plots: Sequence[Plot] = ()
    untrusted: Sequence[str] = ()
    broken: str = ""
    runs_own: Mapping[str, Status] = field(default_factory=dict)
    """By engine what its runs are worth: two that fail in the same fact are alike, and prove nothing."""

    @property
    def verdict(self) -> Status:
        """``pass``, ``fail`` or ``untrusted``; never ``pass`` where nothing was compared."""
        parts = [Status.PASS if d.same else Status.FAIL for d in self.differences] or [Status.MISSING]
        parts += [*self.runs_own.values(), *([Status.ERROR] if self.broken else [])]
        return verdict_of([*parts, *([Status.UNTRUSTED] if self.untrusted else [])])

    def lines(self) -> list[str]:
        """What came out, for the terminal."""
        told = [("same" if difference.same else "differs", difference.text) for difference in self.differences]
        told += [(word, f"{engine}: its own runs") for engine, word in self.runs_own.items() if word != Status.PASS]
        told += [(Status.UNTRUSTED, reason) for reason in self.untrusted]
        told += [("broken", self.broken)] if self.broken else []
        return [f"{self.scenario}: {self.verdict}", *(f"  {word:<11} {text}" for word, text in told)]

    def as_json(self) -> AgreementEntry:
        """For ``cross-check.json``."""
        return {
            "scenario": self.scenario,
            "verdict": self.verdict,
            "untrusted": list(self.untrusted),
            "broken": self.broken,
            "runs": {engine: folder.name for engine, folder in self.runs.items()},
            "runs_own": dict(self.runs_own),
            "differences": [difference.as_json() for difference in self.differences],
        }


class Document(TypedDict):
    """``cross-check.json``."""

    schema: Literal[1]
    scenarios: list[AgreementEntry]
    refused: dict[str, str]
    """Why an engine can't carry a scenario."""


def with_first(
    found: Mapping[str, Compared], compare: Callable[[Compared, Compared], Sequence[Deviation]]
) -> list[Deviation]:
    """Each of the others beside the first; of more than two, each deviation says which ones it is of."""
    (first, baseline), *others = found.items()
    deviations = [(word, d) for word, other in others for d in compare(baseline, other)]
    if len(others) == 1:
        return [d for _, d in deviations]
    return [replace(d, text=f"{d.text} ({first} and {word})") for word, d in deviations]


def compare_runs(first: Evidence, second: Evidence) -> list[Deviation]:
    """Two runs of one plan with windows, session by session; raises CannotJudge where a run has no data."""
    found = []
    for session in first.plan["sessions"]:
        name = session["name"]
        shares = [run.samples("window_share", name) for run in (first, second)]
        for together in _sharing_links(session):
            sums = [_sum([of_run[c] for c in together if c in of_run]) for of_run in shares]
            found.append(_shares(name, together, _seconds(first), *sums))
        found.append(_goodput(session, first, second))
        if len(session["connections"]) > 1:
            found.append(_convergence(session, first, second))
    return found


def compare_figures(scenario: str, first: Mapping[str, float], second: Mapping[str, float]) -> list[Deviation]:
    """Two runs by the figures of their verdicts; one that a run has not is as far off as can be."""
    return [
        _figure(scenario, name, *(Spread.of([run[name]] if name in run else []) for run in (first, second)))
        for name in dict.fromkeys([*first, *second])
    ]


def compare_tables(table: Table, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Deviation]:
    """Two ``table.json``: the medians of the cells that both have, and what the table's checks say of them."""
    ours, theirs = ({row.name: row for row in summaries_of(document)} for document in (first, second))
    rows = [name for name in ours if name in theirs]
    columns = [name for name in first["columns"] if name in second["columns"]]
    found = []
    for row, column, figure in ((r, c, f) for r in rows for c in columns for f in table.figures):
        both = ours[row].spread(column, figure), theirs[row].spread(column, figure)
        if any(spread.n for spread in both):
            found.append(_figure(f"{row} {column}", figure, *both))
    return [*found, *_checks(table, (first, second), rows, columns)]


def _sharing_links(session: Session) -> list[list[str]]:
    """Connections, those together that share a link. What such a link carries is divided by the order in which their
    packets come to it, and a microsecond of delay changes that: only what they have together is the same."""
    groups: list[tuple[set[str], list[str]]] = []
    for connection in session["connections"]:
        links, names = set(planned.path_of(connection)), [str(connection["index"])]
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
    seen = [
        (t_s, *(float(np.interp(look_s, run.t_s, run.values)) for run in (first, second)))
        for t_s, look_s in seconds.items()
        if all(run.nearest(look_s, SAMPLED_WITHIN_S) is not None for run in (first, second))
    ]
    at_s, a, b = max(seen, key=lambda at: abs(at[1] - at[2]), default=(0, math.nan, math.nan))
    which = f"connection{'s' if len(connections) > 1 else ''} {' and '.join(connections)}"
    text = f"share of {which}: {a:.3f} and {b:.3f} at {at_s} s, where they differ most"
    off = abs(a - b) if seen else math.inf
    return Deviation(session, f"window share {'+'.join(connections)}", a, b, off, SHARE_TOLERANCE, text)


def _goodput(session: Session, first: Evidence, second: Evidence) -> Deviation:
    name = session["name"]
    ends = [run.end_s(name) for run in (first, second)]
    if None in ends:
        raise CannotJudge(
            "session.not-finished-on-both", "session {session} did not finish on both engines", session=name
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
    windows, rates = run.samples("window_packets", session["name"]), planned.rates_pps(run.plan, session)
    first, *others = windows
    times = []
    for other in others:
        t_s, ratio = quotients(windows[first], windows[other], within_s=run.interval_s / 2)
        times.append(settled_s(t_s, ratio, rates[first] / rates[other], TOLERANCE))
    return None if None in times else max(t for t in times if t is not None)


def _figure(place: str, name: str, first: Spread, second: Spread) -> Deviation:
    unit, a, b = unit_of(name), first.median, second.median
    if a is None or b is None:
        off = math.inf
    elif unit == "%":
        off = abs(b - a) / 100
    else:
        off = 0.0 if a == b else abs(b - a) / abs(a) if a else math.inf
    text = f"{place}: {title_of(name)} {_shown(first)} and {_shown(second)} {unit}".rstrip()
    return Deviation(place, name, a, b, off, FIGURE_TOLERANCE, text)


def _shown(spread: Spread) -> str:
    """With the range, where runs of one engine differ: it says how much a difference of medians does."""
    if spread.median is None or spread.low is None or spread.high is None:
        return "nothing"
    low, high = words.figure(spread.low), words.figure(spread.high)
    return words.figure(spread.median) + (f" ({low}–{high})" if low != high else "")


def _checks(
    table: Table, documents: Sequence[Mapping[str, Any]], rows: Sequence[str], columns: Sequence[str]
) -> Iterator[Deviation]:
    """What both decide, they must decide alike; few runs leave open what more decide."""
    said: list[list[Status]] = []
    for document in documents:
        summaries = [summary for summary in summaries_of(document) if summary.name in rows]
        cells = [cell for cell in results_of(document) if cell.at["row"] in rows]
        engine = document["engine"]
        said.append([judge_one(c, summaries, list(columns), cells, engine=engine).status for c in table.checks])
    for check, first, second in zip(table.checks, *said, strict=True):
        differ = first in DECIDED and second in DECIDED and first != second
        text = f"“{check.name}” {words.STATUS[first]} and {words.STATUS[second]}"
        yield Deviation(check.name, "check", None, None, float(differ), 0.0, text)
