"""Both readers give the same series, on a real database."""

from __future__ import annotations

import itertools
import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from influxdb.line_protocol import make_lines

from testbed.errors import BadInput
from testbed.judge.checks import Trust
from testbed.judge.checks.derived import derived_lines
from testbed.judge.judge import judge
from testbed.series import CATALOGUE, FromFile, Series, named
from testbed.series.influxql import select_dashboard, select_run
from testbed.series.reader import start_of
from testbed.services.influx.reader import FromInflux
from tests.checks.generate import START_NS, make_plan, telemetry
from tests.raises import Containing, Said, raises

_runs = itertools.count()

# Anything that a tag may hold in line protocol; backslashes have tests of their own.
_tag_text = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\\"),
    min_size=1,
    max_size=8,
).filter(lambda text: text.strip() == text)
_times = st.integers(START_NS, START_NS + 10**10)
# Subnormal numbers (below 2.3e-308) are not read by line-protocol-parser; nothing here measures such.
_floats = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
_points = st.lists(
    st.tuples(_tag_text, st.sampled_from(["sender", "receiver"]), _times, _floats, st.integers(-(2**63), 2**63 - 1)),
    min_size=1,
    max_size=12,
    unique_by=lambda point: (point[0], point[1], point[2]),
)


def _assert_same(a, b) -> None:
    assert list(a) == list(b)
    for group in a:
        np.testing.assert_array_equal(a[group].t_ns, b[group].t_ns)
        np.testing.assert_array_equal(a[group].values, b[group].values)


def _both(influx, tmp_path, run: str, lines: str):
    path = tmp_path / f"{run}.lp"
    path.write_text(lines, encoding="utf-8")
    influx.write(lines.splitlines())
    return FromFile(path), FromInflux(influx, run)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(points=_points)
def test_any_points_read_alike(influx, tmp_path, points):
    run = f"any-{next(_runs)}"
    lines = make_lines(
        {
            "points": [
                {
                    "measurement": "odd one",
                    "tags": {"run": run, "a tag": group, "role": role},
                    "fields": {"a float": value, "count": count},
                    "time": time,
                }
                for group, role, time, value, count in points
            ]
        }
    )
    file, database = _both(influx, tmp_path, run, lines)
    for field in ("a float", "count"):
        series = Series("x", "odd one", field, "a tag", "", "", (("role", "sender"),))
        _assert_same(file.read(series), database.read(series))
        everything = Series("x", "odd one", field, "role", "", "")
        read = file.read(everything)
        assert sum(samples.t_ns.size for samples in read.values()) == len(points)
        _assert_same(read, database.read(everything))
        one = points[0][0]
        _assert_same(file.read(everything, {"a tag": one}), database.read(everything, {"a tag": one}))
    assert file.count_points() == database.count_points() == len(points)


@pytest.mark.parametrize("value", [r"back\slash", r"C:\dir", "it's", '"quoted"', "a=b,c d", "ü→é", "'; DROP"])
def test_awkward_tag_values(influx, tmp_path, value):
    run = f"awkward-{next(_runs)}"
    escaped = value.replace(",", r"\,").replace("=", r"\=").replace(" ", r"\ ")
    lines = f"m,run={run},g={escaped} v=1i {START_NS}\nm,run={run},g=other v=2i {START_NS}\n"
    file, database = _both(influx, tmp_path, run, lines)
    series = Series("x", "m", "v", "g", "", "")
    assert list(file.read(series, {"g": value})) == [value]
    _assert_same(file.read(series, {"g": value}), database.read(series, {"g": value}))


def test_a_point_without_the_tag_and_other_runs(influx, tmp_path):
    run = f"missing-{next(_runs)}"
    influx.write([f"m2,run=other,g=a v=9.5 {START_NS}"])
    lines = f'm2,run={run} v=1.25 {START_NS}\nm2,run={run},g=a v=3,text="x" {START_NS + 1}\n'
    file, database = _both(influx, tmp_path, run, lines)
    series = Series("x", "m2", "v", "g", "", "")
    assert list(file.read(series)) == ["", "a"]
    _assert_same(file.read(series), database.read(series))


def test_every_series_and_event_of_a_run(influx, tmp_path):
    plan = make_plan(transfer_mib=4)
    plan["run"] = f"whole-{next(_runs)}"
    lines = "".join(line + "\n" for line in telemetry(plan, noise=0.1))
    file, database = _both(influx, tmp_path, plan["run"], lines)
    for series in CATALOGUE.values():
        _assert_same(file.read(series), database.read(series))
    assert list(file.read(named("window_packets"))) == ["1", "2"]
    assert file.events() == database.events()
    assert start_of(file.events(), "s1") == START_NS
    assert file.count_points() == database.count_points() == lines.count("\n")
    verdicts = [judge(plan, reader, tmp_path, Trust(trusted=True)) for reader in (file, database)]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].checks[0].figures["samples"] > 40


def test_derived_points_reach_the_database_and_are_not_counted(influx, tmp_path):
    plan = make_plan(transfer_mib=4)
    plan["run"] = f"derived-{next(_runs)}"
    lines = telemetry(plan)
    file, database = _both(influx, tmp_path, plan["run"], "".join(line + "\n" for line in lines))
    verdict = judge(plan, file, tmp_path, Trust(trusted=True))
    influx.write(derived_lines(plan, file, verdict).splitlines())
    share, expected, error = (
        database.read(named(name))["1"].values for name in ("window_share", "law_share", "law_error")
    )
    np.testing.assert_allclose(expected + error, share, atol=1e-12)
    assert database.count_points() == len(lines)


def test_a_point_that_overwrites_another_is_missed_in_the_database(influx, tmp_path):
    run = f"twice-{next(_runs)}"
    lines = f"m3,run={run} v=1 {START_NS}\nm3,run={run} v=2 {START_NS}\n"
    file, database = _both(influx, tmp_path, run, lines)
    series = Series("x", "m3", "v", "run", "", "")
    _assert_same(file.read(series), database.read(series))
    assert file.read(series)[run].values.tolist() == [2.0]
    assert (file.count_points(), database.count_points()) == (2, 1)


def test_times_keep_their_nanoseconds(tmp_path):
    path = tmp_path / "t.lp"
    path.write_text(f"m,g=a v=1 {START_NS + 1}\nm,g=a v=2 {START_NS}\n")
    samples = FromFile(path).read(Series("x", "m", "v", "g", "", ""))["a"]
    assert samples.t_ns.tolist() == [START_NS, START_NS + 1]
    assert math.isclose(samples.since(START_NS)[1], 1e-9, rel_tol=1e-12)


def test_a_line_that_begins_as_an_earlier_one_may_have_other_tags(tmp_path):
    path = tmp_path / "t.lp"
    text = r"""
m,g=a\ b v=1 1
m,g=a\ c v=2 2
m,g=a\ b v=3 3
m,g=a v=4 4
m,g=a v=5 5
m,g="a v=6 6
# m,g=a v=7 7
m,h=x,g=a v=8 8
m,g=a,h=x v=9 9
m,g=a v=10,w=1 5
"""
    path.write_text(text)
    reader = FromFile(path)
    found = {group: s.values.tolist() for group, s in reader.read(Series("x", "m", "v", "g", "", "")).items()}
    assert found == {'"a': [6.0], "a": [4.0, 10.0, 8.0, 9.0], "a b": [1.0, 3.0], "a c": [2.0]}
    assert reader.count_points() == 9
    assert [time for time, _, _ in reader.points()["m"]] == [1, 2, 3, 4, 5, 6, 8, 9]
    with pytest.raises(ValueError, match="read-only"):
        reader.read(Series("x", "m", "v", "g", "", ""))["a"].values[0] = 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("m v=1 5\nm v= 6\n", Said("telemetry.bad-line", place=Containing(":2"))),
        ("m v=1\n", Said("telemetry.no-timestamp", place=Containing(":1"))),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, says):
    path = tmp_path / "telemetry.lp"
    path.write_text(text)
    with raises(BadInput, says):
        FromFile(path)


@settings(
    max_examples=int(os.environ.get("NCP_TESTBED_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.binary(max_size=80)
    | st.lists(
        st.sampled_from(
            b'window|,run=r|,| |=|\\|"|x=1|x=1i|x="|1e999|nan|-|1.5|\n|#|\0|\xff|\xc3\xa9| 1700000000000000000'.split(
                b"|"
            )
        ),
        max_size=16,
    ).map(b"".join)
)
def test_any_bytes_are_points_or_a_line_that_is_named(tmp_path, content):
    path = tmp_path / "telemetry.lp"
    path.write_bytes(content)
    try:
        found = FromFile(path)
    except BadInput:
        with pytest.raises(BadInput, match=f"^{path}"):
            FromFile(path)
        return
    assert found.count_points() <= content.count(b"\n") + content.count(b"\r") + 1
    assert all(isinstance(run, str) for run in found.runs())


def test_selects_are_the_ones_written_down():
    series = named("window_share")
    assert select_run(series, "it's") == (
        'SELECT "window_share" FROM "ncp_connection" '
        'WHERE "role" = \'sender\' AND "run" = \'it\\\'s\' GROUP BY "connection"'
    )
    assert select_dashboard(series, ["run"]) == (
        'SELECT mean("window_share") FROM "ncp_connection" '
        'WHERE "role" = \'sender\' AND "run" =~ /^(${run:regex})$/ AND $timeFilter '
        'GROUP BY "connection", time($__interval) fill(none)'
    )
    with pytest.raises(ValueError, match=r"no series 'windows'; did you mean 'window_share'"):
        named("windows")
