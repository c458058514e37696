"""Lines that are read together give what they give one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from testbed.errors import BadInput
from testbed.series import FromFile, Series, block, file
from testbed.series.block import Block

NAMES = ("a", "b2", "c_s")
LINES = 6

_numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).map(repr),
    st.integers(-(2**63), 2**63 - 1).map("{}i".format),
    st.integers(-999, 999).map(str),
    st.sampled_from(["1e+06", "0.5E3", '"12"', "true", "-0", "00.50", "+1", ".5", "1e999", "0x10", "nan", "12u", ""]),
)
_plain = st.one_of(st.integers(-99, 99).map("{}i".format), st.floats(0, 1).map(repr))
_fields = st.dictionaries(st.sampled_from(NAMES), st.one_of(_plain, _plain, _plain, _numbers), min_size=1)
_rests = st.builds(
    lambda fields, t, end: ",".join(f"{name}={fields[name]}" for name in NAMES if name in fields) + f" {t}{end}",
    _fields,
    st.one_of(st.integers(0, 5), st.integers(10**18, 2**63 - 1)),
    st.sampled_from(["", "", "", "", "", " ", ",a=1i"]),
)


def _series(field: str) -> Series:
    return Series(field, "m", field, "side", field, "")


def _read(path: Path) -> object:
    """All that a file has, or that it is refused."""
    try:
        reader = FromFile(path)
    except BadInput:
        return "refused"
    found = {name: reader.read(_series(name)) for name in NAMES}
    columns = {
        (name, group): (samples.t_ns.tolist(), samples.values.tolist())
        for name, groups in found.items()
        for group, samples in groups.items()
    }
    return columns, reader.count_points(), reader.points()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rests=st.lists(st.tuples(st.sampled_from("xy"), _rests), min_size=1, max_size=4 * LINES))
@example(rests=[("x", f"a=1i,b2=2 {t}") for t in (1, 2, 3)] + [("x", "a=5i 2")])
@example(rests=[("x", "a=1i 1"), ("x", "a=1i,c_s=3,b2=2 2"), ("x", "a=1i,b2=2,c_s=3 3")])
@example(rests=[("x", "a=1i 1"), ("x", "a=2i 2"), ("x", 'a="2" 1')])
def test_together_as_one_by_one(tmp_path: Path, rests: list[tuple[str, str]]) -> None:
    path = tmp_path / "telemetry.lp"
    path.write_text("".join(f"m,side={side} {rest}\n" for side, rest in rests))
    with mock.patch.multiple(file, WORTHWHILE=2, AT_ONCE=LINES):
        together = _read(path)
    with mock.patch.object(file, "WORTHWHILE", 10**9):
        assert together == _read(path)


def test_what_is_missing_stays_missing() -> None:
    block = Block.read(["a=1i,b=0.5 1\n", "a=2i 2\n", "b=-1e-3 3\n"])
    assert block is not None
    assert block.t_ns.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(block.values["a"], [1, 2, np.nan])
    np.testing.assert_array_equal(block.values["b"], [0.5, np.nan, -0.001])


@pytest.mark.parametrize(
    "odd",
    [
        'a="1" 2',  # a text
        "a=1 2",  # no integer, where others are
        "b=1,a=1i 2",  # another order
        "a=1i,,b=1 2",
        "a=1i, 2",
        " 2",
        "a=1i",
        "a=1i 2 3",
        "a=1i,b=1e999 2",
        "a=9223372036854775808i 2",
        "a=1i 9223372036854775808",
    ],
)
def test_an_odd_line_is_left_to_the_parser(odd: str) -> None:
    assert Block.read(["a=1i,b=0.5,c=1 1\n", "a=1i 2\n"]) is not None
    assert Block.read(["a=1i,b=0.5,c=1 1\n", f"{odd}\n"]) is None


def test_many_plain_lines_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.lp"
    path.write_text("".join(f"m,side=x a={t}i,b2=0.5 {t}\n" for t in range(file.AT_ONCE + file.WORTHWHILE + 1)))
    read: Callable[[list[str]], Block | None] = Block.read
    with mock.patch.object(Block, "read", side_effect=read) as seen:
        samples = FromFile(path).read(_series("a"))["x"]
    assert [len(call.args[0]) for call in seen.call_args_list] == [file.AT_ONCE, file.WORTHWHILE]
    np.testing.assert_array_equal(samples.values, np.arange(file.AT_ONCE + file.WORTHWHILE + 1))


@pytest.mark.parametrize("pattern", [block.FIELD, block._pattern((("a", True), ("b", False)))])
def test_its_patterns_are_those_of_the_oldest_python(pattern: re.Pattern[str]) -> None:
    possessive_or_atomic = re.compile(r"[+*?}]\+|\(\?>")  # neither of which Python 3.10 knows
    assert not possessive_or_atomic.search(pattern.pattern)
