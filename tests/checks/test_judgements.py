"""The judgements: each one passes where it should and fails, with the reason, where it should not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from testbed.errors import BadInput
from testbed.judge.checks import Check, CheckResult, Trust, Verdict
from testbed.judge.checks.explain import acknowledged_pps
from testbed.judge.checks.law import FollowsLaw, law_of, rates_acknowledged
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.judge import judge
from testbed.series import FromFile
from tests.checks.generate import make_plan, telemetry, write_result
from tests.checks.in_memory import at, evidence_of, small_plan, small_session, with_windows
from tests.raises import Containing, raises
from tests.said import Saying, has, sentences

ADAPTER: TypeAdapter[CheckParameters] = TypeAdapter(Check)


def judged(
    folder: Path,
    plan: Any,
    lines: list[str] | None = None,
    trust: Trust | None = None,
    expected: Mapping[str, ExpectedFailure] | None = None,
    **counts: Any,
) -> tuple[dict[str, CheckResult], Verdict]:
    """Check results by name, and the verdict, of a run with these lines."""
    write_result(folder, plan, lines or telemetry(plan, noise=0.1))
    reader = FromFile(folder / "telemetry.lp")
    verdict = judge(plan, reader, folder / "agents", trust or Trust(trusted=True), expected=expected, **counts)
    return {check.name: check for check in verdict.checks}, verdict


def with_checks(plan: Any, *checks: dict[str, Any]) -> Any:
    return {**plan, "checks": [{"name": f"c{i}", **check} for i, check in enumerate(checks)]}


def test_nkp24_follows_the_law(tmp_path):
    checks, verdict = judged(tmp_path / "r", make_plan(), file_points=5, database_points=5)
    assert verdict.verdict == "pass"
    assert verdict.summary == "5 of 5 checks hold."
    law = checks["windows follow the law"]
    # The simulated rule lags the law by one RTT, no more.
    assert isinstance(law.measured, float)
    assert 0.001 < law.measured < 0.02
    assert law.figures["time_constant_s"] == pytest.approx(4096 / 1152, abs=1e-5)
    marks = [(s["t_s"], round(s["law"], 3)) for s in law.figures["shares"] if s["connection"] == "1"]
    assert marks == [(1, 0.595), (2, 0.667), (5, 0.794), (10, 0.866), (20, 0.887), (40, 0.889)]


def test_previous_fails_and_says_why(tmp_path):
    checks, verdict = judged(tmp_path / "r", make_plan("previous"), file_points=5, database_points=5)
    assert verdict.verdict == "fail"
    for name in ("windows follow the law", "final window ratio"):
        assert checks[name].status == "fail"
        said = sentences(checks[name].said)
        assert said["windows.unchanged"] == Saying("windows.unchanged", packets=256, since_s=2.1)
        assert said["windows.capped"] == Saying("windows.capped", policy="previous", cap_packets=256)
    assert (checks["final window ratio"].measured, checks["final window ratio"].expected) == (1.0, "7 to 9")
    assert checks["final window ratio"].code == "ratio.median"
    # What is delivered is 8:1 all the same: the links decide that, not the windows.
    assert checks["delivered ratio"].status == "pass"


def test_two_counts_of_acknowledgements_make_a_rate():
    counted = evidence_of(small_plan(), {"acked": {"1": at([1.0, 3.0], [100.0, 500.0])}})
    assert acknowledged_pps(counted, small_session(), 0.0, 4.0) == {"1": 200.0}


def test_a_count_at_the_very_start_is_no_rate_of_its_own():
    acked = {"1": at([0.0, 1.0, 2.0], [0.0, 800.0, 1600.0]), "2": at([0.0, 1.0, 2.0], [0.0, 200.0, 400.0])}
    session = small_session()
    law = law_of(session, rates_acknowledged(evidence_of(small_plan(), {"acked": acked}), session))
    assert law.share("1", np.array([0.0, 1000.0])) == pytest.approx([0.5, 0.8])


def test_pinned_windows_without_facts_of_the_policy_claim_no_cap(tmp_path):
    plan = make_plan("previous")
    plan["sessions"][0]["policy_facts"] = {"name": "previous"}
    checks, _ = judged(tmp_path / "r", plan)
    said = sentences(checks["final window ratio"].said)
    assert has(said["windows.unchanged"], "packets", 256)
    assert "windows.capped" not in said


def test_law_starting_later_fits_the_reversed_extreme(tmp_path):
    plan = make_plan(initial=[1, 4095])
    law = {"judge": "follows_law", "from_s": 5, "to_s": 20, "tolerance": 0.03}
    checks, _ = judged(tmp_path / "r", with_checks(plan, law, {**law, "start_s": 1.0}))
    assert checks["c0"].status == "fail"
    assert checks["c1"].status == "pass"
    good, bad = checks["c1"].measured, checks["c0"].measured
    assert isinstance(good, float)
    assert isinstance(bad, float)
    assert good < bad


def test_a_link_that_stays_down_asks_for_no_ratio(tmp_path):
    plan = make_plan("previous")
    lines = telemetry(plan)
    plan["timeline"] = [{"at_s": 20.0, "kind": "carrier", "link": "slow", "up": False, "text": "slow breaks"}]
    checks, _ = judged(tmp_path / "r", plan, lines)
    law = checks["windows follow the law"]
    assert (law.status, law.code) == ("fail", "law.outside")
    assert "law.ratio-in-the-end" not in sentences(law.said)


def test_a_slow_link_is_named(tmp_path):
    plan = make_plan()
    lines = telemetry(plan)
    plan["links"][1]["rate_bps"] = 256 * 1073 * 8  # asked for twice what it gave
    checks, _ = judged(tmp_path / "r", plan, lines)
    underused = sentences(checks["windows follow the law"].said)["link.underused"]
    assert underused == Saying("link.underused", connection="Connection 2", link_pps=256.0, acknowledged_pps=128)


def test_quick_run_is_judged_over_what_it_covers(tmp_path):
    checks, verdict = judged(tmp_path / "r", make_plan(transfer_mib=16, quick=True), file_points=1, database_points=1)
    law = checks["windows follow the law"]
    assert law.status == "pass"
    assert 13 < law.figures["judged_to_s"] < 15
    assert has(sentences(law.said)["law.shortened"], "covered_s", 13.3)
    assert verdict.verdict == "pass"


def test_too_short_a_quick_run_is_not_covered_and_passes_only_with_something_decided(tmp_path):
    plan = make_plan(transfer_mib=2, quick=True)
    law = {"judge": "follows_law", "from_s": 1, "to_s": 20}
    ratio = {"judge": "ratio", "last_s": 1, "min": 7, "max": 9, "not_before_s": 12}
    checks, verdict = judged(tmp_path / "r", with_checks(plan, law, ratio, {"judge": "payload_intact"}))
    assert (checks["c0"].status, checks["c1"].status) == ("insufficient-data", "insufficient-data")
    short = checks["c0"].said
    assert short == Saying("coverage.too-short", covered_s=0.9, from_s=1, to_s=20, at_least_s=3)
    assert checks["c1"].said == Saying("ratio.too-early", not_before_s=12)
    assert verdict.verdict == "pass"
    assert "“c0” has too little data" in verdict.summary
    _, undecided = judged(tmp_path / "u", with_checks(plan, law, ratio))
    assert undecided.verdict == "fail"


def test_a_full_run_has_to_cover_what_was_asked(tmp_path):
    plan = make_plan()
    checks, verdict = judged(tmp_path / "r", plan, telemetry(plan, seconds=12))
    assert checks["windows follow the law"].status == "insufficient-data"
    assert checks["windows follow the law"].code == "coverage.ends-early"
    assert has(checks["windows follow the law"].said, "end_s", 12)
    assert verdict.verdict == "fail"


def test_a_hole_in_the_samples_is_not_covered(tmp_path):
    plan = make_plan()
    lines = telemetry(plan)
    kept = [line for n, line in enumerate(lines) if not 150 < n < 1900 or "connection=2" not in line]
    checks, _ = judged(tmp_path / "r", plan, kept)
    assert checks["windows follow the law"].status == "insufficient-data"
    assert checks["windows follow the law"].code == "coverage.too-few-samples"
    assert "connection 2" in str(checks["windows follow the law"].said)


def test_missing_samples_and_missing_start_are_errors(tmp_path):
    plan = make_plan(transfer_mib=2)
    lines = telemetry(plan)
    checks, verdict = judged(tmp_path / "a", plan, [line for line in lines if "connection=2" not in line])
    assert checks["windows follow the law"].status == "error"
    none = Saying("samples.none", series="window_share", connections="2")
    assert checks["windows follow the law"].said == none
    assert verdict.verdict == "untrusted"  # of what was not sampled nothing is known
    nothing = Saying("telemetry.no-samples", session="s1").at("session s1: connection 2, window_packets")
    assert nothing in verdict.trust.said
    checks, verdict = judged(tmp_path / "b", plan, [line for line in lines if "transfer_start" not in line])
    assert checks["final window ratio"].code == "session.never-started"
    assert verdict.duration_s is None


def test_ratio_against_nothing_is_unbounded(tmp_path):
    plan = make_plan(transfer_mib=8)
    lines = [line.replace("delivered_pps=128.0", "delivered_pps=0.0") for line in telemetry(plan)]
    check = {"judge": "ratio", "series": "delivered_pps", "from_s": 2, "to_s": 4, "min": 7, "max": 9}
    checks, _ = judged(tmp_path / "r", with_checks(plan, check), lines)
    assert (checks["c0"].status, checks["c0"].measured) == ("fail", "unbounded")


def test_an_untrusted_run_is_no_pass_and_its_failure_stays_visible(tmp_path):
    late = Trust(trusted=False, reasons=["late: p99 7.1 ms"])
    _, good = judged(tmp_path / "a", make_plan(), trust=late, file_points=1, database_points=1)
    assert good.verdict == "untrusted"
    checks, bad = judged(tmp_path / "b", make_plan("previous"), trust=late)
    assert bad.verdict == "untrusted"
    assert checks["final window ratio"].status == "fail"
    assert "late: p99 7.1 ms" in bad.summary
    assert "“final window ratio” fails" in bad.summary


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"to": "1s"}, "later than from"),
        ({"from": 1}, "1 has no unit; write for example 50ms, 2s"),
        ({"tolerance": 3}, "less than 1"),
        ({"series": "windows"}, "there is no series 'windows'"),
        ({"tolerence": 0.1}, "Extra inputs are not permitted"),
        ({"judge": "follow_law"}, "'follows_law', 'time_constant', 'ratio', 'settles', 'level'"),
    ],
)
def test_bad_parameters_are_refused(change, says):
    good = {"name": "x", "judge": "follows_law", "from": "1s", "to": "20s"}
    with pytest.raises(ValidationError, match=says):
        ADAPTER.validate_python({**good, **change})


@pytest.mark.parametrize(
    "time", [{}, {"last": "1s", "from": "1s", "to": "2s"}, {"from": "1s"}, {"last": "1s", "of": [1, 1]}]
)
def test_a_ratio_needs_one_time_and_two_connections(time):
    with pytest.raises(ValidationError, match=r"either last|two different"):
        ADAPTER.validate_python({"name": "x", "judge": "ratio", "min": 7, "max": 9, **time})


def test_a_scenario_and_its_plan_mean_the_same():
    written = {"name": "x", "judge": "follows_law", "from": "500ms", "to": "20s", "at_least": "4s"}
    parameters = ADAPTER.validate_python(written)
    assert isinstance(parameters, FollowsLaw)
    assert (parameters.from_s, parameters.to_s, parameters.at_least_s) == (0.5, 20.0, 4.0)
    again = ADAPTER.validate_python(parameters.model_dump(mode="json"), context={"resolved": True})
    assert again == parameters


def test_a_broken_plan_names_the_check(tmp_path):
    plan = with_checks(make_plan(transfer_mib=2), {"judge": "follows_law", "from_s": 1, "to_s": "soon"})
    path = tmp_path / "telemetry.lp"
    path.write_text("")
    with raises(
        BadInput, "plan.bad-check", check="c0", where="follows_law.to_s", error=Containing("Value error, 'soon'")
    ):
        judge(plan, FromFile(path), tmp_path / "agents", Trust(trusted=True))


@given(rates=st.lists(st.floats(1, 1e5), min_size=1, max_size=8), window=st.floats(64, 1e5), elapsed=st.floats(0, 1e3))
def test_shares_by_the_law_sum_to_one_and_go_to_the_rates(rates, window, elapsed):
    by_index = {str(i): rate for i, rate in enumerate(rates, start=1)}
    law = law_of(with_windows(window, *[window / len(rates)] * len(rates)), [(0.0, by_index)])
    shares = {c: float(law.share(c, elapsed)) for c in by_index}
    assert sum(shares.values()) == pytest.approx(1)
    for c, rate in by_index.items():
        assert float(law.share(c, 0)) == pytest.approx(1 / len(rates))
        assert float(law.share(c, 60 * law.time_constant_s)) == pytest.approx(rate / sum(rates))


def test_the_law_is_what_the_rule_does_packet_by_packet():
    """+1 per ACK, then all windows scaled back to W: 1024 and 128 ACKs per second, one at a time."""
    windows = np.array([2048.0, 2048.0])
    law = law_of(with_windows(4096, 2048, 2048), [(0.0, {"1": 1024, "2": 128})])
    for second in range(1, 21):
        for _ in range(128):
            for connection in (0,) * 8 + (1,):
                windows[connection] += 1
                windows *= 4096 / windows.sum()
        assert windows[0] / 4096 == pytest.approx(float(law.share("1", second)), abs=2e-4)
