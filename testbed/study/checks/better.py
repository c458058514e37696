"""Did a change help? Groups of runs figure by figure: how large differences are, how sure, and whether for better."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from scipy import stats
from typing_extensions import TypedDict

from testbed.documents import entry_of
from testbed.judge.checks.result import Verdict, rounded
from testbed.judge.figures import BETTER, Better, title_of, unit_of
from testbed.judge.intervals import LEAST_N, Interval
from testbed.judge.ncp_figures import FIGURES as OF_SWEEPS
from testbed.judge.status import Status, of_direction, verdict_of, worst

Direction = Literal["better", "worse", "differs", "no difference shown"]
"""Which way a figure went; ``differs`` where neither way is better."""
NOT_SHOWN: Direction = "no difference shown"
RESAMPLES = 9999
SEED = 20240
"""The resampling is seeded, so that the same values always have the same interval."""
SAME = 1e-12
"""Values that differ by no more, in parts of the largest, are the same number."""


@dataclass(frozen=True)
class Figure:
    """``better`` None: no direction is known, so a difference is only shown. A difference of less than
    ``least_relative`` of the first group's mean and less than ``least_absolute`` does not matter."""

    title: str
    unit: str
    better: Better
    least_relative: float
    least_absolute: float = 0.0


FIGURES: Mapping[str, Figure] = {
    "goodput_mib_s": Figure("Goodput", "MiB/s", BETTER["goodput_mib_s"], 0.005),
    "settled_s": Figure(OF_SWEEPS["settled_s"].title, "s", BETTER["settled_s"], 0.02, 0.2),
    "law_error": Figure("Largest error against the law", "share", BETTER["law_error"], 0.0, 0.002),
    "rtt_ms": Figure("Median RTT, largest of the connections", "ms", BETTER["rtt_ms"], 0.02, 0.2),
    "resent_share": Figure("Resent", "share of what was sent", BETTER["resent_share"], 0.05, 0.001),
    "completion_ms": Figure("Completion", "ms", BETTER["completion_ms"], 0.005),
    "throughput_mbps": Figure("Throughput", "Mbit/s", BETTER["throughput_mbps"], 0.005),
    "goodput_mbps": Figure("Goodput", "Mbit/s", BETTER["goodput_mbps"], 0.005),
    "retransmissions": Figure("Retransmissions", "", BETTER["retransmissions"], 0.05, 1.0),
    "utilization": Figure("Use of the bottleneck", "share", BETTER["utilization"], 0.005),
    "queue_ms": Figure("Queueing delay", "ms", BETTER["queue_ms"], 0.02, 1.0),
    "jain": Figure("Jain's index", "", BETTER["jain"], 0.005),
    "rival_share": Figure(title_of("rival_share"), "", BETTER["rival_share"], 0.02),
    "converged_s": Figure("A late comer converged after", "s", BETTER["converged_s"], 0.02, 0.2),
    "checks_held": Figure("Checks that hold", "share", BETTER["checks_held"], 0.0, 0.001),
    "completed": Figure("Came to its end, payload intact", "share of runs", BETTER["completed"], 0.0, 0.001),
}
"""In the order that they are shown in; what a verdict brings beyond these follows, without a direction."""

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
"""What checks about a number measure, by their judge: the figure's name is ``settles: final window ratio``. Where a
check has a lower and an upper limit, neither way is better."""

SHOWN = ("scenario", "commit", "policy", "changed", "engine", "middle", "runtime", "quick", "kernel", "host")
"""Facts of a group, in the order that they are shown in."""


class Run(BaseModel):
    """A run of a group. ``case`` is its setting (the scenario, or a table's row and column), ``never`` the figures that
    it did not reach: their value is then when the look for it ended, the least that it can be. In ``compare.json``
    ``folder`` is relative where it is inside the comparison's, and neither checks nor facts are there."""

    model_config = ConfigDict(frozen=True)

    folder: str
    case: str
    seed: int
    trusted: bool
    standing: Status
    figures: dict[str, float]
    never: list[str]
    without_figures: str
    checks: SkipJsonSchema[dict[str, Status]] = Field({}, exclude=True)
    facts: SkipJsonSchema[dict[str, str] | None] = Field(None, exclude=True)
    """By :data:`SHOWN`; None where its folder is elsewhere, and is not read."""


class Group(BaseModel):
    """Runs of one version of what is compared, as in ``compare.json``."""

    name: str
    facts: dict[str, str] = {}
    missing: int = 0
    """How many runs were requested of a table and are not there."""
    runs: Sequence[Run]

    @property
    def standing(self) -> Status:
        """The worst of its runs' that were requested."""
        return worst([*(run.standing for run in self.runs), *([Status.MISSING] if self.missing else [])])

    @property
    def trusted(self) -> list[Run]:
        """The runs whose links and machine were good enough."""
        return [run for run in self.runs if run.trusted]

    @property
    def cases(self) -> list[str]:
        """The settings of the trusted runs, in their order."""
        return list(dict.fromkeys(run.case for run in self.trusted))

    def relative_to(self, home: Path) -> Group:
        """With the folders of its runs relative where they are inside, so that the whole may be moved."""
        paths = [Path(run.folder).resolve() for run in self.runs]
        folders = [str(path.relative_to(home) if path.is_relative_to(home) else path) for path in paths]
        runs = [run.model_copy(update={"folder": f}) for run, f in zip(self.runs, folders, strict=True)]
        return self.model_copy(update={"runs": runs})


@dataclass(frozen=True)
class Sample:
    """One group's values of a figure: how many, mean, smallest, largest; ``never``: in how many it was not reached."""

    n: int
    mean: float
    low: float
    high: float
    never: int

    @classmethod
    def of(cls, values: NDArray[np.float64], never: int) -> Sample:
        """Of at least one value."""
        return cls(values.size, rounded(values.mean()), rounded(values.min()), rounded(values.max()), never)


@dataclass(frozen=True)
class Difference:
    """A figure of a case in a group against the first group. ``difference`` is of the means; its interval ``low`` to
    ``high`` is None where there are too few runs. ``paired``: run by run, by setting and seed."""

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

    @property
    def relative(self) -> float | None:
        """In parts of the first group's mean."""
        return self.difference / abs(self.base.mean) if self.base.mean else None

    def as_json(self) -> dict[str, Any]:
        """For ``compare.json``."""
        relative = None if self.relative is None else rounded(self.relative)
        return asdict(self) | {"relative": relative, "status": of_direction(self.direction)}


@dataclass(frozen=True)
class Comparison:
    """Groups that were compared with the first one. By the others' names, ``directions`` are ``better``, ``worse``,
    ``mixed`` or ``no difference shown``, and empty where ``statuses`` says that runs failed or can't be trusted."""

    groups: Sequence[Group]
    differences: Sequence[Difference]
    statuses: Mapping[str, Status]
    directions: Mapping[str, str]

    def of_group(self, name: str) -> list[Difference]:
        """A group's differences from the first."""
        return [difference for difference in self.differences if difference.group == name]

    def document(self, name: str, confidence: float, command: str, home: Path) -> Document:
        """``compare.json``, in which the folders of runs are relative to ``home``."""
        return {
            "schema": SCHEMA,
            "name": name,
            "command": command,
            "confidence": confidence,
            "statuses": dict(self.statuses),
            "directions": dict(self.directions),
            "groups": [group.relative_to(home).model_dump(mode="json") for group in self.groups],
            "differences": [difference.as_json() for difference in self.differences],
        }


SCHEMA: Literal[2] = 2
"""Of ``compare.json``: since 2 a direction and a status stand where one word stood for both."""


class Document(TypedDict):
    """``compare.json``."""

    schema: Literal[2]
    name: str
    command: str
    confidence: float
    statuses: dict[str, Status]
    directions: dict[str, str]
    """By group; empty where the runs of one prove nothing, or failed."""
    groups: list[Annotated[dict[str, Any], entry_of(Group)]]
    differences: list[Annotated[dict[str, Any], entry_of(Difference, relative=float | None, status=Status)]]


def judge(groups: Sequence[Group], confidence: float, only: Sequence[str] = ()) -> Comparison:
    """Compare the others with the first; ``only`` these figures, if any are given. A group is worth no more than the
    worst run of it and of the first: one that broke down, is missing or failed a fact makes it fail."""
    base, *others = groups
    found = differences(base, others, confidence, only) if all(group.trusted for group in groups) else []
    statuses, directions = {}, {}
    for group in others:
        name, standing = group.name, verdict_of([base.standing, group.standing])
        directions[name] = conclusion([d for d in found if d.group == name]) if standing == Status.PASS else ""
        statuses[name] = of_direction(directions[name]) if directions[name] else standing
    return Comparison(groups, found, statuses, directions)


def differences(base: Group, others: Sequence[Group], confidence: float, only: Sequence[str] = ()) -> list[Difference]:
    """All figures of all cases that both groups have. All intervals together are to hold with ``confidence``: each
    one's own (nominal) level is higher the more of them there are (Bonferroni)."""
    requested = [
        (other.name, case, name, runs)
        for other in others
        for case, runs in by_case(base, other).items()
        for name in _figures_of_both(*runs, only)
    ]
    level = 1 - (1 - confidence) / max(1, len(requested))
    return [_difference(group, case, name, *runs, level) for group, case, name, runs in requested]


def by_case(base: Group, other: Group) -> dict[str, tuple[list[Run], list[Run]]]:
    """The trusted runs of both groups by the settings that both have; two groups of one setting each are compared
    whatever it is, and its name is empty."""
    if len(base.cases) == len(other.cases) == 1:
        return {"": (base.trusted, other.trusted)}
    return {
        case: ([run for run in base.trusted if run.case == case], [run for run in other.trusted if run.case == case])
        for case in base.cases
        if case in other.cases
    }


def cases_of_one(base: Group, other: Group) -> list[str]:
    """The settings that only one of the two has, so that they are not compared."""
    both = by_case(base, other)
    return [] if "" in both else [case for group in (base, other) for case in group.cases if case not in both]


def figure_of(name: str) -> Figure:
    """The figure; one that is not listed has the title and unit of its name, and no direction."""
    judge, _, check = name.partition(": ")
    if is_of_check(name):
        return replace(MEASURED_BY[judge], title=f"“{check}”: {MEASURED_BY[judge].title}")
    return FIGURES.get(name) or Figure(title_of(name), unit_of(name), None, 0.01)


def is_of_check(name: str) -> bool:
    """Whether a figure is what one check measured."""
    return ": " in name and name.partition(": ")[0] in MEASURED_BY


def of_checks(verdict: Verdict) -> tuple[dict[str, float], list[str]]:
    """How many checks hold, what each that was decided has measured, whether it held or not, and which of these were
    never reached. A run's only check against the law is ``law_error``."""
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


def facts_of(runs: Sequence[Run]) -> dict[str, str]:
    """A group's facts; several values of one are joined. Of many settings each has its own policy and changes."""
    many = len({run.case for run in runs if run.trusted}) > 1
    values = {
        name: dict.fromkeys(value for run in runs if (value := (run.facts or {}).get(name)))
        for name in SHOWN
        if not (many and name in ("policy", "changed"))
    }
    return {name: ", ".join(values.get(name, ())) for name in SHOWN}


def differing_facts(groups: Sequence[Group]) -> list[tuple[str, list[str]]]:
    """The facts that are not the same in all groups, with each group's value."""
    rows = [(name, [group.facts[name] or "–" for group in groups]) for name in SHOWN]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def changed_checks(base: Group, other: Group) -> list[str]:
    """Sentences about checks that hold more or less often than in the first group."""
    told = []
    for name in dict.fromkeys(name for run in base.trusted for name in run.checks):
        found = [[run.checks.get(name, Status.SKIPPED) for run in group.trusted] for group in (base, other)]
        (held, of), (held_now, of_now) = (
            (statuses.count(Status.PASS), len(statuses) - statuses.count(Status.SKIPPED)) for statuses in found
        )
        if of and of_now and held / of != held_now / of_now:
            told.append(f"“{name}” holds in {held_now} of {of_now} runs, in {held} of {of} of {base.name}")
    return told


def conclusion(found: Sequence[Difference]) -> str:
    """``better``, ``worse``, ``mixed`` or ``no difference shown``, over a group's figures."""
    words = {difference.direction for difference in found}
    if {"better", "worse"} <= words:
        return "mixed"
    return next((word for word in ("worse", "better") if word in words), NOT_SHOWN)


def _figures_of_both(a: Sequence[Run], b: Sequence[Run], only: Sequence[str]) -> list[str]:
    """Without those that no run reached."""
    both = {name for run in a for name in run.figures} & {name for run in b for name in run.figures}
    reached = {name for run in (*a, *b) for name in run.figures if name not in run.never}
    ordered = [name for name in FIGURES if name in both] + sorted(both - set(FIGURES))
    return [name for name in ordered if name in reached and (not only or name in only)]


def _difference(group: str, case: str, name: str, a: Sequence[Run], b: Sequence[Run], level: float) -> Difference:
    first, second = ([run for run in runs if name in run.figures] for runs in (a, b))
    seeds = [run.seed for run in first]
    # Where each run has exactly one of the same seed beside it.
    if paired := len(set(seeds)) == len(seeds) and sorted(seeds) == sorted(run.seed for run in second):
        second.sort(key=lambda run: seeds.index(run.seed))
    base, new = (np.array([run.figures[name] for run in runs], dtype=np.float64) for runs in (first, second))
    difference = float(new.mean() - base.mean())
    bounds = interval(base, new, paired=paired, level=level)
    return Difference(
        case,
        group,
        name,
        Sample.of(base, sum(name in run.never for run in first)),
        Sample.of(new, sum(name in run.never for run in second)),
        rounded(difference),
        rounded(bounds.low) if bounds else None,
        rounded(bounds.high) if bounds else None,
        paired,
        *_direction(name, float(base.mean()), difference, bounds, min(base.size, new.size)),
    )


def interval(a: NDArray[np.float64], b: NDArray[np.float64], *, paired: bool, level: float) -> Interval | None:
    """Between which bounds mean(b) − mean(a) lies, None for fewer than :data:`LEAST_N` values of either.

    Student's interval (Welch's where runs are not paired), widened to the percentile bootstrap's where that is wider.
    ``level`` is nominal: Student's has it where values are normally distributed, Welch's nearly, and with a handful of
    runs nobody can see whether they are. The bootstrap has no level of its own then: resampling can't go beyond the
    values, so that at "95%" three normal ones cover their mean in 75% of cases; here it only ever widens.
    docs/statistics.md has what both cover elsewhere.
    """
    if min(a.size, b.size) < LEAST_N:
        return None
    samples = [b - a] if paired else [b, a]
    point = float(b.mean() - a.mean())
    if all(np.ptp(sample) <= SAME * max(1.0, float(np.abs(sample).max())) for sample in samples):
        return Interval(point, point, level)  # nothing to resample, nothing to divide by
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they warn of values that are nearly alike, which is fine here
        again = stats.bootstrap(
            samples,
            np.mean if paired else lambda b, a, axis: np.mean(b, axis) - np.mean(a, axis),
            n_resamples=RESAMPLES,
            confidence_level=level,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
        test = stats.ttest_1samp(samples[0], 0.0) if paired else stats.ttest_ind(b, a, equal_var=False)
        student = test.confidence_interval(level)
    return Interval(float(min(again.low, student.low)), float(max(again.high, student.high)), level)


def _direction(name: str, base: float, difference: float, bounds: Interval | None, runs: int) -> tuple[Direction, str]:
    if bounds is None:
        return NOT_SHOWN, f"{runs} run{'s' * (runs != 1)}: at least {LEAST_N} of each are needed"
    if bounds.low <= 0 <= bounds.high:
        return NOT_SHOWN, "the interval has 0 in it" if bounds.low != bounds.high else "the same in all runs"
    figure = figure_of(name)
    least = max(figure.least_absolute, figure.least_relative * abs(base))
    if abs(difference) < least and not math.isclose(abs(difference), least):
        return NOT_SHOWN, f"less than {least:.3g} {figure.unit}".strip() + ", which does not matter"
    if figure.better is None:
        return "differs", "no direction is known for it"
    why = "the same difference in every run: one observation" if bounds.low == bounds.high else ""
    return ("better" if (difference > 0) == (figure.better == "higher") else "worse"), why
