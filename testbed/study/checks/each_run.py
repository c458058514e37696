"""A check that the runs of a table make themselves, over all of them: the verdict of a scenario that is repeated."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeGuard

from pydantic import StringConstraints

from testbed.judge import intervals, power, sign_test
from testbed.judge.checks.parameters import CheckName
from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.status import BEST_FIRST, Status, worst
from testbed.message import Message, Messages
from testbed.results.report import words
from testbed.scenario.section import Section
from testbed.study.record import CellResult, observations, seed_ignored

FigureName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.-]{0,63}$")]


class OfFigure(Section):
    """Parameters of every check of a table."""

    whole: ClassVar[frozenset[str]] = frozenset()
    """Axes of which its rule takes all: it can't be judged over some."""
    name: CheckName
    figure: FigureName | None = None
    """The figure to judge; default: the table's first one."""
    rows: list[str] | None = None


class EachRunCheck(OfFigure):
    """The runs' own check ``check``, over all of them."""

    judge: Literal["each_run"]
    check: str


_JUDGED = (Status.PASS, Status.FAIL)
_IN_WORDS: Mapping[Status, str] = {
    Status.INSUFFICIENT_DATA: "with too little data",
    Status.UNSUPPORTED: "can't be made here",
    Status.ERROR: "broken",
}


def judge_each_run(
    check: EachRunCheck, cells: Sequence[CellResult], expected: ExpectedFailure | None = None, *, watched: bool = False
) -> CheckResult:
    """Judge the check over all requested runs.

    A run that is missing, broke down, is untrusted or could not be judged is a part like any other, and the worst
    decides. Where all were judged, a question about a number is decided by the interval of its median, if three or
    more runs have it and each was judged by nothing but that number. Runs that are one observation
    (:func:`observations`) have no interval. Anything else holds where it holds in every run; a fact (:data:`FACTS`)
    that fails in one fails, a number is inconclusive between. Only where all runs were judged may a number fail as
    ``expected``. Of ``watched`` runs, which end when something is decided, a sign test decides in place of the
    interval, and also whether anything else but a fact holds in most.
    """
    standings = [(_standing(check.check, cell), cell) for cell in cells]
    requested = [(standing, cell) for standing, cell in standings if standing != Status.SKIPPED]
    judged = [cell for standing, cell in requested if standing in _JUDGED]
    others: Counter[Status] = Counter(standing for standing, _ in requested if standing not in _JUDGED)
    results = [cell.record.checks[check.check] for cell in judged]
    of = results or [cell.record.checks.get(check.check, {}) for _, cell in requested or standings]
    figures: dict[str, Any] = {"n": sum(_is_number(result.get("measured")) for result in of) or len(of)}
    about = {key: of[0].get(key) if of else None for key in ("expected", "tolerance")}
    if standings and not requested:
        skipped = Message("check.of-another-policy", "Skipped for this policy.")
        return CheckResult.of(check.name, check.judge, Status.SKIPPED, skipped, figures=figures, **about)
    is_fact = any(result.get("judge") in FACTS for result in results)
    held = sum(standing == Status.PASS for standing, _ in requested)
    told_apart = observations(judged)
    measured = [cell.record.checks[check.check]["measured"] for cell in told_apart]
    values = [float(value) for value in measured if _is_number(value)]
    of_median = sign_test.of_median if watched else intervals.of_median
    interval = of_median(values) if len(values) == len(measured) else None
    limits = _limits(results) if interval and not is_fact else None
    if limits and not all(_is_by_its_number(result, *limits) for result in results):
        limits = None
    decided = Status.PASS if held == len(judged) else Status.INCONCLUSIVE if held and not is_fact else Status.FAIL
    by_signs = watched and bool(judged) and not is_fact and not _is_one(told_apart, judged)
    if by_signs:
        n, held_apart = len(told_apart), sum(_standing(check.check, cell) == Status.PASS for cell in told_apart)
        decided = sign_test.of_signs(held_apart, n)
        signs = sign_test.evidence(n, held_apart), sign_test.evidence(n, n - held_apart)
        figures["evidence"] = max(sign_test.of_limits(values, *limits) if limits else signs)
    scattering = [] if is_fact or _is_one(told_apart, judged) else [values]
    figures |= power.seen(scattering, power.of_sign_test if watched else power.of_interval)
    if interval and limits:
        decided = interval.against(*limits)
    said = Messages([Message("runs.hold", f"Holds in {held} of {len(requested)} runs.")])
    if others:
        reported = [f"{others[word]} {_IN_WORDS.get(word, word)}" for word in BEST_FIRST if others[word]]
        said.add_message("runs.others", f"Of the others, {', '.join(reported)}.")
    if values:
        figures["values"] = [rounded(value) for value in values]
        median = words.figure(statistics.median(values))
        if interval is None:
            said.add_message("runs.median", f"Median {median}.")
        else:
            figures["interval"] = [rounded(end) for end in interval]
            level = intervals.levels_in_words([interval.level])
            said.add_message(
                "runs.median-and-interval",
                f"Median {median} [{words.figure(interval.low)}, {words.figure(interval.high)}], a {level} interval"
                f"{', whenever the runs end' if watched else ''}.",
            )
    if seed_ignored(judged):
        others[Status.UNTRUSTED] = len(judged)
        said.add_message(
            "runs.seed-ignored",
            f"{len(judged)} runs with seeds of their own lost packets by chance, and all the same: seed ignored.",
        )
    elif len(told_apart) == 1 < len(judged):
        said.add_message(
            "runs.one-observation",
            f"{len(judged)} runs, one observation: nothing is left to chance, its value decides.",
        )
    elif by_signs and len(judged) < sign_test.LEAST_N:
        said.add_message("runs.undecided", f"Fewer than {sign_test.LEAST_N} runs decide nothing.")
    elif not watched and len(judged) < intervals.LEAST_N:
        said.add_message("runs.too-few", f"Fewer than {intervals.LEAST_N} runs say nothing of the spread.")
    status = worst([*others, *([decided] if judged else [])])
    figures["observations"] = len(told_apart)
    about["measured"] = rounded(statistics.median(values)) if values else None
    found = CheckResult.of(check.name, check.judge, status, said.joined(), figures=figures, **about)
    return found if others or is_fact else found.expected_to_fail(expected)


def _is_one(told_apart: Sequence[CellResult], judged: Sequence[CellResult]) -> bool:
    """Whether chance has no part in the runs that were judged: of one run, if it was in virtual time."""
    return len(told_apart) == 1 and (len(judged) > 1 or judged[0].record.exact)


def _standing(name: str, cell: CellResult) -> Status:
    """The run's status of the check; where the run itself does not count, the status of the run."""
    if cell.status not in _JUDGED:
        return cell.standing
    checks = cell.record.checks
    return Status(checks[name]["status"]) if name in checks else Status.MISSING


def _limits(results: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """The limits, where all runs expect the same number."""
    limits = {(result["expected"], result["tolerance"]) for result in results}
    expected, tolerance = limits.pop() if len(limits) == 1 else (None, None)
    return (expected - tolerance, expected + tolerance) if _is_number(expected) and _is_number(tolerance) else None


def _is_by_its_number(result: Mapping[str, Any], low: float, high: float) -> bool:
    """Whether the run's own verdict is what its number says: one that failed for something else stays failed."""
    return bool((result["status"] == Status.PASS) == (low <= result["measured"] <= high))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
