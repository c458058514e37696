"""The plots of the claims page, from small files alone: claims.json, and each run's table.json or windows.csv."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.documents import read_csv
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.read import read_plan
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn
from testbed.results.report.published_shares import published_shares
from testbed.study.checks.judged import Judged
from testbed.study.kinds.table_file import first_run
from testbed.study.kinds.table_result import read_table, summaries_of
from testbed.study.report import table as table_report

_MARKERS = ("D", "s", "^", "o")


def against_published(claims: Sequence[Judged]) -> Plot | None:
    """What was measured as a part of what was published: a point with its interval for each claim with one figure."""
    shown = [claim for claim in claims if claim.value is not None and len(claim.figures) == 1]
    if not shown:
        return None
    name, description = (
        "published",
        "Measured over published figure of each claim that has one, with its interval; the table has its level.",
    )
    with style.canvas((9.6, 0.9 + 0.27 * len(shown))) as figure:
        axes = figure.subplots()
        for place, claim in enumerate(shown):
            value = claim.value or 1.0
            (key, measured), y = next(iter(claim.figures.items())), len(shown) - 1 - place
            colour = style.SERIES_COLOURS[0 if claim.verdict == Status.PASS else 1]
            if key in claim.intervals:
                low, high = claim.intervals[key][:2]
                axes.hlines(y, low / value, high / value, color=colour, linewidth=2, label="_interval")
            marker = "o" if claim.verdict == Status.PASS else "X"
            axes.plot(measured / value, y, marker, color=colour, markersize=6, label="_measured / published")
        axes.axvline(1, color=style.MUTED, linewidth=1)
        axes.plot([], [], "o", color=style.SERIES_COLOURS[0], label="holds")
        axes.plot([], [], "X", color=style.SERIES_COLOURS[1], label="does not, or open")
        axes.set_yticks(range(len(shown)), [claim.id for claim in reversed(shown)])
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.set_xlabel("measured / published")
        axes.grid(visible=False, axis="y")
        axes.legend(ncols=2, **style.LEGEND)
        return drawn(figure, name, description)


def of_run(name: str, folder: Path) -> list[Plot]:
    """What the run's small files allow: a table's picture, or the shares of its windows."""
    if (folder / "table.json").is_file():
        if (first := first_run(folder)) is not None:
            return of_run(name, first)
        table = read_table(folder)
        if not any(spread.n for row in summaries_of(table) for s in row.cells.values() for spread in s.values()):
            return []  # nothing could be measured, and what was published alone is no picture
        return [plot.named(f"{name}-{plot.name}") for plot in table_report.pictures(table)]
    if (folder / "windows.csv").is_file() and (folder / "plan.json").is_file():
        return [plot] if (plot := _shares(name, folder)) else []
    return []


def _shares(name: str, folder: Path) -> Plot | None:
    plan, verdict = read_plan(folder / "plan.json"), read_verdict(folder)
    lines = _read_shares(folder / "windows.csv")
    if len(lines) < 2:
        return None
    published = published_shares(plan["scenario"], verdict.policy)
    law: list[dict[str, Any]] = next((c.figures["shares"] for c in verdict.checks if c.figures.get("shares")), [])
    description = f"{plan['scenario']}, {verdict.policy}: each connection's share of the window over time."
    with style.new_plot(f"{plan['scenario']}, {verdict.policy}", "share of the window") as (figure, axes):
        for number, (connection, (times, shares)) in enumerate(lines.items()):
            axes.plot(
                times,
                shares,
                color=style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)],
                linestyle=style.LINE_STYLES[number % len(style.LINE_STYLES)],
                label=connection,
            )
        if law:
            points = [(s["t_s"], s["law"]) for s in law]
            axes.plot(*zip(*points, strict=True), "+", color=style.INK, markersize=7, label="law")
        for number, source in enumerate(dict.fromkeys(p.measured_by for p in published)):
            theirs = [(p.t_s, p.share) for p in published if p.measured_by == source]
            label = "upstream again" if number == 0 else "on real links"
            axes.plot(*zip(*theirs, strict=True), label=label, **style.published(_MARKERS[number % len(_MARKERS)]))
        axes.set_ylim(0, 1.05)
        axes.set_xlim(0, None)
        axes.legend(ncols=5, **{**style.LEGEND, "columnspacing": 1, "handlelength": 1.5})
        return drawn(figure, f"{name}-shares", description)


def _read_shares(path: Path) -> dict[str, tuple[list[float], list[float]]]:
    """Times and shares by connection, of the first session."""
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    rows = read_csv(path)
    for row in rows:
        if row["share"] and row["session"] == rows[0]["session"]:
            times, shares = found[row["connection"]]
            times.append(float(row["t_s"]))
            shares.append(float(row["share"]))
    return dict(found)
