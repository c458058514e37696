"""Texts of studies on a terminal: a comparison's tables and lines, and the table of claims."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.plan.engines import DEFAULT, ENGINES
from testbed.study.checks.better import CHANGED, NOT_SHOWN, Comparison, Difference, Sample, is_of_check
from testbed.study.checks.claims import Judged

MOST_NAMED = 4
"""Most figures that a line names."""
MANY_CASES = 3
"""Number of settings from which on only the first figure is shown of each, and others where a difference was shown."""


def words_of(statuses: Mapping[str, str], directions: Mapping[str, str]) -> dict[str, str]:
    """Words by group: the direction, or ``failed`` or ``untrusted``."""
    return {name: direction or statuses[name].replace("fail", "failed") for name, direction in directions.items()}


def comparison_lines(comparison: Comparison) -> list[str]:
    """The last lines, one per group: the word, the requested figures behind it, and others that got worse or better,
    which do not decide."""
    base, reported = comparison.groups[0].name, []
    for group, word in words_of(comparison.statuses, comparison.directions).items():
        found = sorted(comparison.of_group(group), key=lambda d: d.direction != "worse")
        requested = [d for d in found if d.requested]
        changed = [d for d in requested if d.direction != NOT_SHOWN] or requested
        line = f"{word.upper()} {group} against {base}" + (f": {_named(changed, word)}" if changed else "")
        for also in reversed(CHANGED):
            others = [d for d in found if not d.requested and d.direction == also]
            line += f"; also {also}: {_named(others, also)}" if others else ""
        reported.append(line)
    return reported


def _named(found: Sequence[Difference], word: str) -> str:
    """The first of some differences, each with its direction where that is not the word, or with what would have been
    seen."""
    parts = [
        f"{d.figure}{f' of {d.case}' if d.case else ''} {with_interval(d)}"
        + (f" ({sees(d)})" if d.direction == NOT_SHOWN else f" {d.direction}" if d.direction != word else "")
        for d in found
    ]
    return ", ".join(parts[:MOST_NAMED]) + (f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else "")


def sees(d: Difference) -> str:
    """``3.1% would have been seen``."""
    if isinstance(d.sees, str):
        few = "too few runs" if d.low is None else "all runs alike"
        return "exact" if d.sees == "exact" else f"{few}: what would have been seen is unknown"
    return f"{_percent(d.sees)}% would have been seen" if d.scale == "log" else f"{d.sees:.3g} would have been seen"


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Everything that a decision needs, on one screen."""

    def say(text: str) -> None:
        console.print(f"  {text}")

    base, *others = comparison.groups
    for name, values in comparison.differing_facts:
        say(f"{name:<10} {'  |  '.join(values)}")
    for group in comparison.groups:
        if left_out := len(group.runs) - len(group.trusted):
            say(f"{group.name}: {left_out} of {len(group.runs)} runs are untrusted and left out")
        for why in dict.fromkeys(run.without_figures for run in group.runs if run.without_figures):
            say(f"{group.name}: without figures: {why}")
    for group in others:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        table.add_column("figure", no_wrap=True)
        heads = [f"{one.name} (n={len(one.trusted)})" for one in (base, group)]
        for head in (*heads, "difference", "verdict"):
            table.add_column(head, justify="left" if head == "verdict" else "right", overflow="fold")
        for d in _on_screen(comparison.of_group(group.name)):
            colour = {"better": "green", "worse": "red"}.get(d.direction, "")
            said = Text(f"{d.direction}; {sees(d)}" if d.direction == NOT_SHOWN else d.direction, colour)
            table.add_row(f"{d.case} {d.figure}".strip(), mean(d.base), mean(d.new), with_interval(d), said)
        console.print(table)
        if of_one := group.cases_of_one(base):
            say(f"in one of the two only, and left out: {', '.join(of_one)}")
        for text in group.changed_checks(base):
            say(text)


def _on_screen(found: Sequence[Difference]) -> list[Difference]:
    """Differences that fit on one screen: of figures from checks, those where a difference was shown."""
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
    """``+2.4%``, or the bare difference on a linear scale."""
    return f"{d.difference:+.3g}" if d.scale == "linear" or d.relative is None else f"{d.relative:+.1%}"


def with_interval(d: Difference) -> str:
    """``+2.4% [+2.1, +2.7]``; the interval is missing where there are too few runs, and without chance."""
    if d.low is None or d.high is None or (d.sees == "exact" and d.difference):
        return change(d)
    if not d.low and not d.difference and not d.high:
        return "0"
    if d.scale == "linear":
        return f"{change(d)} [{d.low:+.3g}, {d.high:+.3g}]"
    low, high = (_percent(x / abs(d.base.mean), "+") for x in (d.low, d.high))
    return f"{change(d)} [{low}, {high}]"


def _percent(part: float, sign: str = "") -> str:
    """A part in percent, with one decimal; two digits of what would be long."""
    return f"{100 * part:{sign}.1f}" if abs(part) < 100 else f"{100 * part:{sign}.2g}"


def claims_lines(claims: Sequence[Judged], engine: str) -> list[str]:
    """The claims as a table, with what other engines measured before what ``engine`` did. Long texts are cut."""
    others = list(dict.fromkeys(other for claim in claims for other in claim.beside))
    columns = [("claim", 34), ("published", 26), ("expected", 34)]
    columns += [column for other in others for column in ((ENGINES[other].title, 30), ("verdict", 16))]
    columns += [(ENGINES[engine].title, 30) if others else ("measured", 44), ("N", 7), ("verdict", 21)]
    columns += [(f"from {ENGINES[other].title}", 28) for other in others]
    rows = [[head for head, _ in columns], *(_row(claim, others) for claim in claims)]
    widths = [min(limit, max(len(row[i]) for row in rows)) for i, (_, limit) in enumerate(columns)]
    lines = []
    for row in rows:
        cells = [f"{_cut(text, width):<{width}}" for text, width in zip(row, widths, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    lines += [f"  {one.id} can't be decided here: {one.undecidable}" for one in claims if one.is_undecidable]
    if others or engine != DEFAULT:
        lines += [f"  {ENGINES[name].title}: {ENGINES[name].model}" for name in (*others, engine)]
    return lines


def _row(claim: Judged, others: Sequence[str]) -> list[str]:
    there = [claim.beside.get(other, {}) for other in others]
    word = claim.verdict + ("" if claim.as_known is not False else " (!)")
    if claim.counted_as in ("xfail", "xpass"):
        word = f"{claim.verdict} ({claim.counted_as})"
    if claim.is_measured or claim.is_undecidable:
        word = "measured" if claim.is_measured else "can't be decided"
    row = [claim.id, claim.published, claim.expected]
    row += [text for found in there for text in (found.get("measured") or "–", found.get("verdict", ""))]
    return [*row, claim.measured or "–", claim.n_told, word, *(found.get("difference", "") for found in there)]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
