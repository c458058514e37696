"""What judging leaves for dashboards, alerts and the history: every point with its tags, fields and time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from line_protocol_parser import parse_line

from testbed.judge.checks import derived
from testbed.judge.checks.derived import SharesAhead, history_lines, law_ahead, write_windows_csv
from testbed.judge.checks.in_range import Settles
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult, Trust, Verdict
from testbed.series.one_clock import ZERO_NS
from tests.checks.in_memory import START_NS, InMemory, at, event, evidence_of, judged, small_plan, small_session, ticks
from tests.checks.results import LAW, S2_STARTS, TWO, Groups, later, of_law

END_NS = START_NS + 10_000_000_000
RUN = {"run": "r1", "scenario": "small"}


def points(lines: str | Iterable[str], measurement: str) -> list[tuple[dict[str, str], dict[str, Any], int]]:
    """Tags, fields and time of the points of a measurement."""
    split = lines.splitlines() if isinstance(lines, str) else lines
    parsed = [parse_line(line) for line in split]
    return [(p["tags"], p["fields"], p["time"]) for p in parsed if p["measurement"] == measurement]


def verdict(*checks: CheckResult, **changed: Any) -> Verdict:
    known: dict[str, Any] = {
        **RUN,
        "verdict": "fail",
        "summary": "1 of 2 checks hold",
        "checks": list(checks),
        "trust": Trust(trusted=True),
        "duration_s": 10.0,
        "policy": "nkp24",
    }
    return Verdict(**known | changed)


def result(name: str, judge: str, status: Any, **of: Any) -> CheckResult:
    return CheckResult(name=name, judge=judge, status=status, reason=f"{name} {status}", **of)


SHARES: Groups = {
    "window_share": {
        "1": at([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0], [0.1, 0.5, 0.8, of_law(2) - 0.01, of_law(3) + 0.25, of_law(4) + 0.5]),
        "2": at([2.0, 3.0, 5.0], [1.0 - of_law(2) - 0.125, 1.0 - of_law(3), 0.2]),
    }
}
WATCHED = {"name": "law", **LAW, "from_s": 2, "to_s": 3}


def derived_of(plan: Any, samples: Groups, judged: Verdict, **of: Any) -> str:
    return derived.derived_lines(plan, evidence_of(plan, samples, **of).reader, judged)


def test_the_law_has_a_point_at_every_sample_and_its_worst_is_of_the_judged_time() -> None:
    plan = small_plan(checks=[{"name": "all", "judge": "payload_intact"}, WATCHED])
    lines = derived_of(plan, SHARES, verdict())
    law = points(lines, "law")
    assert [(tags, time) for tags, _, time in law] == [
        ({**RUN, "session": "s1", "check": "law", "connection": c}, START_NS + t * 1_000_000_000)
        for c, t in [("1", 0), ("1", 1), ("1", 2), ("1", 3), ("1", 4), ("2", 2), ("2", 3), ("2", 5)]
    ]
    assert [fields["expected_share"] for _, fields, _ in law[:5]] == pytest.approx([of_law(t) for t in range(5)])
    assert [fields["error"] for _, fields, _ in law[2:]] == pytest.approx(
        [-0.01, 0.25, 0.5, -0.125, 0.0, 0.2 - (1 - of_law(5))], abs=1e-12
    )
    worst = points(lines, "law_worst")
    assert [(tags, time) for tags, _, time in worst] == [
        ({**RUN, "session": "s1", "check": "law", "connection": c}, END_NS) for c in "12"
    ]
    assert [fields for _, fields, _ in worst] == [{"error": pytest.approx(0.25)}, {"error": pytest.approx(0.125)}]


def test_the_law_is_of_its_session_and_policy_and_of_sessions_that_started() -> None:
    second = {**WATCHED, "session": "s2", "policy": ["nkp24"]}
    another = {**WATCHED, "name": "other", "policy": ["nkp24"]}
    never = {**WATCHED, "name": "never", "session": "s3"}
    uncounted = {**WATCHED, "name": "counted", "session": "s2", "rates": "acknowledged"}
    sessions = [*TWO["sessions"], small_session("s3")]
    plan = small_plan(sessions=sessions, checks=[another, never, uncounted, second])
    lines = derived_of(plan, later(SHARES), verdict(), events=S2_STARTS)
    found = points(lines, "law")
    assert {(tags["session"], tags["check"]) for tags, _, _ in found} == {("s2", "law")}
    assert [fields["error"] for _, fields, _ in found][2] == pytest.approx(-0.01)
    assert [fields["error"] for _, fields, _ in points(lines, "law_worst")] == pytest.approx([0.25, 0.125])


def test_a_run_without_a_start_leaves_nothing_and_one_without_an_end_its_verdict_at_its_start() -> None:
    plan = small_plan(checks=[])
    assert derived.derived_lines(plan, InMemory({}, [event("transfer_end", 1.0)], "r1"), verdict()) == ""
    (point,) = points(derived_of(plan, {}, verdict(), end_s=None), "verdict")
    assert point[2] == START_NS


CHECKS = [
    {"name": "law", **LAW},
    {"name": "rtt", "judge": "level", "series": "rtt_ms", "min": 0.0, "max": 100.0, "at_s": 1},
]
JUDGED = verdict(
    result("law", "follows_law", "pass", measured=0.015, expected=0.0, tolerance=0.03),
    result("rtt", "level", "fail", measured=120.0, expected="0 to 100"),
    result("payload", "payload_intact", "error"),
    result("left", "settles", "skipped"),
)
WHOLE = {
    "verdict": "fail",
    "passed": 0,
    "not_passed": 1,
    "broken": 0,
    "summary": "1 of 2 checks hold",
    "trusted": 1,
    "checks": 4,
    "failed": 2,
}
OF_CHECKS = [
    (
        {"check": "law", "judge": "follows_law", "measures": "0.015", "expects": "0 ± 0.03", "unit": "of the window"},
        {
            "status": "pass",
            "reason": "law pass",
            "passed": 1,
            "failed": 0,
            "measured": 0.015,
            "expected": 0.0,
            "tolerance": 0.03,
            "of_expected": 0.5,
        },
    ),
    (
        {"check": "rtt", "judge": "level", "measures": "120", "expects": "0 to 100", "unit": "ms"},
        {"status": "fail", "reason": "rtt fail", "passed": 0, "failed": 1, "measured": 120.0, "of_expected": 2.4},
    ),
    (
        {
            "check": "payload",
            "judge": "payload_intact",
            "measures": "nothing",
            "expects": "to be judged",
            "unit": "bytes",
        },
        {"status": "error", "reason": "payload error", "passed": 0, "failed": 1},
    ),
    (
        {"check": "left", "judge": "settles", "measures": "nothing", "expects": "to be judged", "unit": "s"},
        {"status": "skipped", "reason": "left skipped", "passed": 0, "failed": 0},
    ),
]


for _, fields_of_check in OF_CHECKS:
    fields_of_check["trusted"] = 1


def test_a_verdict_has_a_point_and_each_of_its_checks_one() -> None:
    plan = small_plan(checks=CHECKS)
    tags = {**RUN, "policy": "nkp24", "occasion": "manual"}
    found = points(derived_of(plan, {}, JUDGED), "verdict")
    assert found == [(tags, WHOLE, END_NS), *(({**tags, **of}, fields, END_NS) for of, fields in OF_CHECKS)]


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"verdict": "pass"}, {"verdict": "pass", "passed": 1, "not_passed": 0}),
        (
            {"verdict": "untrusted", "trust": Trust(trusted=False)},
            {"verdict": "untrusted", "not_passed": 1, "trusted": 0},
        ),
    ],
)
def test_the_point_of_a_run(changed: dict[str, Any], fields: dict[str, Any]) -> None:
    found = points(
        derived_of(small_plan(occasion="nightly"), {}, verdict(result("law", "follows_law", "pass"), **changed)),
        "verdict",
    )
    assert found[0][0]["occasion"] == "nightly"
    assert found[0][1] == {**WHOLE, "checks": 1, "failed": 0, **fields}


def test_what_a_check_expects_and_its_unit_are_those_of_the_plan() -> None:
    soon = {"name": "soon", "judge": "settles", "within_s": 4, "to_s": 9, "tolerance": 0.1}
    judged = verdict(
        result("soon", "settles", "pass", measured=3.0, expected="4 s"),
        result("quotient", "ratio", "pass", measured=1.5, expected="1 to 2"),
    )
    found = points(derived_of(small_plan(checks=[soon]), {}, judged), "verdict")[1:]
    expected = [("4 s, within ± 10% of the ratio", "s"), ("1 to 2", "-")]
    assert [(tags["expects"], tags["unit"]) for tags, _, _ in found] == expected


def test_a_run_that_broke_down_has_its_verdict_and_no_checks() -> None:
    broken = JUDGED.model_copy(update={"broken": "a link was off"})
    ((_, fields, time),) = points(derived.broken_lines(small_plan(), broken, END_NS), "verdict")
    assert (time, fields["broken"], fields["not_passed"], fields["passed"]) == (END_NS, 1, 0, 0)
    without_checks: Any = {key: value for key, value in small_plan().items() if key != "checks"}
    assert len(points(derived.broken_lines(without_checks, JUDGED, END_NS), "verdict")) == 5


def test_settled_windows_are_an_event() -> None:
    settles = {"judge": "settles", "within_s": 4, "to_s": 9, "from_s": 1.5}
    plan = small_plan(checks=[{"name": name, **settles} for name in ("soon", "never", "open")])
    judged = verdict(
        result("soon", "settles", "fail", measured=4.25, figures={"session": "s1"}),
        result("never", "settles", "fail", measured="never"),
        result("open", "settles", "insufficient-data"),
        result("ratio", "ratio", "pass", measured=8.0),
    )
    found = points(derived.marks(plan, judged, START_NS), "event")
    earlier = verdict(result("soon", "settles", "fail", measured=4.25))
    (line,) = derived.marks(plan, earlier, START_NS)  # made before sessions had names
    assert "session" not in line
    fields = {"text": "soon: settled after 4.2 s", "at_s": 5.75}
    assert found == [({**RUN, "kind": "settled", "session": "s1"}, fields, START_NS + 5_750_000_000)]
    assert derived.marks(plan, verdict(), START_NS) == []


def test_the_history_has_no_tag_that_grows_with_the_runs() -> None:
    results = [
        {"role": "sender", "session": "s1", "goodput_bps": 9e6},
        {"role": "receiver", "session": "s2", "goodput_bps": 0},
        {"role": "receiver", "session": "s1", "goodput_bps": 8e6},
    ]
    plan = small_plan(checks=CHECKS, variant="quick")
    lines = history_lines(plan, JUDGED, results, END_NS)
    tags = {"scenario": "small", "policy": "nkp24", "engine": "mininet", "occasion": "manual", "variant": "quick"}
    whole = {**WHOLE, "run_id": "r1", "duration_s": 10.0}
    assert points(lines, "run_verdict") == [(tags, whole, END_NS)]
    goodput = {**tags, "figure": "goodput_bps", "session": "s1"}
    assert points(lines, "key_figure") == [
        *(({**tags, "figure": of["check"]}, {**fields, "run_id": "r1"}, END_NS) for of, fields in OF_CHECKS),
        (goodput, {"measured": 8e6, "run_id": "r1"}, END_NS),
    ]
    broken = JUDGED.model_copy(update={"broken": "x", "duration_s": None})
    (point,) = history_lines(plan, broken, results, END_NS).splitlines()
    assert "duration_s" not in parse_line(point)["fields"]


def ahead(plan: Any, measurement: str) -> dict[tuple[str, str], list[tuple[float, dict[str, float]]]]:
    found: dict[tuple[str, str], list[tuple[float, dict[str, float]]]] = {}
    for tags, fields, time in points(law_ahead(plan), measurement):
        assert {key: tags[key] for key in ("run", "scenario", "policy")} == {**RUN, "policy": "nkp24"}
        found.setdefault((tags["session"], tags["connection"]), []).append(((time - ZERO_NS) / 1e9, fields))
    return found


def test_the_law_ahead_is_that_of_the_plan_with_a_band_where_it_is_judged() -> None:
    plan = small_plan(checks=[{"name": "law", **LAW, "from_s": 2.0, "to_s": 3.0, "tolerance": 0.2}])
    found = ahead(plan, "law_ahead")
    assert set(found) == {("s1", "1"), ("s1", "2")}
    first = found["s1", "1"]
    assert [t for t, _ in first] == pytest.approx([2 + k / 10 for k in range(10)])
    for t, fields in first:
        share = of_law(t)
        assert fields == pytest.approx({"expected": share, "lower": share - 0.2, "upper": min(1.0, share + 0.2)})
        assert SharesAhead(plan).at("s1", "1", t) == pytest.approx(fields["expected"])
    wide = [{**plan["checks"][0], "tolerance": 0.5}]
    assert max(f.get("upper", 0) for _, f in ahead(plan | {"checks": wide}, "law_ahead")["s1", "1"]) == 1.0
    assert min(f.get("lower", 1) for _, f in ahead(plan | {"checks": wide}, "law_ahead")["s1", "2"]) == 0.0


def test_a_long_run_has_its_points_farther_apart() -> None:
    plan = small_plan(checks=[{"name": "law", **LAW}], sessions=[small_session(expected_s=400.0)])
    t = [t for t, _ in ahead(plan, "law_ahead")["s1", "1"]]
    assert t == pytest.approx([0.21 * k for k in range(2001) if 1 <= 0.21 * k < 8])


def test_checks_that_follow_each_other_each_count_from_their_beginning_on() -> None:
    early = {"name": "early", **LAW, "from_s": 1, "to_s": 2}
    late = {"name": "late", **LAW, "from_s": 4, "to_s": 6, "start_s": 4, "tolerance": 0.1}
    for checks in ([early, late], [late, early]):
        first = dict(ahead(small_plan(checks=checks), "law_ahead")["s1", "1"])
        at_s = {round(t, 1): fields for t, fields in first.items()}
        assert at_s[1.9]["expected"] == pytest.approx(of_law(1.9))
        assert at_s[5.0]["expected"] == pytest.approx(of_law(1.0))
        assert list(at_s) == [*(1 + k / 10 for k in range(10)), *(4 + k / 10 for k in range(20))]
        assert at_s[4.0]["upper"] - at_s[4.0]["lower"] == pytest.approx(0.2)
        assert at_s[1.0]["upper"] - at_s[1.0]["lower"] == pytest.approx(0.06)


def test_a_check_without_a_session_is_about_the_first_and_one_by_acknowledgements_is_not_known_before() -> None:
    sessions = [small_session("s1"), small_session("s2", start_s=3.0), small_session("s3", policy="cubic")]
    law = {"name": "law", **LAW}
    asked = [{"name": "stored", "judge": "points_stored"}, law]
    asked += [{**law, "name": "b", "session": "s2"}, {**law, "name": "c", "session": "s3", "policy": ["nkp24"]}]
    found = ahead(small_plan(sessions=sessions, checks=asked), "law_ahead")
    assert set(found) == {(s, c) for s in ("s1", "s2") for c in "12"}
    assert found["s2", "1"][0][0] == 4.0
    second = [{**law, "session": "s2"}, {**law, "name": "d", "policy": ["cubic"]}]
    assert {s for s, _ in ahead(small_plan(sessions=sessions, checks=second), "law_ahead")} == {"s2"}
    acknowledged = small_plan(checks=[{**law, "rates": "acknowledged"}])
    assert law_ahead(acknowledged) == []
    assert SharesAhead(acknowledged).at("s1", "1", 1.0) is None
    assert SharesAhead(small_plan(sessions=sessions, checks=second)).at("s1", "1", 1.0) is None


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([{"judge": "ratio", "min": 3.0, "max": 5.5, "last_s": 1}], (4.25, 3.0, 5.5)),
        ([{"judge": "settles", "within_s": 4, "to_s": 9, "tolerance": 0.25}], (4.0, 3.0, 5.0)),
        ([{"judge": "settles", "within_s": 4, "to_s": 9, "target": 2.0}], (2.0, 1.6, 2.4)),
        (
            [
                {"judge": "ratio", "series": "delivered_pps", "min": 1.0, "max": 2.0, "last_s": 1},
                {"judge": "ratio", "connections": ["2", "1"], "min": 1.0, "max": 2.0, "last_s": 1},
                {"judge": "ratio", "min": 6.0, "max": 8.0, "last_s": 1},
                {"judge": "ratio", "min": 1.0, "max": 2.0, "last_s": 1},
            ],
            (7.0, 6.0, 8.0),
        ),
        ([{"judge": "level", "series": "rtt_ms", "min": 1, "max": 2, "at_s": 1}], None),
    ],
)
def test_the_ratio_asked_is_known_before(checks: list[dict[str, Any]], expected: Any) -> None:
    plan = small_plan(checks=[{"name": f"c{number}", **check} for number, check in enumerate(checks)])
    found = ahead(plan, "ratio_ahead")
    if expected is None:
        assert found == {}
        return
    assert set(found) == {("s1", "1")}
    assert [t for t, _ in found["s1", "1"]] == pytest.approx([0.0, 8.4])
    for _, fields in found["s1", "1"]:
        assert (fields["expected"], fields["lower"], fields["upper"]) == pytest.approx(expected)


def test_the_ratio_asked_has_a_step_where_a_rate_changes() -> None:
    change = {"kind": "set", "text": "", "link": "slow", "direction": "both", "properties": {"rate_bps": 8e6}}
    settles = {"name": "c", "judge": "settles", "within_s": 4, "to_s": 9, "tolerance": 0.25}
    plan = small_plan(checks=[settles], timeline=[{**change, "at_s": 3.0}])
    found = ahead(plan, "ratio_ahead")["s1", "1"]
    assert [t for t, _ in found] == pytest.approx([0.0, 3.0, 3.0, found[-1][0]], abs=1e-5)
    assert [(fields["expected"], fields["lower"]) for _, fields in found] == [(4, 3), (4, 3), (1, 0.75), (1, 0.75)]
    (check,) = parameters_in_plan([settles])
    assert isinstance(check, Settles)
    result = judged(settles, evidence_of(plan, {"window_packets": {c: at(ticks(10), 2000) for c in "12"}}))
    assert (result.status, result.figures["target"]) == ("pass", 1.0), "it has to settle on the rates at its end"


def test_three_windows_have_no_ratio() -> None:
    links = [{"index": i, "link": "fast"} for i in (1, 2, 3)]
    plan = small_plan(sessions=[small_session(connections=links)])
    plan["checks"] = [{"name": "c", "judge": "ratio", "min": 1.0, "max": 2.0, "last_s": 1}]
    assert law_ahead(plan) == []


def test_windows_csv_has_a_row_for_each_time_and_connection(tmp_path: Path) -> None:
    samples: Groups = {
        "window_packets": {"10": at([0.5], [10.0]), "2": at([-0.5, 0.0, 0.5], [1.0, 1.0005, 2.0])},
        "window_share": {"2": at([0.5], [1 / 3])},
        "in_flight_packets": {"2": at([0.5], [7.0])},
        "rtt_ms": {"2": at([0.5], [12.34567])},
        "rto_ms": {"2": at([0.5], [500.0])},
        "acked": {"2": at([0.5], [99.0])},
    }
    samples |= later({"window_packets": {"1": at([0.25], [5.0])}}, "s0")
    reader = evidence_of(small_plan(), samples, events=[event("transfer_start", 2.0, "s0")]).reader
    path = tmp_path / "windows.csv"
    assert write_windows_csv(reader, ["never", "s1", "s0"], path) == 4
    assert path.read_bytes().decode() == (
        "t_s,connection,window,share,in_flight,rtt_ms,rto_ms,acked,session\n"
        "0.250,1,5.000,,,,,,s0\n"
        "0.000,2,1.000,,,,,,s1\n"
        "0.500,2,2.000,0.333333,7,12.346,500.000,99,s1\n"
        "0.500,10,10.000,,,,,,s1\n"
    )
