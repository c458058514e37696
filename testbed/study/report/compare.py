"""A comparison's ``compare.json``, page and lines for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from typing_extensions import TypedDict

from testbed.documents import entry_of, write_json
from testbed.judge.status import Status
from testbed.results.report.page_templates import page_templates, write_html
from testbed.results.report.plot import Plot
from testbed.study.checks.better import (
    NOT_SHOWN,
    Comparison,
    Difference,
    Group,
    Sample,
    cases_of_one,
    changed_checks,
    differing_facts,
    figure_of,
    is_of_check,
)
from testbed.study.report import compare_plots as plots

SCHEMA: Literal[2] = 2
"""Of ``compare.json``: since 2 a direction and a status stand where one word stood for both."""
_IN_WORDS: Mapping[Status, str] = {Status.FAIL: "failed", Status.UNTRUSTED: "untrusted"}
"""A group without a direction."""
MANY_CASES = 3
"""From so many settings on only the first figure is shown of each, and others where something was shown of them."""
_COLOURS = {
    "failed": Status.FAIL,
    "worse": Status.FAIL,
    "mixed": Status.UNTRUSTED,
    "untrusted": Status.UNTRUSTED,
    "better": Status.PASS,
    NOT_SHOWN: "neutral",
}
"""Of the page's word: the first of these that is said of a group."""
_TEMPLATES = page_templates(Path(__file__).parent / "templates")


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


def write(
    folder: Path, comparison: Comparison, name: str, confidence: float, command: str, home: Path | None = None
) -> Path:
    """``compare.json``, ``plots/`` and ``report.html``; returns the page's path. ``home`` is the folder that the runs'
    folders are relative to, if it is another one."""
    home = (home or folder).resolve()
    groups = [group.relative_to(home) for group in comparison.groups]
    document: Document = {
        "schema": SCHEMA,
        "name": name,
        "command": command,
        "confidence": confidence,
        "statuses": dict(comparison.statuses),
        "directions": dict(comparison.directions),
        "groups": [group.model_dump(mode="json") for group in groups],
        "differences": [difference.as_json() for difference in comparison.differences],
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "compare.json", document)
    drawn = [plots.intervals(comparison.differences, confidence), *_over_time(comparison.groups)]
    said = {*words_of(comparison.statuses, comparison.directions).values(), NOT_SHOWN}
    return write_html(
        folder,
        _TEMPLATES,
        "compare.html.j2",
        [plot for plot in drawn if plot is not None],
        document=document,
        comparison=comparison,
        groups=groups,
        facts=differing_facts(groups),
        lines=lines(comparison),
        banner=next((word, colour) for word, colour in _COLOURS.items() if word in said),
        changed_checks={group.name: changed_checks(groups[0], group) for group in groups[1:]},
        figure_of=figure_of,
        mean=mean,
        with_interval=with_interval,
    )


def _over_time(groups: Sequence[Group]) -> list[Plot]:
    """Over one time axis only where the setting is one and the same."""
    cases = {case for group in groups for case in group.cases}
    one_each = all(len(group.cases) == 1 for group in groups)
    return plots.over_time(groups) if len(cases) == 1 or one_each else []


def words_of(statuses: Mapping[str, str], directions: Mapping[str, str]) -> dict[str, str]:
    """By group: the direction, or ``failed`` or ``untrusted``."""
    return {name: direction or _IN_WORDS[Status(statuses[name])] for name, direction in directions.items()}


def lines(comparison: Comparison) -> list[str]:
    """The last lines, one per group: the word, the groups and what is behind it."""
    base, told = comparison.groups[0].name, []
    for group, word in words_of(comparison.statuses, comparison.directions).items():
        moved = [d for d in comparison.of_group(group) if d.direction in ("better", "worse")]
        parts = [
            f"{d.figure}{f' of {d.case}' if d.case else ''} {change(d)}{f' {d.direction}' if word == 'mixed' else ''}"
            for d in sorted(moved, key=lambda d: d.direction != "worse")
        ]
        rest = f" and {len(parts) - 4} more" if len(parts) > 4 else ""
        told.append(f"{word.upper()} {group} against {base}" + (f": {', '.join(parts[:4])}{rest}" if parts else ""))
    return told


def print_screen(comparison: Comparison, console: Console) -> None:
    """Everything that a decision needs, on one screen."""

    def say(text: str) -> None:
        console.print(f"  {text}", highlight=False, markup=False)

    base, *others = comparison.groups
    for name, values in differing_facts(comparison.groups):
        say(f"{name:<10} {'  |  '.join(values)}")
    for group in comparison.groups:
        left_out = len(group.runs) - len(group.trusted)
        if left_out:
            console.print(f"  {group.name}: {left_out} of {len(group.runs)} runs are untrusted and left out")
        for why in dict.fromkeys(run.without_figures for run in group.runs if run.without_figures):
            say(f"{group.name}: without figures: {why}")
    for group in others:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("figure", no_wrap=True)
        heads = [f"{one.name} (n={len(one.trusted)})".replace("[", r"\[") for one in (base, group)]
        for head in (*heads, "difference", "verdict"):
            table.add_column(head, justify="left" if head == "verdict" else "right", overflow="fold")
        for d in _on_screen(comparison.of_group(group.name)):
            colour = {"better": "green", "worse": "red"}.get(d.direction, "")
            said = f"[{colour}]{d.direction}[/]" if colour else d.direction
            table.add_row(f"{d.case} {d.figure}".strip(), mean(d.base), mean(d.new), with_interval(d), said)
        console.print(table)
        if of_one := cases_of_one(base, group):
            say(f"in one of the two only, and left out: {', '.join(of_one)}")
        for text in changed_checks(base, group):
            say(text)


def _on_screen(found: Sequence[Difference]) -> list[Difference]:
    """Those that fit on one screen: of what checks measured, those where something was shown."""
    mine = [d for d in found if d.direction != NOT_SHOWN or not is_of_check(d.figure)]
    if len({d.case for d in mine}) < MANY_CASES:
        return mine
    first = {d.case: d for d in reversed(mine)}
    return [d for d in mine if d.direction != NOT_SHOWN or d is first[d.case]]


def mean(sample: Sample) -> str:
    """``1.093``, or ``>12.1 (never in 3 of 10)``."""
    text = f"{sample.mean:.4g}"
    return f">{text} (never: {sample.never}/{sample.n})" if sample.never else text


def change(d: Difference) -> str:
    """``+2.4%``, or the bare difference where the first group's mean is 0."""
    return f"{d.difference:+.3g}" if d.relative is None else f"{d.relative:+.1%}"


def with_interval(d: Difference) -> str:
    """``+2.4% (+2.1…+2.7)``; the interval is missing where there are too few runs."""
    if d.low is None or d.high is None:
        return change(d)
    if not d.low and not d.difference and not d.high:
        return "0"
    if d.relative is None:
        return f"{change(d)} ({d.low:+.3g}…{d.high:+.3g})"
    low, high = (100 * x / abs(d.base.mean) for x in (d.low, d.high))
    return f"{change(d)} ({low:+.1f}…{high:+.1f})"
