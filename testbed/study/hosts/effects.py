"""Effects of the hosts of a cluster on a table's figures."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from testbed.judge.status import Status

LEVEL = 0.01
"""Level of significance, over all figures together."""
LEAST_N = 3
"""Least number of a host's values of a figure."""

Outcomes = Sequence[Mapping[str, Any]]


class Effect(NamedTuple):
    """Effect on a figure. ``p`` is adjusted for the number of figures; ``shifts`` has, by host, the median of its runs'
    relative distances from the median of their cell."""

    figure: str
    p: float
    shifts: Mapping[str, float]

    @property
    def shows(self) -> bool:
        """Whether it is more than chance."""
        return self.p < LEVEL


def effects(outcomes: Outcomes, figures: Sequence[str]) -> list[Effect]:
    """Test each figure with enough values, by Kruskal and Wallis, adjusted by Benjamini and Hochberg.

    Cells differ by design, so the test compares the distances of runs from their cell's median. A cell whose runs were
    all made by one host has no part in it.
    """
    from scipy import stats  # slow to import; a table of one machine does without

    tested = {figure: groups for figure in figures if len(groups := _distances(outcomes, figure)) > 1}
    alike = {figure for figure, groups in tested.items() if len(set().union(*groups.values())) == 1}
    ps = [1.0 if figure in alike else stats.kruskal(*groups.values()).pvalue for figure, groups in tested.items()]
    return [
        Effect(figure, float(p), {host: statistics.median(values) for host, values in groups.items()})
        for (figure, groups), p in zip(tested.items(), stats.false_discovery_control(ps), strict=True)
    ]


def _distances(outcomes: Outcomes, figure: str) -> dict[str, list[float]]:
    """The distances by host, of hosts with enough."""
    cells = defaultdict[tuple[str, str], list[tuple[str, float]]](list)
    for one in outcomes:
        if one.get("host") and one["verdict"] == Status.PASS and one["figures"].get(figure) is not None:
            cells[one["row"], one["column"]].append((one["host"], one["figures"][figure]))
    found = defaultdict[str, list[float]](list)
    for runs in cells.values():
        median = statistics.median(value for _, value in runs)
        for host, value in runs if median and len({host for host, _ in runs}) > 1 else ():
            found[host].append(value / median - 1)
    return {host: values for host, values in sorted(found.items()) if len(values) >= LEAST_N}


def describe(outcomes: Outcomes, figures: Sequence[str]) -> list[str]:
    """Sentences for the page; none for a table of one machine."""
    runs = Counter(found["host"] for found in outcomes if found.get("host"))
    if not runs:
        return []
    said = [f"Runs by host: {', '.join(f'{host} {count}' for host, count in sorted(runs.items()))}."]
    found = effects(outcomes, figures)
    for one in (one for one in found if one.shows):
        shifts = ", ".join(f"{host} {shift:+.1%}" for host, shift in one.shifts.items())
        said.append(
            f"The host shows in {one.figure} (p = {one.p:.2g}): medians of the distance from the cell's median: "
            f"{shifts}. What is compared between cells may be the hosts' difference."
        )
    if not found:
        said.append(f"Too few runs to tell whether the host matters: it takes {LEAST_N} of two hosts in shared cells.")
    elif not any(one.shows for one in found):
        said.append(f"No effect of the host is shown (smallest p = {min(one.p for one in found):.2g}).")
    return said
