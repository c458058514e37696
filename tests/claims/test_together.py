"""Many claims at once: those that chance has a part in are decided together, by e-BH."""

from __future__ import annotations

from dataclasses import replace

from testbed.judge.status import Status
from testbed.study.checks.claims import together_of
from tests.claims.test_judged import CLAIM

FIVE = replace(CLAIM, evidence=21.25)


def test_claims_that_all_are_decided_are_decided_together() -> None:
    claims = [replace(FIVE, id=str(number)) for number in range(90)]
    assert together_of(claims) == (
        "of 90 claims that chance has a part in, 90 are decided together (e-BH): at most 5% of these are expected to "
        "be decided wrong"
    )


def test_a_claim_that_is_just_decided_needs_more_beside_undecided_ones() -> None:
    open_ = [replace(CLAIM, id=f"open {number}", evidence=1.0, verdict=Status.INCONCLUSIVE) for number in range(5)]
    said = together_of([replace(FIVE, id="just"), replace(FIVE, id="sure", evidence=400.0), *open_])
    assert said.startswith("of 7 claims that chance has a part in, 1 are decided together")
    assert said.endswith("; decided by themselves only: just")


def test_claims_without_chance_and_measurements_are_no_part_of_it() -> None:
    assert together_of([CLAIM, replace(FIVE, kind="measurement")]) == "chance has no part in any claim"
