"""What tables and alerts say of a check: measured, expected, unit, and the one in parts of the other."""

from typing import Any

import pytest

from testbed.judge.checks import derived
from testbed.judge.checks.result import CheckResult


def result(judge: str, **values: Any) -> CheckResult:
    return CheckResult(name="c", judge=judge, status="fail", reason="", **values)


@pytest.mark.parametrize(
    ("check", "asked", "measured", "expected", "unit", "part"),
    [
        (
            result("follows_law", measured=0.045, expected=0.0, tolerance=0.03),
            {},
            "0.045",
            "0 ± 0.03",
            "of the window",
            1.5,
        ),
        (result("ratio", measured=4.0, expected="7 to 9"), {"min": 7.0, "max": 9.0}, "4", "7 to 9", "", 0.5),
        (
            result("settles", measured="never", expected="at most 12 s"),
            {"within_s": 12.0, "tolerance": 0.2},
            "never",
            "at most 12 s, within ± 20% of the ratio",
            "s",
            None,
        ),
        (
            result("settles", measured=6.0, expected="at most 12 s"),
            {"within_s": 12.0, "tolerance": 0.2},
            "6",
            "at most 12 s, within ± 20% of the ratio",
            "s",
            0.5,
        ),
        (
            result("level", measured=128.0, expected="256 to 256"),
            {"series": "window_packets", "min": 256.0, "max": 256.0},
            "128",
            "256 to 256",
            "packets",
            0.5,
        ),
        (
            result("goodput", measured=0.9, expected="at least 0.8"),
            {"min": 0.8},
            "0.9",
            "at least 0.8",
            "of what the links carry",
            1.125,
        ),
        (
            result("payload_intact", measured=1048576, expected=2097152, tolerance=0.0),
            {},
            "1,048,576",
            "2,097,152",
            "bytes",
            0.5,
        ),
        (result("points_stored"), {}, "nothing", "to be judged", "points", None),
    ],
)
def test_a_check_in_words_and_in_parts(check, asked, measured, expected, unit, part):
    assert derived.measured_in_words(check) == measured
    assert derived.expected_in_words(check, asked) == expected
    assert derived.unit_of(check, asked) == unit
    assert derived.part_of_expected(check, asked) == (part if part is None else pytest.approx(part))
