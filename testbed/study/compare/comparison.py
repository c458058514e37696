"""Groups that were compared: the word for each, ``compare.json``, the page, and what the terminal shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from typing_extensions import TypedDict

from testbed.documents import entry_of
from testbed.judge.status import Status, of_direction, verdict_of
from testbed.results.report.plot import Plot
from testbed.study.compare import plots, result
from testbed.study.compare.difference import NOT_SHOWN, Difference, Sample, alone, by_group, conclusion
from testbed.study.compare.facts import changed_checks, differing, facts_of
from testbed.study.compare.figures import figure_of, is_of_check
from testbed.study.compare.groups import Group

SCHEMA: Literal[2] = 2
"""Of ``compare.json``: since 2 a direction and a status stand where one word stood for both."""
_IN_WORDS: Mapping[Status, str] = {Status.FAIL: "failed", Status.UNTRUSTED: "untrusted"}
"""A group without a direction."""
MANY_CASES = 3
"""From so many settings on only the first figure is shown of each, and others where something was shown of them."""


class RunEntry(TypedDict):
    """A run in ``compare.json``; ``folder`` is relative where it is inside the comparison's."""

    folder: str
    case: str
    seed: int
    trusted: bool
    standing: Status
    figures: dict[str, float]
    never: list[str]
    without_figures: str


class GroupEntry(TypedDict):
    """A group in ``compare.json``."""

    name: str
    facts: dict[str, str]
    missing: int
    runs: list[RunEntry]


class Document(TypedDict):
    """``compare.json``."""

    schema: Literal[2]
    name: str
    command: str
    confidence: float
    statuses: dict[str, Status]
    directions: dict[str, str]
    """By group; empty where the runs of one prove nothing, or failed."""
    groups: list[GroupEntry]
    differences: list[Annotated[dict[str, Any], entry_of(Difference, relative=float | None, status=Status)]]


@dataclass(frozen=True)
class Comparison:
    """What was compared and what came out; the first group is what the others are compared with."""

    name: str
    groups: list[Group]
    differences: list[Difference]
    confidence: float
    command: str

    @property
    def of_runs(self) -> dict[str, Status]:
        """By group: ``fail`` where a run of it or of the first group broke down, is missing or failed a fact,
        ``untrusted`` where one can't be trusted."""
        return {group.name: verdict_of([self.groups[0].standing, group.standing]) for group in self.groups[1:]}

    @property
    def directions(self) -> dict[str, str]:
        """By group: ``better``, ``worse``, ``mixed`` or ``no difference shown``; empty where its runs do not pass."""
        found = by_group(self.differences)
        return {
            name: conclusion(found.get(name, [])) if status == Status.PASS else ""
            for name, status in self.of_runs.items()
        }

    @property
    def statuses(self) -> dict[str, Status]:
        """By group: that of its runs, else what the direction is worth."""
        directions = self.directions
        return {
            name: of_direction(directions[name]) if directions[name] else status
            for name, status in self.of_runs.items()
        }

    @property
    def words(self) -> dict[str, str]:
        """By group: the direction, or ``failed`` or ``untrusted``."""
        return words_of(self.statuses, self.directions)

    def shown(self, group: str) -> list[Difference]:
        """A group's differences that fit on one screen: of what checks measured, those where something was shown."""
        found = by_group(self.differences).get(group, [])
        mine = [d for d in found if d.direction != NOT_SHOWN or not is_of_check(d.figure)]
        if len({d.case for d in mine}) < MANY_CASES:
            return mine
        first = {d.case: d for d in reversed(mine)}
        return [d for d in mine if d.direction != NOT_SHOWN or d is first[d.case]]


def words_of(statuses: Mapping[str, str], directions: Mapping[str, str]) -> dict[str, str]:
    """By group: the direction, or ``failed`` or ``untrusted``."""
    return {name: direction or _IN_WORDS[Status(statuses[name])] for name, direction in directions.items()}


def lines(comparison: Comparison) -> list[str]:
    """The last lines, one per group: the word, the groups and what is behind it."""
    base, found = comparison.groups[0].name, by_group(comparison.differences)
    told = []
    for group, word in comparison.words.items():
        moved = [d for d in found.get(group, []) if d.direction in ("better", "worse")]
        parts = [
            f"{d.figure}{f' of {d.case}' if d.case else ''} {change(d)}{f' {d.direction}' if word == 'mixed' else ''}"
            for d in sorted(moved, key=lambda d: d.direction != "worse")
        ]
        rest = f" and {len(parts) - 4} more" if len(parts) > 4 else ""
        told.append(f"{word.upper()} {group} against {base}" + (f": {', '.join(parts[:4])}{rest}" if parts else ""))
    return told


def print_screen(comparison: Comparison, console: Console) -> None:
    """Everything that a decision needs, on one screen."""
    for name, values in differing(comparison.groups):
        console.print(f"  {name:<10} {'  |  '.join(values)}", highlight=False, markup=False)
    for group in comparison.groups:
        left_out = len(group.runs) - len(group.trusted)
        if left_out:
            console.print(f"  {group.name}: {left_out} of {len(group.runs)} runs are untrusted and left out")
        for why in dict.fromkeys(run.measured.why_none for run in group.runs if run.measured.why_none):
            console.print(f"  {group.name}: without figures: {why}", highlight=False, markup=False)
    base = comparison.groups[0]
    for group in comparison.groups[1:]:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("figure", no_wrap=True)
        for head in (_head(base), _head(group), "difference", "verdict"):
            table.add_column(head, justify="left" if head == "verdict" else "right", overflow="fold")
        for d in comparison.shown(group.name):
            colour = {"better": "green", "worse": "red"}.get(d.direction, "")
            table.add_row(
                f"{d.case + ' ' if d.case else ''}{d.figure}",
                mean(d.base),
                mean(d.new),
                with_interval(d),
                f"[{colour}]{d.direction}[/]" if colour else d.direction,
            )
        console.print(table)
        if not_in_both := alone(base, group):
            console.print(
                f"  in one of the two only, and left out: {', '.join(not_in_both)}", highlight=False, markup=False
            )
        for text in changed_checks(base, group):
            console.print(f"  {text}", highlight=False, markup=False)


def _head(group: Group) -> str:
    return f"{group.name} (n={len(group.trusted)})".replace("[", r"\[")


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


def write(folder: Path, comparison: Comparison, home: Path | None = None) -> Path:
    """``compare.json``, ``plots/`` and ``report.html``; returns the page's path. ``home`` is the folder that the runs'
    places are told from, if it is another one."""
    document: Document = {
        "schema": SCHEMA,
        "name": comparison.name,
        "command": comparison.command,
        "confidence": comparison.confidence,
        "statuses": comparison.statuses,
        "directions": comparison.directions,
        "groups": [_group_json(group, home or folder) for group in comparison.groups],
        "differences": [difference.as_json() for difference in comparison.differences],
    }
    base, *others = comparison.groups
    drawn = [plots.intervals(comparison.differences, comparison.confidence), *_over_time(comparison.groups)]
    return result.write(
        folder,
        "compare",
        document,
        [plot for plot in drawn if plot is not None],
        comparison=comparison,
        base=base,
        by_group=by_group(comparison.differences),
        facts=differing(comparison.groups),
        lines=lines(comparison),
        banner=_banner(comparison),
        changed_checks={group.name: changed_checks(base, group) for group in others},
        figure_of=figure_of,
        place_of=lambda run: _place(run, home or folder),
        mean=mean,
        with_interval=with_interval,
    )


def _over_time(groups: Sequence[Group]) -> list[Plot]:
    """Over one time axis only where the setting is one and the same."""
    cases = {case for group in groups for case in group.cases}
    one_each = all(len(group.cases) == 1 for group in groups)
    return plots.over_time(groups) if len(cases) == 1 or one_each else []


def _group_json(group: Group, folder: Path) -> GroupEntry:
    return {
        "name": group.name,
        "facts": facts_of(group),
        "missing": group.missing,
        "runs": [
            {
                "folder": _place(run.folder, folder),
                "case": run.case,
                "seed": run.seed,
                "trusted": run.trusted,
                "standing": run.standing,
                "figures": run.measured.values,
                "never": sorted(run.measured.never),
                "without_figures": run.measured.why_none,
            }
            for run in group.runs
        ],
    }


def _place(run: Path, folder: Path) -> str:
    """Relative where it is inside, so that the folder may be moved."""
    inside = run.resolve().is_relative_to(folder.resolve())
    return str(run.resolve().relative_to(folder.resolve()) if inside else run.resolve())


def _banner(comparison: Comparison) -> tuple[str, str]:
    """The word of the page, and its colour's class."""
    words = set(comparison.words.values())
    for word, colour in (
        ("failed", Status.FAIL),
        ("worse", Status.FAIL),
        ("mixed", Status.UNTRUSTED),
        ("untrusted", Status.UNTRUSTED),
        ("better", Status.PASS),
    ):
        if word in words:
            return word, colour
    return NOT_SHOWN, "neutral"
