"""What samples cover of a judged time: at its limits, which fall between two samples, and short of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from testbed.judge.checks.evidence import Coverage, cover
from tests.checks.in_memory import at, evidence_of, small_plan, ticks
from tests.said import Saying

EVERY_S = 0.125
"""Between samples: a number that has no rounding."""


def covered(times: Sequence[Sequence[float]], from_s: float, to_s: float, least_s: float, quick: bool) -> Coverage:
    samples = {str(index): at(t, [1.0] * len(t)) for index, t in enumerate(times, 1)}
    plan = small_plan(telemetry={"interval_ms": 1000 * EVERY_S}, **({"quick": True} if quick else {}))
    evidence = evidence_of(plan, {"rtt_ms": samples}, end_s=None)
    return cover(evidence, evidence.samples("rtt_ms", "s1"), from_s, to_s, least_s)


def until(to_s: float) -> list[float]:
    """A sample in every interval, and one at that very time."""
    return sorted({*ticks(to_s - EVERY_S, EVERY_S), to_s})


WHOLE = until(8.0)
ASKED = {"from_s": 1, "to_s": 4}


def ends_early(end_s: float) -> Saying:
    return Saying("coverage.ends-early", end_s=end_s, **ASKED)


def too_short(covered_s: float) -> Saying:
    return Saying("coverage.too-short", covered_s=covered_s, at_least_s=2.0, **ASKED)


def few(connection: str, samples: int) -> Saying:
    return Saying("coverage.too-few-samples", connection=connection, samples=samples, promised=24)


def gap(to_s: float, why: Any, shortened: bool = False) -> Coverage:
    return Coverage(1, to_s, why, shortened)


@pytest.mark.parametrize(
    ("times", "from_s", "to_s", "quick", "found"),
    [
        ([WHOLE, WHOLE], 1, 4, False, Coverage(1, 4)),
        ([until(3.8125), WHOLE], 1, 4, False, Coverage(1, 3.8125)),
        ([WHOLE, until(3.75)], 1, 4, False, gap(3.75, ends_early(3.75), True)),
        ([WHOLE, until(3.75)], 1, 4, True, Coverage(1, 3.75, shortened=True)),
        ([WHOLE, until(2.8125)], 1, 4, True, Coverage(1, 2.8125, shortened=True)),
        ([WHOLE, until(2.75)], 1, 4, True, gap(2.75, too_short(1.75), True)),
        ([WHOLE, []], 1, 4, False, gap(1, ends_early(0.0), True)),
        ([WHOLE, []], 1, 4, True, gap(1, too_short(0.0), True)),
        # A complete quick run need not be as long as the least: it was asked for less.
        ([WHOLE, WHOLE], 1, 2, True, Coverage(1, 2)),
        # Of three seconds there are 24 samples and the one at their start; half of them are enough.
        ([WHOLE, [*ticks(1.0, EVERY_S), *until(4.0)[20:]]], 1, 4, False, Coverage(1, 4)),
        ([WHOLE, [*ticks(0.9, EVERY_S), *until(4.0)[21:]]], 1, 4, False, gap(4, few("2", 11))),
        ([[0.5, 4.0], WHOLE], 1, 4, False, gap(4, few("1", 1))),
        ([WHOLE, [*until(3.0), 9.0]], 3.5, 3.6, False, Coverage(3.5, 3.6)),
    ],
)
def test_what_is_covered(times: list[list[float]], from_s: float, to_s: float, quick: bool, found: Coverage) -> None:
    assert covered(times, from_s, to_s, 2.0, quick) == found


def test_half_of_the_samples_are_enough_and_one_less_is_not() -> None:
    whole = ticks(4.0, EVERY_S, 1.0)
    assert len(whole) == 24
    assert covered([[*whole[:11], whole[-1]]], 1, 4, 2.0, False).gap is None
    assert covered([[*whole[:10], whole[-1]]], 1, 4, 2.0, False).gap == few("1", 11)
