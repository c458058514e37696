"""Differences between groups of runs, figure by figure, with confidence intervals and directions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from testbed.judge import power
from testbed.judge.checks.result import Verdict, rounded
from testbed.judge.figures import title_of, unit_of
from testbed.judge.intervals import LEAST_N, Interval
from testbed.judge.ncp_figures import FIGURES as OF_SWEEPS
from testbed.judge.status import Status, of_direction, verdict_of, worst

Direction = Literal["better", "worse", "differs", "no difference shown"]
"""Direction of a difference; ``differs`` for a figure without a better direction."""
Better = Literal["higher", "lower"] | None
Scale = Literal["linear", "log"]
NOT_SHOWN: Direction = "no difference shown"
CHANGED: tuple[Direction, ...] = ("better", "worse")
SAME = 1e-12
"""Largest relative difference of equal values."""
LARGEST = math.log(1e6)
"""End of intervals on a log scale: a factor of a million, beyond which numbers say nothing."""
SCHEMA: Literal[2] = 2


@dataclass(frozen=True)
class Figure:
    """A figure and its least difference that matters: the larger of ``least_relative``, in parts of the first group's
    mean, and ``least_absolute``. With ``better`` None a difference is only shown."""

    title: str
    unit: str
    better: Better
    least_relative: float
    least_absolute: float = 0.0


FIGURES: Mapping[str, Figure] = {
    "goodput_mib_s": Figure("Goodput", "MiB/s", "higher", 0.005),
    "settled_s": Figure(OF_SWEEPS["settled_s"][0], "s", "lower", 0.02, 0.2),
    "law_error": Figure("Largest error against the law", "share", "lower", 0.0, 0.002),
    "rtt_ms": Figure("Median RTT, largest of the connections", "ms", "lower", 0.02, 0.2),
    "resent_share": Figure("Resent", "share of what was sent", "lower", 0.05, 0.001),
    "completion_ms": Figure("Completion", "ms", "lower", 0.005),
    "throughput_mbps": Figure("Throughput", "Mbit/s", "higher", 0.005),
    "goodput_mbps": Figure("Goodput", "Mbit/s", "higher", 0.005),
    "retransmissions": Figure("Retransmissions", "", "lower", 0.05, 1.0),
    "utilization": Figure("Use of the bottleneck", "share", "higher", 0.005),
    "queue_ms": Figure("Queueing delay", "ms", "lower", 0.02, 1.0),
    "jain": Figure("Jain's index", "", "higher", 0.005),
    "rival_share": Figure(title_of("rival_share"), "", None, 0.02),
    "converged_s": Figure("A late comer converged after", "s", "lower", 0.02, 0.2),
    "checks_held": Figure("Checks that hold", "share", "higher", 0.0, 0.001),
    "completed": Figure("Came to its end, payload intact", "share of runs", "higher", 0.0, 0.001),
}
"""Figures in the order of display; further figures of a verdict follow, without a direction."""
MAIN = ("goodput_mib_s", "completion_ms", "throughput_mbps", "goodput_mbps")
"""The first of these that both groups have is the one that is compared, if none is requested."""
_OF_TABLES = {"of_optimum": "higher", "reused_s": "lower", "reorder_bytes": "lower", "rtt_of_base": "lower"}
BETTER = {name: figure.better for name, figure in FIGURES.items()} | _OF_TABLES
"""The better direction of a run's figure, where one is known, also of those that only tables have; None: neither."""

MEASURED_BY: Mapping[str, Figure] = {
    "follows_law": Figure("largest error", "share", "lower", 0.0, 0.002),
    "settles": Figure("settled after", "s", "lower", 0.02, 0.2),
    "goodput": Figure("part of what the links carry", "share", "higher", 0.005),
    "fair_share": Figure("Jain's index", "", "higher", 0.005),
    "round_trip": Figure("mean RTT over that without a queue", "", "lower", 0.02, 0.01),
    "mptcp_carried": Figure("links in use", "", "higher", 0.0, 1.0),
    "ratio": Figure("ratio", "", None, 0.01),
    "level": Figure("farthest sample", "", None, 0.01),
    "link_filled": Figure("part of the link's rate", "share", None, 0.005),
    "window_edges": Figure("edges met", "", None, 0.0, 1.0),
}
"""Figures of checks about a number, by their judge. A figure is named after its check: ``settles: final window ratio``.
It has no direction where a check has a lower and an upper limit."""

SHOWN = ("scenario", "commit", "policy", "changed", "engine", "middle", "runtime", "quick", "kernel", "host")
"""Facts of a group, in the order of display."""


class Run(BaseModel, frozen=True):
    """A run of a group. ``case`` is its setting: the scenario, or a table's row and column. ``never`` has the figures
    that it did not reach; their value becomes the end of the search, a lower bound."""

    folder: str
    """Relative to the comparison's folder where it is inside, so that the result can be moved."""
    case: str
    seed: int
    trusted: bool
    standing: Status
    figures: dict[str, float]
    never: list[str]
    without_figures: str
    chance: Literal["none", "seed", "real", ""] = ""
    """``none`` where all seeds give the same; in virtual time by the ``seed``; else on a ``real`` machine. "" in
    earlier documents, which compare on a linear scale."""
    checks: SkipJsonSchema[dict[str, Status]] = Field({}, exclude=True)
    facts: SkipJsonSchema[dict[str, str] | None] = Field(None, exclude=True)
    """Facts by :data:`SHOWN`; None for a folder elsewhere, which is not read."""


class Group(BaseModel):
    """Runs of one version, as in ``compare.json``."""

    name: str
    facts: dict[str, str] = {}
    missing: int = 0
    """Number of requested runs of a table that do not exist."""
    runs: Sequence[Run]

    @classmethod
    def of(cls, name: str, runs: Sequence[Run], missing: int = 0) -> Group:
        """The group with the facts of its runs; several values of one are joined. With many settings, policy and
        changes are left out."""
        left_out = ("policy", "changed") if len({run.case for run in runs if run.trusted}) > 1 else ()
        values = {fact: dict.fromkeys((run.facts or {}).get(fact, "") for run in runs) for fact in SHOWN}
        facts = {fact: "" if fact in left_out else ", ".join(filter(None, values[fact])) for fact in SHOWN}
        return cls(name=name, facts=facts, missing=missing, runs=runs)

    @property
    def standing(self) -> Status:
        """The worst status of the requested runs."""
        return worst([*(run.standing for run in self.runs), *([Status.MISSING] if self.missing else [])])

    @property
    def trusted(self) -> list[Run]:
        """The trusted runs."""
        return [run for run in self.runs if run.trusted]

    @property
    def cases(self) -> list[str]:
        """The settings of the trusted runs, in order."""
        return list(dict.fromkeys(run.case for run in self.trusted))

    def cases_of_one(self, base: Group) -> list[str]:
        """Settings that only one of the two groups has; one of each are compared whatever they are."""
        are_compared = len(base.cases) == len(self.cases) == 1
        return [] if are_compared else sorted({*base.cases} ^ {*self.cases})

    def changed_checks(self, base: Group) -> list[str]:
        """Describes checks that hold more or less often than in the first group."""
        lines = []
        for name in dict.fromkeys(name for run in base.trusted for name in run.checks):
            statuses = [[run.checks.get(name, Status.SKIPPED) for run in group.trusted] for group in (base, self)]
            held, held_now = (found.count(Status.PASS) for found in statuses)
            of, of_now = (len(found) - found.count(Status.SKIPPED) for found in statuses)
            if of and of_now and held / of != held_now / of_now:
                lines.append(f"“{name}” holds in {held_now} of {of_now} runs, in {held} of {of} of {base.name}")
        return lines


@dataclass(frozen=True)
class Sample:
    """Summary of a group's values of a figure; ``never`` counts runs that did not reach it. The mean is the geometric
    one on a log scale."""

    n: int
    mean: float
    low: float
    high: float
    never: int


@dataclass(frozen=True)
class Difference:
    """Difference of a figure of a case from the first group. ``difference`` is of the means; its interval ``low`` to
    ``high`` is None with too few runs. ``paired``: run by run, by setting and seed. ``relative`` is the difference in
    parts of the first group's mean, and None where that is 0. ``sees`` is in these parts on a log scale, else in the
    figure's unit."""

    case: str
    group: str
    figure: str
    base: Sample
    new: Sample
    difference: float
    low: float | None
    high: float | None
    paired: bool
    direction: Direction
    why: str
    relative: float | None
    status: Status
    scale: Scale = "linear"
    """``log`` where all values are above 0, and factors matter: the difference is one of logarithms, and its interval
    ends above −100%."""
    sees: float | Literal["exact", "unknown"] = "unknown"
    """Smallest difference that this many runs would have shown with 80% power; ``exact`` without chance, ``unknown``
    with too few runs, or where all are alike by chance."""
    requested: bool = True
    """Whether it is of the requested figures, or of the main one where none is; else it is measured as well."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of groups with the first one, as in ``compare.json``. By the names of the others, ``directions`` of
    the requested figures, or of the main one, are ``better``, ``worse``, ``mixed``, ``differs`` or ``no difference
    shown``, and empty where runs failed or can't be trusted, as ``statuses`` says. A status is ``fail`` as well where
    these figures are worse or mixed."""

    schema: Literal[2]
    """2 has direction and status in place of one word for both."""
    name: str
    command: str
    confidence: float
    statuses: dict[str, Status]
    directions: dict[str, str]
    groups: list[Group]
    differences: list[Difference]
    figures: list[str] = field(default_factory=list)
    """The requested ones."""
    also_worse: dict[str, list[str]] = field(default_factory=dict)
    """Other figures that got worse, by group; they do not decide."""

    def of_group(self, name: str) -> list[Difference]:
        """Differences of a group from the first."""
        return [difference for difference in self.differences if difference.group == name]

    @property
    def differing_facts(self) -> list[tuple[str, list[str]]]:
        """Facts that differ between groups, with each group's value."""
        return [(name, of) for name in SHOWN if len(set(of := [group.facts[name] or "–" for group in self.groups])) > 1]


def judge(
    groups: Sequence[Group], confidence: float, only: Sequence[str] = (), *, name: str = "", command: str = ""
) -> Comparison:
    """Compare the other groups with the first, in ``only`` some figures, else in the main one, with all others beside.
    The status of a group is no better than that of the worst run in it and in the first: a run that broke down, is
    missing or failed a fact makes it fail."""
    base, *others = groups
    found = differences(base, others, confidence, only) if all(group.trusted for group in groups) else []
    statuses, directions, also_worse = {}, {}, {}
    for group in others:
        standing = verdict_of([base.standing, group.standing])
        mine = [d for d in found if d.group == group.name]
        word = conclusion([d for d in mine if d.requested]) if standing == Status.PASS else ""
        directions[group.name] = word
        statuses[group.name] = Status.FAIL if word in ("worse", "mixed") else standing
        also_worse[group.name] = [*{d.figure: d for d in mine if d.direction == "worse" and not d.requested}]
    return Comparison(SCHEMA, name, command, confidence, statuses, directions, [*groups], found, [*only], also_worse)


def differences(base: Group, others: Sequence[Group], confidence: float, only: Sequence[str] = ()) -> list[Difference]:
    """Compare all figures of all cases that both groups have. The intervals of the requested figures (``only`` some, or
    the main one of each case) together hold with ``confidence``, and so do those of the others: the (nominal) level of
    each rises with their number (Bonferroni)."""
    found = []
    for other in others:
        for case, runs in by_case(base, other).items():
            names = _figures_of_both(*runs)
            main = next((name for name in (*MAIN, *names) if name in names), "")
            found += [(other.name, case, name, runs, name in (only or [main])) for name in names]
    number = Counter(requested for *_, requested in found)
    return [
        _difference(group, case, name, *runs, 1 - (1 - confidence) / number[requested], requested=requested)
        for group, case, name, runs, requested in found
    ]


def by_case(base: Group, other: Group) -> dict[str, tuple[list[Run], list[Run]]]:
    """Returns the trusted runs of both groups by common settings. Two groups of one setting each are compared whatever
    it is, under an empty name."""
    if len(base.cases) == len(other.cases) == 1:
        return {"": (base.trusted, other.trusted)}
    one, two = ({case: [run for run in of.trusted if run.case == case] for case in of.cases} for of in (base, other))
    return {case: (runs, two[case]) for case, runs in one.items() if case in two}


def figure_of(name: str) -> Figure:
    """Describes a figure; one that is not listed has the title and unit of its name, and no direction."""
    judge, _, check = name.partition(": ")
    if is_of_check(name):
        return replace(MEASURED_BY[judge], title=f"“{check}”: {MEASURED_BY[judge].title}")
    return FIGURES.get(name) or Figure(title_of(name), unit_of(name), None, 0.01)


def least_of(name: str, base: float) -> float:
    """The least difference from a mean that matters, in the figure's unit."""
    return max(figure_of(name).least_absolute, figure_of(name).least_relative * abs(base))


def is_of_check(name: str) -> bool:
    """Whether a figure is measured by a check."""
    return ": " in name and name.partition(": ")[0] in MEASURED_BY


def of_checks(verdict: Verdict) -> tuple[dict[str, float], list[str]]:
    """Returns figures of a verdict's checks (the share that holds, and the measured value of each that was decided),
    and the names of figures that were never reached. A run's only check against the law is ``law_error``."""
    counted = [check for check in verdict.checks if check.status != Status.SKIPPED]
    holding = sum(check.status == Status.PASS for check in counted)
    found = {"checks_held": holding / len(counted)} if counted else {}
    laws = [check for check in counted if check.judge == "follows_law"]
    if errors := [float(check.measured) for check in laws if isinstance(check.measured, (int, float))]:
        found["law_error"] = max(errors)
    only_law = sum(check.judge == "follows_law" for check in verdict.checks) == 1
    never = []
    for check in counted:
        name, decided = f"{check.judge}: {check.name}", check.status in (Status.PASS, Status.FAIL)
        if not is_of_check(name) or not decided or (only_law and check in laws):
            continue
        if isinstance(check.measured, (int, float)):
            found[name] = float(check.measured)
        elif check.measured == "never":
            found[name] = float(check.figures["judged_to_s"]) - float(check.figures["judged_from_s"])
            never.append(name)
    return found, never


def conclusion(found: Sequence[Difference]) -> str:
    """Sums up a group's figures: ``better``, ``worse``, ``mixed``, ``differs`` or ``no difference shown``."""
    words = {difference.direction for difference in found}
    if words.issuperset(CHANGED):
        return "mixed"
    return next((word for word in (*CHANGED, "differs") if word in words), NOT_SHOWN)


def _figures_of_both(a: Sequence[Run], b: Sequence[Run]) -> list[str]:
    """Common figures, without those that no run reached."""
    both = {name for run in a for name in run.figures} & {name for run in b for name in run.figures}
    reached = {name for run in (*a, *b) for name in run.figures if name not in run.never}
    ordered = [name for name in FIGURES if name in both] + sorted(both - set(FIGURES))
    return [name for name in ordered if name in reached]


def _difference(
    group: str, case: str, name: str, a: Sequence[Run], b: Sequence[Run], level: float, *, requested: bool
) -> Difference:
    first, second = ([run for run in runs if name in run.figures] for runs in (a, b))
    seeds = [run.seed for run in first]
    # Each run has exactly one partner with its seed.
    if paired := len(set(seeds)) == len(seeds) and sorted(seeds) == sorted(run.seed for run in second):
        second.sort(key=lambda run: seeds.index(run.seed))
    base, new = (np.array([run.figures[name] for run in runs], dtype=np.float64) for runs in (first, second))
    # On a log scale a distance is a factor: in parts of the first group's mean it is that, less 1. Where only so much
    # matters, as of an error, it tells less: small ones scatter by large factors.
    chance = {run.chance for run in (*a, *b)}
    is_log = bool(min(base.min(), new.min()) > 0) and figure_of(name).least_relative > 0 and "" not in chance
    scaled = (np.log(base), np.log(new)) if is_log else (base, new)
    mean, mean_new = (float(np.exp(of.mean()) if is_log else of.mean()) for of in scaled)
    one, other = (
        Sample(x.size, rounded(mean), rounded(x.min()), rounded(x.max()), sum(name in run.never for run in runs))
        for x, mean, runs in ((base, mean, first), (new, mean_new, second))
    )
    unit = mean if is_log else 1.0
    in_parts = (lambda by: math.expm1(min(by, LARGEST))) if is_log else float
    bounds, least = interval(*scaled, paired=paired, level=level, certain=chance == {"none"}) or (None, 0.0)
    if bounds is not None:
        bounds = Interval(unit * in_parts(bounds.low), unit * in_parts(bounds.high), level)
    low, high = (rounded(bounds.low), rounded(bounds.high)) if bounds else (None, None)
    sees: float | Literal["exact", "unknown"] = "exact" if bounds and chance <= {"none", "seed"} else "unknown"
    if least:
        sees = rounded(max(in_parts(least), least_of(name, mean) / unit))
    relative = rounded((mean_new - mean) / abs(mean)) if one.mean else None
    direction, why = _direction(name, mean, mean_new, bounds, min(base.size, new.size))
    scale: Scale = "log" if is_log else "linear"
    judged = (paired, direction, why, relative, of_direction(direction), scale, sees, requested)
    return Difference(case, group, name, one, other, rounded(mean_new - mean), low, high, *judged)


def interval(
    a: NDArray[np.float64], b: NDArray[np.float64], *, paired: bool, level: float, certain: bool = False
) -> tuple[Interval, float] | None:
    """Confidence interval of mean(b) − mean(a), and the least difference that it shows; None for fewer than
    :data:`LEAST_N` values of either, unless they are ``certain``.

    It is Student's interval (Welch's for runs that are not paired), which has the ``level`` for normally distributed
    values; docs/verdicts.md has its coverage of others. It is a point where all values are alike."""
    samples = [b - a] if paired else [b, a]
    point = float(b.mean() - a.mean())
    alike = all(np.ptp(sample) <= SAME * max(1.0, float(np.abs(sample).max())) for sample in samples)
    if min(a.size, b.size) < LEAST_N and not (certain and alike):
        return None
    spreads = [(float(sample.var(ddof=1)), sample.size) for sample in samples if not alike]
    half, least = power.reach(spreads, level) if spreads else (0.0, 0.0)
    return Interval(point - half, point + half, level), least


def _direction(name: str, base: float, new: float, bounds: Interval | None, runs: int) -> tuple[Direction, str]:
    if bounds is None:
        return NOT_SHOWN, f"{runs} run{'s' * (runs != 1)}: at least {LEAST_N} of each are needed"
    if bounds.low <= 0 <= bounds.high:
        return NOT_SHOWN, "the interval has 0 in it" if bounds.low != bounds.high else "the same in all runs"
    figure, difference, least = figure_of(name), new - base, least_of(name, base)
    if abs(difference) < least and not math.isclose(abs(difference), least):
        return NOT_SHOWN, f"less than {least:.3g} {figure.unit}".strip() + ", which does not matter"
    if figure.better is None:
        return "differs", "no direction is known for it"
    why = "the same difference in every run: one observation" if bounds.low == bounds.high else ""
    return ("better" if (difference > 0) == (figure.better == "higher") else "worse"), why
