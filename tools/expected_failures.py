"""Limits of expected failures from the reference results: ``python -m tools.expected_failures`` writes
``data/published/expected-failures.json``.

For each claim that is known not to hold (``xfail`` in ``claims.yaml``), and each engine and form (``full``, ``quick``)
that a reference result is of, the check that decides it is judged again, by the same rule that judges a run. At each
place that fails, the reference spans from the least to the largest of its values and of the ends of their intervals. Of
a ratio or difference these are the pairs of runs with one seed, by which claims are decided. The limits lie as far
below and above as that is wide. A reference of one run, or in a guest one of runs that are alike, has no width of its
own. It takes the largest relative one that the place has in another engine or form; on real packets also the difference
to the other engines in the same form, if that is more. In a guest it is at least :data:`BETWEEN_COMMITS`. In the
simulator, runs that are alike have none: chance has no part in them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from testbed.documents import read_json, write_json
from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.expected_failures import FILE, MEASURED, ExpectedFailures, Limits, Listed
from testbed.judge.intervals import Interval
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.engines import ENGINES, engine_of
from testbed.study.checks.claims import REFERENCES, read_claims
from testbed.study.checks.table import OfPairs, judge_one, places_of
from testbed.study.kinds import table_file
from testbed.study.kinds.claims_file import Claim, Claims, load
from testbed.study.kinds.table import variant
from testbed.study.kinds.table_result import read_table, results_of, summaries_of

ABOUT = "Made from the claims and the reference results: python -m tools.expected_failures. Not to be edited."
LAST_PLACE = 1e-6
"""Figures are rounded to six places."""
BETWEEN_COMMITS = 0.001
"""Movement of a guest's figures, in parts, with the names and lengths of the files in it: another commit may measure
this of the same seed."""


class Reference(NamedTuple):
    """One reference result of a place that fails: the least and the largest value, and of how many runs they are."""

    claim: str
    check: str
    place: str
    engine: str
    form: str
    low: float
    high: float
    runs: int


def made(claims: Claims, folder: Path = REFERENCES) -> ExpectedFailures:
    """The file's contents; ValueError for an expected failure of a fact, or of a run with changes."""
    found = list(_references(claims, folder))
    found += _beside(claims, folder, {(one.claim, one.place) for one in found})
    listed = {}
    for name, claim in claims.claims.items():
        spec, xfail = claims.runs[claim.run], claim.xfail
        if xfail is None:
            continue
        if spec.set:
            raise ValueError(f"{name}: its run is changed, so that the same check elsewhere is not the source's")
        cause, check = " ".join(xfail.cause.split()), claim.check or name
        limits = {check: _limits(name, check, found)}
        listed[name] = Listed(run=spec.run, cause=cause, strict=xfail.strict, checks=limits)
    return ExpectedFailures(about=ABOUT, claims=listed)


def _limits(claim: str, check: str, found: Sequence[Reference]) -> dict[str, dict[str, dict[str, Limits]]]:
    """References by engine, form and place."""
    groups: dict[str, dict[tuple[str, str], list[Reference]]] = {}
    for one in found:
        if (one.claim, one.check) == (claim, check):
            groups.setdefault(one.place, {}).setdefault((one.engine, one.form), []).append(one)
    limits: dict[str, dict[str, dict[str, Limits]]] = {}
    for engine, form, place in sorted((*of, place) for place, by_form in groups.items() for of in by_form):
        facts, found_at = ENGINES[engine], groups[place].items()
        spans = {of: (min(one.low for one in group), max(one.high for one in group)) for of, group in found_at}
        low, high = spans.pop((engine, form))
        width = high - low
        if width <= LAST_PLACE and (facts.kernel or sum(one.runs for one in groups[place][engine, form]) == 1):
            # It has no width of its own.
            widths = [abs(low) * (most - least) / abs(least) for least, most in spans.values() if least]
            if not facts.virtual_time:
                widths += [abs(low - end) for (_, of), ends in spans.items() if of == form for end in ends]
            width = max(widths, default=0.0)
        if facts.kernel and facts.virtual_time:
            width = max(width, BETWEEN_COMMITS * max(abs(low), abs(high)))
        limits.setdefault(engine, {}).setdefault(form, {})[place] = (
            round(math.floor((low - width) / LAST_PLACE - 1) * LAST_PLACE, 6),
            round(math.ceil((high + width) / LAST_PLACE + 1) * LAST_PLACE, 6),
        )
    return limits


def _references(claims: Claims, folder: Path) -> Iterator[Reference]:
    for file in sorted(folder.rglob("verdict.json")):
        run, verdict = file.parent, read_verdict(file.parent)
        table = read_table(run) if (run / "table.json").is_file() else None
        around = [above for above in run.parents if above.is_relative_to(folder)]
        if table:
            form, runs = variant(table, table["name"]), int(table["repeat"])
        elif (run / "plan.json").is_file() and not any((above / "table.json").is_file() for above in around):
            plan = read_json(run / "plan.json")
            form, runs = plan.get("variant", "quick" if plan["quick"] else "full"), 1
        else:
            continue
        if form == "changed":
            continue
        engine, results = engine_of(table or plan).name, {result.name: result for result in verdict.checks}
        for name, claim in claims.claims.items():
            if claim.xfail is None or claims.runs[claim.run].run != verdict.scenario:
                continue
            check = claim.check or name
            result = results.get(check)
            if table and (result is None or result.judge != "each_run"):
                result = _judged_again(name, claim, check, table)
            if result:
                yield from _failing(name, check, result, engine, form, runs)


def _beside(claims: Claims, folder: Path, failing: set[tuple[str, str]]) -> Iterator[Reference]:
    """Figures of claims on other engines, of which nothing else is stored, at places that fail elsewhere."""
    for file in sorted(folder.glob("*/claims.json")):
        document = read_claims(file.parent)
        quick = {beside["engine"]: beside["quick"] for beside in document.get("beside", ())}
        for entry in document["claims"]:
            claim = claims.claims.get(entry["id"])
            if claim is None or claim.xfail is None:
                continue
            for engine, there in entry["beside"].items():
                form = "quick" if claims.runs[claim.run].shorter(quick=quick[engine]) else "full"
                for place, value in there["figures"].items() if there["verdict"] == Status.FAIL else ():
                    of, check = (value, *there["intervals"].get(place, ())[:2]), claim.check or entry["id"]
                    if (entry["id"], place) in failing:
                        yield Reference(entry["id"], check, place, engine, form, min(of), max(of), int(there["n"]))


def _judged_again(name: str, claim: Claim, check: str, table: Mapping[str, Any]) -> CheckResult:
    loaded = table_file.load(table["name"], quick=bool(table["quick"]))
    requested = claim.table_check(name) or next(one for one in loaded.table.checks if one.name == check)
    rows, cells = summaries_of(table), results_of(table)
    result = judge_one(requested, rows, cells)
    if not isinstance(requested, OfPairs):
        return result
    places = places_of(requested, [row.watched(cells) for row in rows], requested.figure or next(iter(rows[0].cells)))
    pairs = {
        place: [rounded(pair) for pair in of.runs] for place, of in places.items() if of and place in result.failing
    }
    return result.failing_at({place: (of[0], Interval(min(of), max(of), 1.0)) for place, of in pairs.items()})


def _failing(name: str, check: str, result: CheckResult, engine: str, form: str, runs: int) -> Iterator[Reference]:
    if result.judge in FACTS:
        raise ValueError(f"{name}: {check!r} is about a fact, which has no expected failure")
    if result.status != Status.FAIL:
        return
    failing = {place: (value, *(interval or ())[:2]) for place, (value, interval) in result.failing.items()}
    if result.judge == "each_run" and (values := result.figures.get("values")):
        failing = {MEASURED: values}
    for place, of in failing.items():
        yield Reference(name, check, place, engine, form, min(of), max(of), runs)


if __name__ == "__main__":
    write_json(FILE, made(load()).model_dump(mode="json"))
