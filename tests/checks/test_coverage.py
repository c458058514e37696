"""What samples cover of a judged time: at its limits, which fall between two samples, and short of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from testbed.checks.coverage import Coverage, cover
from tests.checks.in_memory import at, evidence_of, small_plan, ticks

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
ENDS = "1 s to 4 s were asked for"


@pytest.mark.parametrize(
    ("times", "from_s", "to_s", "quick", "found"),
    [
        ([WHOLE, WHOLE], 1, 4, False, Coverage(1, 4)),
        ([until(3.8125), WHOLE], 1, 4, False, Coverage(1, 3.8125)),
        ([WHOLE, until(3.75)], 1, 4, False, Coverage(1, 3.75, f"the samples end at 3.8 s, {ENDS}", True)),
        ([WHOLE, until(3.75)], 1, 4, True, Coverage(1, 3.75, shortened=True)),
        ([WHOLE, until(2.8125)], 1, 4, True, Coverage(1, 2.8125, shortened=True)),
        (
            [WHOLE, until(2.75)],
            1,
            4,
            True,
            Coverage(1, 2.75, f"this quick run covers 1.8 s of it, {ENDS} and 2 s are the least to judge by", True),
        ),
        ([WHOLE, []], 1, 4, False, Coverage(1, 1, f"the samples end at 0.0 s, {ENDS}", True)),
        (
            [WHOLE, []],
            1,
            4,
            True,
            Coverage(1, 1, f"this quick run covers 0.0 s of it, {ENDS} and 2 s are the least to judge by", True),
        ),
        # A complete quick run need not be as long as the least: it was asked for less.
        ([WHOLE, WHOLE], 1, 2, True, Coverage(1, 2)),
        # Of three seconds there are 24 samples and the one at their start; half of them are enough.
        ([WHOLE, [*ticks(1.0, EVERY_S), *until(4.0)[20:]]], 1, 4, False, Coverage(1, 4)),
        (
            [WHOLE, [*ticks(0.9, EVERY_S), *until(4.0)[21:]]],
            1,
            4,
            False,
            Coverage(1, 4, "connection 2 has only 11 of about 24 samples there"),
        ),
        ([[0.5, 4.0], WHOLE], 1, 4, False, Coverage(1, 4, "connection 1 has only 1 of about 24 samples there")),
        ([WHOLE, [*until(3.0), 9.0]], 3.5, 3.6, False, Coverage(3.5, 3.6)),
    ],
)
def test_what_is_covered(times: list[list[float]], from_s: float, to_s: float, quick: bool, found: Coverage) -> None:
    assert covered(times, from_s, to_s, 2.0, quick) == found


def test_half_of_the_samples_are_enough_and_one_less_is_not() -> None:
    whole = ticks(4.0, EVERY_S, 1.0)
    assert len(whole) == 24
    assert covered([[*whole[:11], whole[-1]]], 1, 4, 2.0, False).gap == ""
    assert (
        covered([[*whole[:10], whole[-1]]], 1, 4, 2.0, False).gap
        == "connection 1 has only 11 of about 24 samples there"
    )
