"""The picture of differences: its axis can be read whatever their size, and every mark is inside."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from testbed.study.checks.better import Group, judge
from testbed.study.report.plots import differences
from tests.compare.test_words import run

FIGURES = ("goodput_mib_s", "settled_s", "rtt_ms", "resent_share")
LETTER_PX = 6.1
"""Width of a figure in DejaVu Sans at 9.5 px."""


def drawing(changes: tuple[float, ...]) -> str:
    """The SVG of groups with these changes, in parts, each of whose runs scatter by a twentieth of the least."""
    rng, least, by = np.random.default_rng(1), min(map(abs, changes)), dict(zip(FIGURES, changes, strict=True))
    groups = [
        Group.of(
            name,
            [
                run({f: 50 * (1 + of * place) * (1 + rng.normal(0, least / 20)) for f, of in by.items()}, n)
                for n in range(4)
            ],
        )
        for place, name in enumerate(("base", "new"))
    ]
    (plot,) = differences(judge(groups, 0.95).differences, 0.95)
    return plot.svg


def ticks_of(svg: str) -> list[tuple[float, str]]:
    """Place and text of each label of the axis."""
    found = re.findall(r'text-anchor: middle[^>]*? x="([\d.]+)"[^>]*>([^<]+)</text>', svg)
    return [(float(x), text) for x, text in found if re.fullmatch(r"[+−]?[\d.e+]+", text)]


@pytest.mark.parametrize(
    "changes",
    [
        (0.00001, -0.00002, 0.000005, 0.00001),
        (0.001, -0.0008, 0.0005, 0.002),
        (0.03, -0.2, 0.005, 0.1),
        (0.001, -0.9, 4, 50),
        (20, -0.9, 0.5, 900),
        (1e6, -0.9999, 1e3, 5),
    ],
)
def test_labels_stand_apart_and_are_enough_to_read_a_size(changes: tuple[float, ...]) -> None:
    ticks = ticks_of(drawing(changes))
    texts = [text for _, text in ticks]
    assert "0" in texts
    assert 4 <= len(set(texts)) == len(texts) <= 12
    for (left, one), (right, other) in pairwise(ticks):
        assert right - left > LETTER_PX * (len(one) + len(other)) / 2 + 4, texts
    # At least one on the side of the largest change, and of its order.
    largest = 100 * max(changes, key=abs)
    beside = [abs(float(text.replace("−", "-"))) for text in texts if (text[0] == "−") == (largest < 0)]
    assert abs(largest) / 100 <= max(beside) <= 3 * abs(largest)


def test_marks_lie_inside_the_axes() -> None:
    for changes in ((0.001, -0.9, 4, 50), (20, -0.9, 0.5, 900), (0.03, -0.2, 0.005, 0.1)):
        svg = drawing(changes)
        frame = re.search(r'id="[^"]*patch_2".*?d="M ([\d.]+) [\d.]+\s*L ([\d.]+)', svg, re.DOTALL)
        assert frame
        marks = [float(x) for x in re.findall(r'<g clip-path[^>]*>\s*<use [^>]*?x="([\d.]+)"', svg)]
        assert len(marks) == len(FIGURES)
        assert all(float(frame[1]) + 3 < x < float(frame[2]) - 3 for x in marks), marks
