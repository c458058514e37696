"""Columns of a file are the values of its points."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from testbed.errors import BadInput
from testbed.series import FromFile, Series

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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rests=st.lists(st.tuples(st.sampled_from("xy"), _rests), min_size=1, max_size=4 * LINES))
@example(rests=[("x", f"a=1i,b2=2 {t}") for t in (1, 2, 3)] + [("x", "a=5i 2")])
@example(rests=[("x", "a=1i 1"), ("x", "a=1i,c_s=3,b2=2 2"), ("x", "a=1i,b2=2,c_s=3 3")])
@example(rests=[("x", "a=1i 1"), ("x", "a=2i 2"), ("x", 'a="2" 1')])
def test_columns_have_the_numbers_of_the_points(tmp_path: Path, rests: list[tuple[str, str]]) -> None:
    path = tmp_path / "telemetry.lp"
    path.write_text("".join(f"m,side={side} {rest}\n" for side, rest in rests))
    try:
        reader = FromFile(path)
    except BadInput:
        return
    points = reader.points()["m"]
    assert reader.count_points() == len(rests) >= len(points)
    for name in NAMES:
        expected: dict[str, list[tuple[int, float]]] = {}
        for t_ns, tags, fields in points:
            if name in fields and not isinstance(fields[name], (str, bool)):
                expected.setdefault(tags["side"], []).append((t_ns, float(fields[name])))
        found = reader.read(Series(name, "m", name, "side", name, ""))
        assert {s: list(zip(x.t_ns.tolist(), x.values.tolist(), strict=True)) for s, x in found.items()} == expected
