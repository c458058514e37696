"""What two documents or texts differ in, in words; and what of a result folder is read for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.documents import read_json
from testbed.errors import BadInput
from testbed.judge.checks import derived
from testbed.judge.checks.evidence import CannotJudge, Timed, agent_results
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.judge.verify import differences, read_verdict, recorded_database_points, text_differences, verify
from testbed.series import Samples
from tests.checks.generate import make_plan
from tests.checks.in_memory import InMemory, at, event, evidence_of, of_session, small_plan, small_session, ticks
from tests.checks.results import pair
from tests.raises import Containing, Said, raises
from tests.said import Saying


def value(where: str, recorded: Any, again: Any) -> Saying:
    return Saying("difference.value", where=where, recorded=recorded, again=again)


def line(number: int, recorded: str, again: str) -> Saying:
    return Saying("difference.line", where="f", line=number, recorded=recorded, again=again)


@pytest.mark.parametrize(
    ("recorded", "again", "says"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [value("top.a", 1, 2)]),
        ({"a": {"b": "x"}}, {"a": {"b": "y"}}, [value("top.a.b", "x", "y")]),
        ({"a": 1}, {}, [value("top.a", 1, None)]),
        ({}, {"a": 1}, [Saying("difference.not-recorded", where="top.a", again=1)]),
        ({}, {"a": None}, []),
        ({"b": 0, "a": 1}, {"a": 2, "b": 3}, [value("top.b", 0, 3), value("top.a", 1, 2)]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [value("top.a[1]", 2, 3)]),
        ({"a": [1, 2]}, {"a": [1]}, [Saying("difference.entries", where="top.a", recorded=2, again=1)]),
        (
            {"a": [{"name": "n", "v": 1}, {"v": 1}]},
            {"a": [{"name": "m", "v": 2}, {"v": 3}, 7]},
            [
                Saying("difference.entries", where="top.a", recorded=2, again=3),
                value("top.a[n].name", "n", "m"),
                value("top.a[n].v", 1, 2),
                value("top.a[1].v", 1, 3),
            ],
        ),
        ({"a": [1]}, {"a": {"b": 1}}, [value("top.a", [1], {"b": 1})]),
        ({"a": {"b": 1}}, {"a": [1]}, [value("top.a", {"b": 1}, [1])]),
        # A last place of six may fall either way, and so may the tenth digit.
        ({"a": 0.5}, {"a": 0.500002}, []),
        ({"a": 0.5}, {"a": 0.500003}, [value("top.a", 0.5, 0.500003)]),
        ({"a": 9_000_000_000}, {"a": 9_000_000_008.9}, []),
        ({"a": 9_000_000_000}, {"a": 9_000_000_010}, [value("top.a", 9000000000, 9000000010)]),
        ({"a": True}, {"a": 0.9999999}, [value("top.a", True, 0.9999999)]),
        ({"a": 0.9999999}, {"a": True}, [value("top.a", 0.9999999, True)]),
        ({"a": 1}, {"a": "1"}, [value("top.a", 1, "1")]),
        ({"a": None}, {"a": 0}, [value("top.a", None, 0)]),
    ],
)
def test_documents(recorded: Any, again: Any, says: list[Saying]) -> None:
    assert list(differences("top", recorded, again)) == says
    inside = [Saying(one.code, **one.values | {"where": one.values["where"].removeprefix("top.")}) for one in says]
    assert list(differences("", recorded, again)) == inside


LONG = "".join(f"{number:04d} " for number in range(60))


@pytest.mark.parametrize(
    ("recorded", "again", "says"),
    [
        ("a\nb\n", "a\nb\n", []),
        ("a\nb", "a\nb\n", []),
        ("a\nb\n", "a\nc\n", [line(2, "b", "c")]),
        ("a\n", "a\nb\n", [line(2, "", "b")]),
        ("a\nb\n", "a\n", [line(2, "b", "")]),
        ("x 0.5 y", "x 0.500001 y", []),
        ("x 0.5 y", "x 0.51 y", [line(1, "x 0.5 y", "x 0.51 y")]),
        ("x 0.5 y", "x 0.500001 z", [line(1, "x 0.5 y", "x 0.500001 z")]),
        ("0.5 0.1", "0.500001 0.2", [line(1, "0.5 0.1", "0.500001 0.2")]),
        ("-1.5e-7 x", "1.0e-7 x", []),
        ("5", "5.0", [line(1, "5", "5.0")]),
        ("a\n\n", "a\n", [line(2, "", "")]),
        ("a\n", "a\n\n", [line(2, "", "")]),
        ("0.5", "0.5 0.5", [line(1, "0.5", "0.5 0.5")]),
        ("a\nb\nc", "x\ny\nz", [line(n, a, b) for n, a, b in ((1, "a", "x"), (2, "b", "y"), (3, "c", "z"))]),
        (
            "a\nb\nc\nd\ne",
            "v\nw\nx\ny\nz",
            [
                line(1, "a", "v"),
                line(2, "b", "w"),
                line(3, "c", "x"),
                Saying("difference.more-lines", where="f", more=2),
            ],
        ),
        (LONG, LONG.replace("0030", "0O30"), [line(1, LONG[131:211], LONG.replace("0030", "0O30")[131:211])]),
    ],
)
def test_texts(recorded: str, again: str, says: list[Saying]) -> None:
    assert list(text_differences("f", recorded, again)) == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, Said("file.not-in-result")),
        ("{", Said("result.not-json", error=Containing("line 1 column 2"))),
        ("[]", Said("file.not-an-object")),
    ],
)
def test_a_file_that_is_no_document_is_named(tmp_path: Path, text: str | None, says: Said) -> None:
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text)
    with raises(BadInput, says) as raised:
        read_json(path)
    assert str(path) in raised.value.message


def recorded(*checks: CheckResult, **of: Any) -> Verdict:
    trust = Trust(trusted=True)
    known: dict[str, Any] = {"scenario": "s", "run": "r", "verdict": "pass", "summary": "", "trust": trust}
    return Verdict(**known, checks=list(checks), duration_s=None, policy="p", **of)


def points(judge: str, **figures: Any) -> CheckResult:
    return CheckResult(name=judge, judge=judge, status="pass", reason="", figures=figures)


@pytest.mark.parametrize(
    ("checks", "count"),
    [
        ([], None),
        ([points("ratio", database_points=5)], None),
        ([points("points_stored")], None),
        ([points("points_stored", database_points="5")], None),
        ([points("points_stored"), points("points_stored", database_points=7)], 7),
    ],
)
def test_the_database_s_points_are_taken_from_the_record(checks: list[CheckResult], count: int | None) -> None:
    assert recorded_database_points(recorded(*checks)) == count


def test_a_folder_is_judged_by_its_own_data(tmp_path: Path) -> None:
    plan = make_plan() | {"run": "r1", "checks": [{"name": "points", "judge": "points_stored"}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    document = recorded(points("points_stored", database_points=6), points("x")).to_json()
    (tmp_path / "verdict.json").write_text(json.dumps(document))
    reader = InMemory({}, [], "r1")
    trusted = verify(tmp_path, reader)
    assert trusted.trust.trusted
    assert trusted.checks[0].figures == {"file_points": 7, "database_points": 6}
    assert verify(tmp_path, reader, Trust(trusted=False, reasons=["late"])).trust.reasons == ["late"]
    del document["checks"][1]["judge"]
    (tmp_path / "verdict.json").write_text(json.dumps(document))
    with raises(
        BadInput, "verify.bad-check", path=Containing("verdict.json"), where="checks.1.judge", error="Field required"
    ):
        read_verdict(tmp_path)


def test_agents_results_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name, text in (("b.json", '{"role": "ü"}'), ("a.json", "{}"), ("c.txt", "[")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert agent_results(tmp_path) == [{}, {"role": "ü"}]
    assert agent_results(tmp_path / "none") == []
    for text, says in (
        ("{", Said("result.not-json", path=tmp_path / "d.json", error=Containing("line 1 column 2"))),
        ("[]", Said("file.not-an-object", path=tmp_path / "d.json")),
    ):
        (tmp_path / "d.json").write_text(text)
        with raises(BadInput, says):
            agent_results(tmp_path)


def test_samples_are_those_from_the_session_s_start_to_its_end() -> None:
    t = [-0.1, 0.0, 5.0, 10.0, 10.1]
    evidence = evidence_of(small_plan(), {"rtt_ms": {"1": at(t, [1, 2, 3, 4, 5])}})
    found = evidence.samples("rtt_ms", "s1")["1"]
    assert (found.t_s.tolist(), found.values.tolist()) == ([0.0, 5.0, 10.0], [2.0, 3.0, 4.0])
    endless = evidence_of(small_plan(), {"rtt_ms": {"1": at(t, [1, 2, 3, 4, 5])}}, end_s=None)
    assert endless.samples("rtt_ms", "s1")["1"].values.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert endless.end_s("s1") is None
    assert evidence.end_s("s1") == 10.0
    assert evidence.interval_s == 0.1
    twice = [event("transfer_start", 3.0), event("transfer_end", 7.0), event("transfer_end", 1.0, "s0")]
    assert evidence_of(small_plan(), {}, events=twice).end_s("s1") == 7.0


def test_samples_of_some_connections_come_in_the_order_asked() -> None:
    evidence = evidence_of(small_plan(), {**pair("rtt_ms", 1.0, 2.0), "acked": {"1": at([-1.0], [1.0])}})
    assert list(evidence.samples_of("rtt_ms", "s1", ["2", "1"])) == ["2", "1"]
    with pytest.raises(CannotJudge) as none:
        evidence.samples_of("acked", "s1", ["1", "2"])
    assert none.value.said == Saying("samples.none", series="acked", connections="1, 2")
    assert str(none.value) == str(none.value.said)


def test_an_end_s_result_is_found_by_session_and_role() -> None:
    results: list[dict[str, Any]] = [
        {"session": "s2", "role": "sender"},
        {"session": "s1", "role": "receiver"},
        {"session": "s1", "role": "sender", "n": 1},
    ]
    evidence = evidence_of(small_plan(), {}, results=results)
    assert evidence.result_of("s1", "sender") == results[2]
    assert evidence.result_of("s2", "receiver") is None


def test_times_are_nearest_and_between() -> None:
    timed = Timed.of(at([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]), at([0.0], [0]).t_ns[0], None)
    assert timed.between(1.0, 2.0).values.tolist() == [5.0, 6.0]
    assert [timed.nearest(t, 0.5) for t in (0.4, 0.5, 1.4, 2.6, 3.5, 3.6)] == [None, 0, 0, 2, 2, None]
    assert timed.between(8, 9).nearest(8.5, 100) is None
    assert isinstance(Samples.of([], []), Samples)
    assert ticks(0.2) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("judge", "values", "asked", "texts", "part"),
    [
        (
            "goodput",
            {"measured": 0.85},
            {"min": 0.5, "max": 1.2},
            ("0.85", "to be judged", "of what the links carry"),
            1.0,
        ),
        ("ratio", {"measured": 2.0, "expected": 4.0}, {"max": 9}, ("2", "4", ""), 0.5),
        ("ratio", {"measured": 2.0, "expected": 0.0}, {}, ("2", "0", ""), None),
        ("ratio", {"measured": 2.0}, {"max": 4.0}, ("2", "to be judged", ""), 1.0),
        ("ratio", {"measured": 2.0}, {}, ("2", "to be judged", ""), None),
        ("ratio", {"measured": 2.0}, {"min": 0.5}, ("2", "to be judged", ""), 4.0),
        ("ratio", {"measured": 2.0}, {"series": "rtt_ms", "tolerance": 0.1}, ("2", "to be judged", ""), None),
        ("settles", {"measured": 2.0}, {}, ("2", "to be judged", "s"), None),
        (
            "settles",
            {"measured": 2},
            {"within_s": 8, "tolerance": 0.25},
            ("2", "to be judged, within ± 25% of the ratio", "s"),
            0.25,
        ),
        (
            "level",
            {"measured": 1234567, "expected": 12345.678},
            {"series": "rtt_ms"},
            ("1,234,567", "1.235e+04", "ms"),
            99.9999352,
        ),
        ("level", {"measured": 1.0, "expected": 2, "tolerance": 0.0}, {}, ("1", "2", ""), 0.5),
        ("follows_law", {"measured": 0.3, "expected": 0.0, "tolerance": 0.0}, {}, ("0.3", "0", "of the window"), None),
        (
            "fair_share",
            {"measured": 0.9, "expected": "at least 0.9"},
            {"min": 0.9},
            ("0.9", "at least 0.9", "(Jain's index)"),
            1.0,
        ),
        ("each_run", {"measured": "never"}, {"max": 1}, ("never", "to be judged", ""), None),
    ],
)
def test_a_check_at_a_glance(
    judge: str, values: Any, asked: Any, texts: tuple[str, str, str], part: float | None
) -> None:
    check = CheckResult(name="c", judge=judge, status="pass", reason="", **values)
    found = derived.measured_in_words(check), derived.expected_in_words(check, asked), derived.unit_of(check, asked)
    assert found == texts
    assert derived.part_of_expected(check, asked) == (None if part is None else pytest.approx(part))


def test_a_sessions_samples_end_with_it_though_another_goes_on() -> None:
    plan = small_plan(sessions=[small_session(), small_session("s2")])
    shares: Any = {("window_share", of_session("s2")): {"1": at([3.0, 9.0, 9.5], 0.5)}}
    ends = [event("transfer_start", 2.0, "s2"), event("transfer_end", 9.0, "s2")]
    found = evidence_of(plan, shares, end_s=10.0, events=ends).samples("window_share", "s2")
    assert list(found["1"].t_s) == [1.0, 7.0]
