"""Cases for each check of a table, at and beside its limits, with the whole result that each must give
(``results.json``).

``python -m tests.tables.results`` writes what the checks say now into that file; read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from testbed.judge.status import Status
from testbed.study.checks.table import TableCheck, judge_one
from testbed.study.kinds.table_result import KnownValue, Place, RowSummary, Spread, missing
from testbed.study.record import CellResult
from tests.said import all_codes
from tests.tables.cells import cell_result

RECORDED = Path(__file__).with_name("results.json")
_ADAPTER: TypeAdapter[TableCheck] = TypeAdapter(TableCheck)
COLUMNS = ("a", "b")
Values = Sequence[float]


def row(
    name: str,
    figures: Mapping[str, tuple[Values, Values]],
    *,
    bounds: Mapping[str, float] | None = None,
    known: Sequence[tuple[str, float]] = (),
    alike: int | None = None,
) -> RowSummary:
    """Values of columns a and b by figure; ``known`` ones are of column a and the first figure. ``alike``: so many runs
    in virtual time are one observation."""
    cells = {
        figure: {column: Spread.of(values, alike) for column, values in zip(COLUMNS, of, strict=True)}
        for figure, of in figures.items()
    }
    values = [KnownValue(by, "a", value, next(iter(figures))) for by, value in known]
    return RowSummary(name, f"({name})", "", bounds or {}, cells, dict.fromkeys(COLUMNS, Status.PASS), values)


def three(*values: tuple[Any, Any]) -> list[RowSummary]:
    """Rows of one figure, each a single value or several."""
    pairs = [[of if isinstance(of, list) else [of] for of in both] for both in values]
    return [row(f"row {n}", {"rate_mbps": (a, b)}) for n, (a, b) in enumerate(pairs)]


def one(a: Values = (), b: Values = (), **of: Any) -> list[RowSummary]:
    """A single row of one figure."""
    return [row("near", {"rate_mbps": (a, b)}, **of)]


def cell(row: str, column: str, verdict: str = "pass", why: str = "", repetition: int = 1, **of: Any) -> CellResult:
    return cell_result(row, column, repetition, Status(verdict), {}, 1.0, why, "x", **of)


def checks(status: str, **of: Any) -> dict[str, dict[str, Any]]:
    """A run's own check that is asked over all runs."""
    return {"own": {"judge": "ratio", "status": status, "measured": 1.0, "expected": "1 to 2", "tolerance": None, **of}}


RATIO = {"judge": "ratio", "column": "a", "over": "b", "min": 0.5, "max": 2.0}
DIFFERENCE = {"judge": "difference", "column": "a", "over": "b", "min": -1.0, "max": 1.0}
BOUND = {"judge": "bound", "columns": ["a"], "min": 0.5, "max": 1.0}
WITHIN = {"judge": "within", "columns": ["a"], "min": 1.0, "max": 2.0}
RISES = {"judge": "rises", "column": "a", "over": "b"}
MEDIAN = {"judge": "median_ratio", "column": "a", "over": "b", "min": 1.5, "max": 3}
KNOWN = {"judge": "known", "columns": ["a"], "tolerance": 0.25}
OFFSET = {"judge": "offset", "columns": ["a"], "within": 1.0}


def offsets(*by: float | list[float]) -> list[RowSummary]:
    """Rows that are known to be 100, 200, … ms, and came to so much less."""
    return [
        row(
            f"r{n}",
            {"rtt_ms": ([100 * n - x for x in (of if isinstance(of, list) else [of])], [1])},
            known=[("them", 100.0 * n)],
        )
        for n, of in enumerate(by, 1)
    ]


TWO_ROWS = [row("near", {"rate_mbps": ([1], [1])}), row("far", {"rate_mbps": ([9], [1])})]
TWO_FIGURES = [row("near", {"rate_mbps": ([9], [1]), "rtt_ms": ([30], [20])}, bounds={"rate_mbps": 9, "rtt_ms": 40})]
SOURCES = (("them", 1.0), ("us", 2.0))
PASSES, FAILS, OPEN, UNDECIDED = "pass", "fail", "insufficient-data", "inconclusive"

Case = tuple[str, dict[str, Any], list[RowSummary], Sequence[CellResult]]
CASES: dict[str, Case] = {
    "ratio: at its least": (PASSES, RATIO, one([1], [2]), []),
    "ratio: at its most": (PASSES, RATIO, one([4], [2]), []),
    "ratio: less": (FAILS, RATIO, one([0.99], [2]), []),
    "ratio: more": (FAILS, RATIO, one([4.01], [2]), []),
    "ratio: no upper limit": (PASSES, {**RATIO, "max": None}, one([400], [2]), []),
    "ratio: against nothing": (OPEN, RATIO, one([4], [0]), []),
    "ratio: against what may be nothing": (OPEN, RATIO, one([4], [-1, 2]), []),
    "ratio: of nothing": (OPEN, RATIO, one([], [2]), []),
    "ratio: to nothing": (OPEN, RATIO, one([2], []), []),
    "ratio: of zero": (FAILS, RATIO, one([0], [2]), []),
    "ratio: by intervals": (PASSES, RATIO, one([1.0, 1.1, 1.2], [1.0, 1.1, 1.2]), []),
    "ratio: an interval partly inside": (UNDECIDED, RATIO, one([1.9, 2, 2.1], [1.0, 1.0, 1.0]), []),
    "ratio: an interval outside": (FAILS, RATIO, one([3.0, 4, 5], [1.0, 1.0, 1.0]), []),
    "ratio: runs that are alike": (PASSES, RATIO, one([1.0], [1.0], alike=6), []),
    "ratio: of another figure": (PASSES, {**RATIO, "figure": "rtt_ms"}, TWO_FIGURES, []),
    "ratio: of some rows": (PASSES, {**RATIO, "rows": ["near"]}, TWO_ROWS, []),
    "ratio: of all rows": (FAILS, RATIO, TWO_ROWS, []),
    "ratio: of no row": (OPEN, {**RATIO, "rows": ["x"]}, TWO_ROWS, []),
    "ratio: of no rows at all": (OPEN, RATIO, [], []),
    "ratio: no such column": (OPEN, {**RATIO, "column": "c"}, one([1], [1]), []),
    "ratio: over no such column": (OPEN, {**RATIO, "over": "c"}, one([1], [1]), []),
    "difference: at its most": (PASSES, DIFFERENCE, one([3], [2]), []),
    "difference: at its least": (PASSES, DIFFERENCE, one([1], [2]), []),
    "difference: more": (FAILS, DIFFERENCE, one([3.5], [2]), []),
    "difference: less": (FAILS, DIFFERENCE, one([0], [2]), []),
    "difference: by intervals": (PASSES, DIFFERENCE, one([1.0, 1.25, 1.5], [1.0, 1.25, 1.5]), []),
    "difference: undecided": (UNDECIDED, DIFFERENCE, one([1.0, 1.25, 2.5], [1.0, 1.25, 1.5]), []),
    "difference: of nothing": (OPEN, DIFFERENCE, one([], [2]), []),
    "difference: to nothing": (OPEN, DIFFERENCE, one([2], []), []),
    "difference: to zero": (PASSES, DIFFERENCE, one([1], [0]), []),
    "difference: in its own unit": (FAILS, {**DIFFERENCE, "figure": "rtt_ms"}, TWO_FIGURES, []),
    "difference: without a unit": (PASSES, DIFFERENCE, [row("near", {"marks": ([1234.5678], [1234.0])})], []),
    "bound: at its most": (PASSES, BOUND, one([4], bounds={"rate_mbps": 4}), []),
    "bound: at its least": (PASSES, BOUND, one([2], bounds={"rate_mbps": 4}), []),
    "bound: more": (FAILS, BOUND, one([4.01], bounds={"rate_mbps": 4}), []),
    "bound: by intervals": (PASSES, BOUND, one([2.0, 3.0, 4.0], bounds={"rate_mbps": 4}), []),
    "bound: undecided": (UNDECIDED, BOUND, one([2.0, 3.0, 5.0], bounds={"rate_mbps": 4}), []),
    "bound: there is none": (OPEN, BOUND, one([2]), []),
    "bound: of nothing": (OPEN, BOUND, one([], bounds={"rate_mbps": 4}), []),
    "bound: it is zero": (OPEN, BOUND, one([2], bounds={"rate_mbps": 0}), []),
    "bound: of another figure": (PASSES, {**BOUND, "figure": "rtt_ms"}, TWO_FIGURES, []),
    "within: at its ends": (PASSES, {**WITHIN, "columns": ["a", "b"]}, one([1], [2]), []),
    "within: less": (FAILS, WITHIN, one([0.99]), []),
    "within: more": (FAILS, WITHIN, one([2.01]), []),
    "within: only an upper limit": (PASSES, {**WITHIN, "min": None}, one([-1e9]), []),
    "within: only a lower limit": (PASSES, {**WITHIN, "max": None}, one([1e9]), []),
    "within: by intervals": (PASSES, WITHIN, one([1.0, 1.5, 2.0]), []),
    "within: one of two": (FAILS, {**WITHIN, "columns": ["a", "b"]}, one([1], [2.5]), []),
    "within: one of two has no value": (OPEN, {**WITHIN, "columns": ["a", "b"]}, one([1], []), []),
    "within: fails though another has none": (FAILS, {**WITHIN, "columns": ["a", "b"]}, one([9], []), []),
    "within: undecided though another has none": (
        UNDECIDED,
        {**WITHIN, "columns": ["a", "b"]},
        one([1.0, 1.5, 3.0], []),
        [],
    ),
    "within: all that can be said of three": (
        UNDECIDED,
        {**WITHIN, "columns": ["a", "b"]},
        [
            row("near", {"rate_mbps": ([1.0, 1.5, 2.0], [2, 3, 9])}),
            row("far", {"rate_mbps": ([1.0, 1.5, 2.5], [])}),
            row("out", {"rate_mbps": ([1.0], [1.0, 1.5])}),
        ],
        [],
    ),
    "median ratio: the middle of three": (PASSES, MEDIAN, three((1, 1), (3, 2), (9, 1)), []),
    "median ratio: above": (FAILS, MEDIAN, three((1, 1), (7, 2), (9, 1)), []),
    "median ratio: by intervals": (UNDECIDED, MEDIAN, three((1, 1), ([2, 3, 7], [2] * 3), (9, 1)), []),
    "median ratio: a row is missing": (OPEN, MEDIAN, three((1, 1), (3, 2)), []),
    "median ratio: a row has none": (OPEN, MEDIAN, three((1, 1), ([], 2), (9, 1)), []),
    "known: at the limit below": (PASSES, KNOWN, one([0.75], known=SOURCES), []),
    "known: at the limit above": (PASSES, KNOWN, one([2.5], known=SOURCES), []),
    "known: near both": (PASSES, {**KNOWN, "tolerance": 0.5}, one([1.5], known=SOURCES), []),
    "known: between them": (FAILS, KNOWN, one([1.375], known=SOURCES), []),
    "known: near the later": (FAILS, KNOWN, one([3.0], known=SOURCES), []),
    "known: by intervals": (PASSES, KNOWN, one([0.75, 1.0, 1.25], known=SOURCES), []),
    "known: undecided": (UNDECIDED, KNOWN, one([0.75, 1.0, 1.5], known=SOURCES), []),
    "known: nobody measured it": (OPEN, KNOWN, one([1]), []),
    "known: of another column": (OPEN, {**KNOWN, "columns": ["b"]}, one([1], [1], known=SOURCES), []),
    "known: of another figure": (OPEN, {**KNOWN, "figure": "rtt_ms"}, TWO_FIGURES, []),
    "known: of nothing": (OPEN, KNOWN, one([], known=SOURCES), []),
    "known: of zero": (FAILS, KNOWN, one([0], known=SOURCES), []),
    "known: enough runs": (PASSES, {**KNOWN, "least_n": 2}, one([1, 1], known=SOURCES), []),
    "known: too few runs": (OPEN, {**KNOWN, "least_n": 3}, one([1, 1], known=SOURCES), []),
    "known: near the one that is named": (PASSES, {**KNOWN, "by": "us"}, one([2.5], known=SOURCES), []),
    "offset: one of all cells": (PASSES, OFFSET, offsets(11, 12, 13), []),
    "offset: a cell beside it": (FAILS, OFFSET, offsets(11, 12, 13.5), []),
    "offset: no free one of two cells": (OPEN, OFFSET, offsets(11, 12), []),
    "offset: by intervals": (UNDECIDED, OFFSET, offsets(11, 12, [12.5, 13, 14]), []),
    "offset: nobody measured it": (OPEN, OFFSET, [row("near", {"rtt_ms": ([1], [1])})], []),
    "slope": (
        PASSES,
        {"judge": "slope", "x": "rtt_ms", "columns": ["a", "b"], "min": 1, "max": 3},
        [
            row("near", {"rate_mbps": ([3], [5]), "rtt_ms": ([1], [2])}),
            row("far", {"rate_mbps": ([7], [9]), "rtt_ms": ([3], [4])}),
        ],
        [],
    ),
    "slope: of no rows": (OPEN, {"judge": "slope", "x": "rtt_ms", "columns": ["a"], "min": 1, "max": 3}, [], []),
    "slope: of some rows": (
        OPEN,
        {"judge": "slope", "x": "rtt_ms", "columns": ["a"], "min": 1, "max": 3, "rows": ["near"]},
        [row(name, {"rate_mbps": ([n], [4]), "rtt_ms": ([n], [2])}) for n, name in enumerate(("near", "far", "out"))],
        [],
    ),
    "row over row": (
        PASSES,
        {"judge": "row_ratio", "row": "far", "over": "near", "columns": ["a"], "min": 9, "max": 9},
        TWO_ROWS,
        [],
    ),
    "a rise": (PASSES, RISES, [*TWO_ROWS, row("out", {"rate_mbps": ([10], [1])})], []),
    "a rise takes three rows": (OPEN, RISES, TWO_ROWS, []),
    "a cell that did not pass is a part": (
        FAILS,
        RATIO,
        one([1], [1]),
        [cell("near", "a"), cell("near", "b", "fail", "no payload")],
    ),
    "the worst cell is told": (
        "untrusted",
        RATIO,
        one([1], [1]),
        [
            cell("near", "a", "fail", "no payload"),
            cell("near", "b", "untrusted", "late", 2),
            missing(Place("near", "a", 3)),
        ],
    ),
    "a missing cell": ("missing", BOUND, one([1], bounds={"rate_mbps": 1}), [missing(Place("near", "a", 3))]),
    "a broken run": ("error", WITHIN, one([1]), [cell("near", "a", "fail", "it stopped", checks=checks("error"))]),
    "worse by its figures": (FAILS, WITHIN, one([9]), [cell("near", "a", "unsupported", "no kernel")]),
    "cells of other rows and columns are none of it": (
        PASSES,
        {**WITHIN, "rows": ["near"]},
        one([1]),
        [cell("near", "a"), cell("near", "b", "fail"), cell("far", "a", "fail")],
    ),
    "a rise is about both its columns": (
        FAILS,
        RISES,
        TWO_ROWS,
        [cell("far", "b", "fail", "no payload"), cell("far", "c", "untrusted", "late")],
    ),
    "a difference is too": (FAILS, DIFFERENCE, one([1], [1]), [cell("near", "b", "fail", "no payload")]),
    "the runs' own check": (
        PASSES,
        {"judge": "each_run", "check": "own"},
        one(),
        [cell("near", "a", checks=checks("pass")), cell("far", "c", checks=checks("pass"))],
    ),
    "the runs' own check, too few": (
        UNDECIDED,
        {"judge": "each_run", "check": "own"},
        one(),
        [cell("near", "a", checks=checks("pass")), cell("far", "c", checks=checks("fail", measured=3.0))],
    ),
    "the runs' own check, of an interval": (
        PASSES,
        {"judge": "each_run", "check": "own"},
        one(),
        [cell("near", "a", checks=checks("pass"))] * 3,
    ),
    "the runs' own check, not asked of some": (
        "missing",
        {"judge": "each_run", "check": "own"},
        one(),
        [cell("near", "a", checks=checks("pass")), missing(Place("near", "b", 1))],
    ),
    "the runs' own check, asked of another policy": (
        "skipped",
        {"judge": "each_run", "check": "own"},
        one(),
        [cell("near", "a", checks=checks("skipped", measured=None))],
    ),
    "the runs' own check, of some rows": (
        FAILS,
        {"judge": "each_run", "check": "own", "rows": ["far"]},
        one(),
        [cell("near", "a", checks=checks("pass")), cell("far", "c", "fail", checks=checks("fail", measured=3.0))],
    ),
}


def result(name: str) -> dict[str, Any]:
    """What the check says of a case now."""
    _, check, rows, outcomes = CASES[name]
    known = _ADAPTER.validate_python({"name": "c", **check})
    found = judge_one(known, rows, outcomes)
    return {**found.model_dump(mode="json", exclude={"name", "judge"}), "codes": all_codes(found.said)}


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(result(name), ensure_ascii=False)}" for name in CASES)
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
