"""What is expected of an error holds, or the test that expects it fails."""

from pathlib import Path
from typing import Any

import pytest

from testbed.errors import BadInput, CannotRun
from testbed.message import Lines, Message
from tests.raises import Containing, Said, raises

WRONG = Message("link.too-slow", "a.yaml: l1 has 8 bit/s", file=Path("a.yaml"))


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "expected",
    [
        Said("link.too-slow"),
        Said("link.too-slow", link="l1", rate_bps=8),
        Said("link.too-slow", file="a.yaml"),
        Said("link.too-slow", file=Containing(".yaml")),
    ],
)
def test_code_and_some_values_are_enough(expected: Said) -> None:
    expected.check(WRONG)
    several = Message("input.mistakes", "two mistakes", mistakes=Lines([Message("input.missing", "x"), WRONG]))
    for said in (WRONG.at("b.yaml"), several):
        with raises(BadInput, expected):
            fail(BadInput.of(said))


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        (Said("link.too-fast"), "the code is link.too-slow, not link.too-fast"),
        (Said("link.too-slow", link="l2"), "link is not 'l2'"),
        (Said("link.too-slow", rate_bps=9), "rate_bps is not 9"),
        (Said("link.too-slow", file=Containing("z")), "file is not"),
        (Said("link.too-slow", queue=3), "queue is not 3"),
        (Said("link.too-slow", link="l"), "link is not 'l'"),
        (Said("link.too-slow", rate_bps=-8), "rate_bps is not -8"),
        (Said("link.too-slow", rate_bps=8, queue=8), "queue is not 8"),
        (Said("link.too-slow", place="l1"), "place is not 'l1'"),
    ],
)
def test_another_code_or_value_fails(expected: Said, why: str) -> None:
    with pytest.raises(AssertionError, match=why), raises(BadInput, expected):
        fail(BadInput.of(WRONG))


@pytest.mark.parametrize("error", [ValueError("link.too-slow"), CannotRun.of(WRONG)])
def test_another_class_fails(error: Any) -> None:
    with pytest.raises(type(error)), raises(BadInput, "link.too-slow"):
        fail(error)
    with pytest.raises(AssertionError, match="has no code"):
        Said("link.too-slow").check(ValueError("link.too-slow"))
