"""npm's packages as the code under test: what a plan says of them, and what is refused."""

from typing import Any

import numpy as np
import pytest

from testbed.engines import named
from testbed.errors import BadInput
from testbed.judge.trust.windows import nkp24_bounds, previous_bounds
from testbed.machine.need import Need
from testbed.plan.codes import is_about, policies, rule_of
from testbed.planning.resolve import Choices
from testbed.planning.resolve import resolve as resolved
from testbed.planning.traffic import needs_of
from testbed.scenario.load import load
from testbed.study.kinds.table import further_needs
from testbed.study.kinds.table_file import columns_of, scenario_of
from testbed.study.kinds.table_file import load as load_table
from tests.golden import text
from tests.plan.test_resolve import POLICIES as OURS
from tests.raises import raises


def plan_of(*assignments: str, **choices: Any) -> Any:
    return resolved(load("startup", assignments), OURS, Choices(**choices), "RUN")


def test_a_plan_with_a_package_is_as_recorded() -> None:
    changed = text.changes(plan_of(), plan_of("code=npm-1.1.2"))
    assert changed == {
        "overrides": ["ncp.code=npm-1.1.2"],
        "runtime": "process",
        "sessions.0.code": {"sender": "npm-1.1.2", "receiver": "npm-1.1.2"},
        "sessions.0.policy": "npm-1.1.2",
        "sessions.0.policy_facts.name": "npm-1.1.2",
        "sessions.0.policy_facts.initial": "W/n packets each, W = send window / MTU",
        "sessions.0.policy_facts.like": "nkp24",
        "sessions.0.policy_facts.min_packets": 0,
        "sessions.0.policy_facts.normalised": True,
        "sessions.0.policy_facts.rule": policies()["npm-1.1.2"]["rule"],
        "sessions.0.policy_facts.source": "npm's @nkn/ncp 1.1.2",
        "variant": "changed",
    }


def test_a_plan_with_our_code_says_nothing_of_it() -> None:
    assert text.changes(plan_of(), plan_of("code=ours")) == {"overrides": ["ncp.code=ours"], "variant": "changed"}


def test_windows_are_the_senders() -> None:
    (session,) = plan_of("policy=previous", "code={sender: npm-1.0.9, receiver: ours}")["sessions"]
    assert (session["code"], session["policy"]) == ({"sender": "npm-1.0.9"}, "npm-1.0.9")
    assert rule_of(session) == "previous"
    (session,) = plan_of("policy=delivery-rate", "code={receiver: npm-1.0.9}")["sessions"]
    assert (session["code"], session["policy"]) == ({"receiver": "npm-1.0.9"}, "delivery-rate")


def test_what_is_about_a_policy_is_about_the_package_that_is_like_it() -> None:
    (session,) = plan_of("code=npm-1.1.2")["sessions"]
    assert all(is_about(policies, session) for policies in ([], ["nkp24"], ["npm-1.1.2"], ["previous", "nkp24"]))
    assert not is_about(["previous"], session)


@pytest.mark.parametrize(
    ("assignment", "code", "message"),
    [
        ("code=npm-1.1.3", "ncp.no-such-code", "did you mean 'npm-1.1.2'?"),
        ("code={sender: npm-1.1.3}", "ncp.no-such-code", "did you mean 'npm-1.1.2'?"),
        ("code=npm-1.0.9", "scenario.policy-of-another-code", "set policy to previous"),
        ("ncp={policy: nkp24, code: npm-1.1.2, transfer: 1MiB, ack_repeats: 1}", "ncp.repeats-by-another-code", "npm"),
    ],
)
def test_mistakes_are_refused_before_anything_is_set_up(assignment: str, code: str, message: str) -> None:
    with raises(BadInput, code) as refused:
        plan_of(assignment)
    assert message in str(refused.value)


def test_its_events_are_not_recorded() -> None:
    with raises(BadInput, "run.qlog-of-npm"):
        plan_of("code=npm-1.1.2", traces={"qlog": True, "pcap": []})


def test_the_simulator_refuses() -> None:
    plan = plan_of("code=npm-1.1.2")
    assert named("sim").unsupported(plan) == ["ncp.code: the simulator runs our own code alone"]


def test_a_tables_cells_are_run_by_it() -> None:
    loaded = load_table("speed-table", ["ncp.code=npm-1.1.2"])
    row, columns = loaded.table.rows[0], columns_of(loaded.table, OURS)
    assert scenario_of(loaded, row, columns["nkp24"]).scenario.ncp.code.sender == "npm-1.1.2"  # type: ignore[union-attr]
    with raises(BadInput, "scenario.policy-of-another-code"):
        resolved(scenario_of(loaded, row, columns["previous"]), OURS, Choices(), "RUN")


def test_windows_of_npm_are_no_whole_packets_and_have_no_floor_where_there_is_none() -> None:
    seven, none, one = np.array([[7.0]]), np.array([[0.0]]), np.array([[1.0]])
    assert [bound.item() for bound in previous_bounds(seven, none, one)] == [3, 3]
    assert [bound.item() for bound in previous_bounds(seven, none, one, whole=False)] == [3.5, 3.5]
    before, after = np.array([[1.0], [63.0]]), np.array([[0.25], [63.75]])
    timeouts, nothing = np.array([[2.0], [0.0]]), np.zeros((2, 1))
    low, high = nkp24_bounds(before, after, nothing, timeouts, 64.0, 0.0)
    assert 0.25 <= low[0, 0] <= high[0, 0] <= 0.26
    assert nkp24_bounds(before, after, nothing, timeouts, 64.0)[1][0, 0] >= 1


def test_the_packages_are_installed_where_a_run_needs_them() -> None:
    assert needs_of(load("startup", ["code={receiver: npm-1.0.9}"]).scenario) == {Need.PEERS}
    assert needs_of(load("startup", ["code=ours"]).scenario) == set()
    table = load_table("speed-table", ["ncp.code=npm-1.1.2"])
    assert Need.PEERS in further_needs(table, named("vkernel"))
    assert Need.PEERS not in further_needs(table, named("sim")) | further_needs(
        load_table("speed-table"), named("vkernel")
    )
