"""Single runs on real packets, held against a reference of several."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from testbed.judge import power
from testbed.judge.status import Status
from testbed.study.checks.claims import Judged, against_reference, decided_of, verdict_of

SIGMA = 0.01
OF_A_CLAIM: dict[str, Any] = {
    **dict.fromkeys(("text", "reason", "run", "command", "check", "published", "expected", "tolerance", "why"), ""),
    "source": "own",
    "kind": "claim",
    "reproduces": True,
}


def reference(name: str, values: Sequence[float], place: str = "row column") -> Judged:
    sigma = float(np.log(values).std(ddof=1))
    return Judged(
        id=name, verdict=Status.PASS, n=len(values), least_seen={"sigma": sigma, "freedom": len(values) - 1},
        figures={place: float(np.median(values))}, **OF_A_CLAIM,
    )  # fmt: skip


def one_run(
    name: str, value: float, place: str = "row column", n: int = 1, verdict: Status = Status.INSUFFICIENT_DATA
) -> Judged:
    return Judged(id=name, verdict=verdict, n=n, figures={place: value}, **OF_A_CLAIM)


VALUES = [99.0, 99.5, 100.0, 100.5, 101.0]
OF_VALUES = float(np.log(VALUES).std(ddof=1))


def test_a_single_run_is_told_where_it_lies_and_decides_nothing() -> None:
    known = [reference("near", VALUES), reference("far", VALUES)]
    near, far = against_reference([one_run("near", 101.5), one_run("far", 150)], "real-2026-11-28", known)
    assert (near.verdict, near.as_reference, near.as_known) == (Status.INSUFFICIENT_DATA, True, None)
    assert (far.verdict, far.as_reference, far.part) == (Status.INSUFFICIENT_DATA, False, Status.FAIL)
    assert "real-2026-11-28" in far.reason
    assert "row column 150 outside" in far.reason
    assert decided_of([near, far]).startswith(
        "0 of 2 claims decided; 1 of 2 single runs lie where the reference expects, outside: far"
    )


def test_it_says_what_one_run_would_have_shown_by_the_spread_of_the_reference() -> None:
    """Of five runs with σ = 0.79%, at 97.5% for each of two claims: 4.6 σ of the run and the median together."""
    known = [reference("near", VALUES), reference("beside", VALUES)]
    (found,) = against_reference([one_run("near", 100)], "real-2026-11-28", known)
    _, least = power.of_another(OF_VALUES, 4, 5, 0.975)
    assert least == pytest.approx(4.58 * OF_VALUES * math.sqrt(1 + math.pi / 10), rel=0.02)
    assert found.least_seen == {"relative": pytest.approx(math.expm1(least), abs=1e-6), "n": 1}
    assert found.sees == "0.042 of the figure, of one run beside 5 of real-2026-11-28, σ 0.0079"
    assert found.as_json()["least_seen"] == found.least_seen


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_runs_of_a_reference_give_no_number_and_it_says_so(n: int) -> None:
    few = replace(reference("known", VALUES), n=n)
    (found,) = against_reference([one_run("known", 150)], "real-2026-11-28", [few])
    assert (found.as_reference, found.least_seen) == (None, {})
    assert found.sees == f"unknown, of one run beside {n} of real-2026-11-28, which say nothing of the spread"


def test_three_runs_of_a_reference_give_a_number() -> None:
    seen = power.seen([VALUES[1:4]], power.of_sign_test)["least_seen"]
    three = replace(reference("known", VALUES[1:4]), least_seen=seen)
    (found,) = against_reference([one_run("known", 100)], "real", [three])
    assert (found.as_reference, found.least_seen["n"]) == (True, 1)


def test_saboteur_a_borrowed_spread_is_no_reference_for_the_next_single_run() -> None:
    (first,) = against_reference([one_run("known", 100)], "real", [reference("known", VALUES)])
    (second,) = against_reference([one_run("known", 150)], "later", [first])
    assert second.as_reference is None
    assert second.sees.startswith("unknown, of one run beside 1 of later")


def test_one_run_outside_fails_a_quick_result_and_all_inside_pass() -> None:
    known = [reference("near", VALUES), reference("far", VALUES)]
    assert verdict_of(against_reference([one_run("near", 100)], "", known), quick=True) == Status.PASS
    both = [one_run("near", 100), one_run("far", 150)]
    assert verdict_of(against_reference(both, "", known), quick=True) == Status.FAIL


@pytest.mark.parametrize(
    "claim",
    [
        one_run("unknown", 150),
        one_run("known", 150, place="another"),
        one_run("known", 150, n=5),
        one_run("known", 150, verdict=Status.FAIL),
        one_run("known", 150, verdict=Status.UNTRUSTED),
    ],
)
def test_what_has_no_counterpart_or_more_than_one_run_stays(claim: Judged) -> None:
    assert against_reference([claim], "", [reference("known", VALUES)]) == [claim]


def test_a_reference_whose_runs_are_all_alike_has_no_range() -> None:
    claim = one_run("known", 101)
    assert against_reference([claim], "", [reference("known", [100.0] * 5)]) == [claim]


def test_saboteur_a_word_about_the_reference_does_not_hide_a_failure() -> None:
    claim = replace(one_run("known", 150, verdict=Status.FAIL), as_reference=True)
    assert claim.part == Status.FAIL
    assert verdict_of([claim, one_run("other", 100)], quick=True) == Status.FAIL


def test_a_regression_of_ten_sigma_is_seen_and_equal_runs_seldom_alarm() -> None:
    """40 claims of five runs each: all intervals hold together with 95%."""
    random, alarms, seen, repeats = np.random.default_rng(1), 0, 0, 100
    for _ in range(repeats):
        values = np.exp(SIGMA * random.standard_normal((40, 5)))
        known = [reference(f"claim-{number}", of.tolist()) for number, of in enumerate(values)]
        again = np.exp(SIGMA * random.standard_normal(40))
        same = [one_run(f"claim-{number}", value) for number, value in enumerate(again)]
        slower = [one_run("claim-0", float(again[0]) * math.exp(-20 * SIGMA))]
        alarms += any(claim.as_reference is False for claim in against_reference(same, "", known))
        seen += against_reference(slower, "", known)[0].as_reference is False
    assert alarms <= 0.1 * repeats
    assert seen >= 0.9 * repeats
