"""Writes a table's ``report.html`` and its picture, from its ``table.json`` and ``verdict.json`` alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.judge import intervals
from testbed.judge.checks.result import Verdict
from testbed.judge.figures import with_unit
from testbed.judge.verify import read_verdict
from testbed.results.report.page_templates import page_templates, write_html
from testbed.results.report.plots import Plot
from testbed.study.hosts import effects, fitness
from testbed.study.kinds.table_result import RowSummary, Spread, read_table, summaries_of
from testbed.study.report import gains, lines, table_picture

_HERE = Path(__file__).parent / "templates"


def write_report(folder: Path) -> Path:
    """The page's path. The same folder gives the same bytes; BadInput where a file is missing or broken."""
    document, verdict = read_table(folder), read_verdict(folder)
    summaries = summaries_of(document)
    columns: list[str] = document["columns"]
    return write_html(
        folder,
        page_templates(_HERE),
        "table.html.j2",
        [*pictures(document), *lines.plots(verdict)],
        table=document,
        verdict=verdict,
        columns=columns,
        figures=[
            {
                "title": with_unit(figure),
                "rows": [_shown(s, columns, document["ratios"], figure) for s in summaries],
                "bounded": any(figure in s.bounds for s in summaries),
            }
            for figure in document["figures"]
        ],
        gains=[plot["name"] for plot in document.get("plots", [])],
        ratios=[f"{a} / {b}" for a, b in document["ratios"]],
        sure=_how_sure(summaries, verdict),
        hosts=effects.describe(document["outcomes"], document["figures"]),
        measured=fitness.measurements(folder).hosts,
        findings=[filled_in(text, summaries) for text in document["findings"]],
    )


def pictures(document: Mapping[str, Any]) -> list[Plot]:
    """The pictures of a ``table.json``."""
    asked, summaries = document.get("plots", []), summaries_of(document)
    return gains.pictures(asked, summaries) if asked else table_picture.pictures(summaries, document["columns"])


def _shown(summary: RowSummary, columns: Sequence[str], ratios: Sequence[Sequence[str]], figure: str) -> dict[str, Any]:
    known: dict[str, dict[str, float]] = {}
    bound = summary.bounds.get(figure)
    for value in (k for k in summary.known if k.figure == figure):
        known.setdefault(value.by, {})[value.column] = value.value
    cells = []
    for column in columns:
        spread = summary.spread(column, figure)
        cells.append(
            {
                "state": summary.states[column],
                "median": _number(spread.median),
                "range": _range(spread),
                "n": spread.n,
                "told": _told(spread),
                "share": f"{spread.median / bound:.1%}" if spread.median is not None and bound else "",
                "known": [(by, _number(values[column])) for by, values in known.items() if column in values],
            }
        )
    return {
        "label": summary.label,
        "title": summary.title,
        "bound": _number(bound),
        "cells": cells,
        "ratios": [ratio_text(summary, a, b, figure) for a, b in ratios],
    }


def _how_sure(summaries: Sequence[RowSummary], verdict: Verdict) -> str:
    """How far a table's verdict goes, in a sentence; "" where the verdict itself says that it proves nothing."""
    if not verdict.trust.trusted:
        return ""
    spreads = [spread for s in summaries for by_column in s.cells.values() for spread in by_column.values() if spread.n]
    said = []
    if levels := [spread.interval.level for spread in spreads if spread.interval]:
        said.append(f"Medians have intervals of {intervals.told(levels)}.")
    if alike := [spread.n for spread in spreads if spread.is_one]:
        said.append(f"{max(alike)} runs of a cell in virtual time came out alike: chance has no part in them.")
    if any(spread.interval is None and not spread.is_one for spread in spreads):
        which = "Some cells" if said else "Cells"
        said.append(f"{which} have fewer than {intervals.LEAST_N} runs, which say nothing of the spread.")
    return " ".join(said)


def _range(spread: Spread) -> str:
    """The interval where there is one, else the range of two."""
    if spread.interval is not None:
        return f"[{_number(spread.interval.low)}, {_number(spread.interval.high)}]"
    return f"{_number(spread.low)}–{_number(spread.high)}" if len(spread.values) > 1 else ""


def _told(spread: Spread) -> str:
    """How many runs there are, and what that is worth."""
    if spread.is_one:
        return f"{spread.n} runs, one observation"
    return f"N = {spread.n}" + (f", {intervals.told([spread.interval.level])}" if spread.interval else "")


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3f}"


def ratio_text(summary: RowSummary, over: str, under: str, figure: str | None = None) -> str:
    """Of two columns' medians; – where one is missing."""
    one, other = summary.median(over, figure), summary.median(under, figure)
    return "–" if one is None or not other else f"{one / other:.2f}"


def filled_in(text: str, summaries: Sequence[RowSummary]) -> str:
    """A finding with its figures: ``{1.nkp24}`` is a median of the first, ``{1.nkp24/previous}`` a ratio,
    ``{1.nkp24:rtt_ms}`` a median of another."""
    rows = {summary.name: summary for summary in summaries}

    def value(match: re.Match[str]) -> str:
        row, column, under, figure = match["row"], match["column"], match["under"], match["figure"]
        if row not in rows or (figure and figure not in rows[row].cells):
            return "(not run)"
        if under:
            return ratio_text(rows[row], column, under, figure)
        return _number(rows[row].median(column, figure))

    name = r"[a-z0-9-]+"
    place = rf"(?P<row>{name})\.(?P<column>{name})(?:/(?P<under>{name}))?(?::(?P<figure>[a-z0-9_.-]+))?"
    return re.sub(rf"\{{{place}\}}", value, text)
