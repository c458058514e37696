"""The plan: links with addresses, rates and seeds of their own."""

import json

import pytest

from testbed.errors import BadInput
from testbed.plan.links import link_seed, resolve_link
from testbed.plan.resolve import Choices, expected_transfer_s, new_run_id, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.plan.show import plan_text
from testbed.runner.network import links_of
from testbed.scenario.load import load
from testbed.units import Rate

POLICIES: PolicyFacts = {
    "nkp24": {"name": "nkp24", "cap_packets": None, "initial": "W/n"},
    "previous": {"name": "previous", "cap_packets": 256, "initial": "16"},
}


def plan_of(*assignments: str, **choices):
    return resolve(load("startup", assignments), POLICIES, Choices(**choices), new_run_id())


def test_startup_as_the_proposal_has_it() -> None:
    plan = plan_of()
    assert [link["rate_pps"] for link in plan["links"]] == [1024, 128]
    assert [link["delay_ms"] for link in plan["links"]] == [50, 50]
    assert plan["links"][0]["frame_bytes"] == 1073
    assert plan["links"][0]["rate_bps"] == 1024 * 1073 * 8
    assert [link["queue"]["packets"] for link in plan["links"]] == [102, 13], (
        "2 x rate x latency, mockconn's buffer"
    )
    assert expected_transfer_s(plan) == pytest.approx(49152 / 1152)


def test_a_plan_is_json_and_gives_its_links_back() -> None:
    plan = plan_of()
    assert [link.as_json() for link in links_of(json.loads(json.dumps(plan)))] == plan["links"]


def test_addresses_and_names_differ() -> None:
    links = links_of(plan_of())
    ends = [end for link in links for end in (link.a, link.b)]
    for attribute in ("interface", "address", "mac", "middle_interface"):
        assert len({getattr(end, attribute) for end in ends}) == len(ends)


def test_adding_a_link_changes_no_other_links_seed() -> None:
    before = {name: link_seed(1, name) for name in ("fast", "slow")}
    after = {name: link_seed(1, name) for name in ("extra", "fast", "slow")}
    assert {name: after[name] for name in before} == before
    assert link_seed(2, "fast") != before["fast"]


def test_the_seed_of_the_command_line_wins() -> None:
    assert plan_of(seed=5)["seed"] == 5
    assert plan_of("seed=9")["seed"] == 9


def test_an_unknown_policy_names_those_that_there_are() -> None:
    with pytest.raises(BadInput, match="there is no policy 'previus'; policies: nkp24, previous"):
        plan_of("policy=previus")


def test_windows_above_a_policys_cap() -> None:
    with pytest.raises(BadInput, match="4095 packets is above the cap of policy previous"):
        plan_of("policy=previous", "initial_windows=[4095, 1]")


def test_an_index_beyond_the_address_plan() -> None:
    with pytest.raises(ValueError, match="outside 1 to 255"):
        resolve_link(256, "far", "h1", "h2", Rate(pps=1))


def test_the_plan_in_words() -> None:
    text = plan_text(plan_of(quick=True))
    for part in ("1024 packets/s", "50 ms one-way", "policy nkp24", "48 MiB", "follows_law"):
        assert part in text
