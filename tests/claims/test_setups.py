"""Every claim is decided in its source's set-up, but for what it names; and a difference that is not named is found."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.planning.sessions import PolicyFacts
from testbed.study.kinds.claims_file import Claims, Difference, load
from tests.claims.decided_in import differing, value_at, wrong_setup

POLICIES: PolicyFacts = {
    name: {"name": name, "cap_packets": None, "initial": "W/n"} for name in ("previous", "nkp24", "delivery-rate")
}
CLAIMS = load()


@pytest.mark.parametrize("name", CLAIMS.claims)
def test_a_claim_is_decided_in_its_source_s_set_up_but_for_what_it_names(name: str) -> None:
    assert wrong_setup(CLAIMS, name, POLICIES) == []


def test_what_is_changed_stands_beside_a_claim_that_does_not_reproduce() -> None:
    changed = [claim for claim in CLAIMS.claims.values() if claim.kind == "changed"]
    assert changed
    for claim in changed:
        beside = CLAIMS.claims[str(claim.beside)]
        assert beside.xfail
        assert beside.differs == [], "it is decided in the source's own set-up"
        assert (beside.setup, beside.published) == (claim.setup, claim.published)
        assert claim.holds_with().startswith("With " if claim.xfail else "Holds with ")
        assert " in place of " in claim.holds_with()


def altered(name: str, *assignments: str, differs: list[dict[str, Any]] | None = None) -> Claims:
    """All claims, one of which is decided by a run with other settings, or names other differences."""
    claim = CLAIMS.claims[name]
    run = CLAIMS.runs[claim.run]
    changed = claim.model_copy(
        update={} if differs is None else {"differs": [Difference(**entry) for entry in differs]}
    )
    return CLAIMS.model_copy(
        update={
            "claims": CLAIMS.claims | {name: changed},
            "runs": CLAIMS.runs | {claim.run: run.model_copy(update={"set": [*run.set, *assignments]})},
        }
    )


@pytest.mark.parametrize(
    ("name", "assignment", "key"),
    [
        ("nkp24-startup-law", "links.slow.rate=256pps", "links.*.rate_pps"),
        ("nkp24-startup-law", "send_window=2MiB", "sessions.0.send_window_bytes"),
        ("nkp24-link-break-back", "transport=tcp", "sessions.0.transport"),
        ("nkp24-link-break-back", "links.second.queue=8x bdp", "links.*.queue.packets"),
        ("nkp24-speed-delays", "transfer=16MiB", "sessions.0.transfer_bytes"),
        ("cs244-bandwidth", "links.path.delay=30ms", "links.*.delay_ms"),
        ("cs244-rtt", "tcp.routes.sender.initrwnd=10", "tcp.routes.sender.initrwnd"),
        ("ndn-udp-rtt", "links.near.delay=0ms", "links.*.delay_ms"),
        ("ndn-udp-rtt", "ndn.send_buffer=364kB", "ndn.nodes.1.faces.0.send_buffer_bytes"),
        ("ndn-tcp-rtt", "ndn.send_queue=300kB", "ndn.nodes.1.faces.0.send_queue_bytes"),
        ("rwnd-unlimited", "tcp.object=2MiB", "tcp.object_bytes"),
        ("bdp-formula", "window=80KiB", "tcp.window_bytes"),
    ],
)
def test_a_set_up_that_was_changed_silently_is_found(name: str, assignment: str, key: str) -> None:
    found = wrong_setup(altered(name, assignment), name, POLICIES)
    assert any(f": {key} is " in text for text in found), found


def test_a_difference_that_is_not_named_any_more_is_found_and_one_that_is_none() -> None:
    name = "nkp24-link-break"
    told = [entry.model_dump() for entry in CLAIMS.claims[name].differs]
    assert any(
        "sessions.0.transport is 'tcp', the source has 'udp'" in text
        for text in wrong_setup(altered(name, differs=told[1:]), name, POLICIES)
    )
    more = [{"ours": "half of the rate", "theirs": "all of it", "keys": ["links.*.rate_pps"]}]
    assert wrong_setup(altered(name, differs=told + more), name, POLICIES) == [
        "links.*.rate_pps is said to differ, and does not"
    ]


def test_a_row_that_is_not_published_differs_in_all_that_its_file_gives() -> None:
    setup = CLAIMS.setups["cs244-segments"]
    plan: Any = {"tcp": {"objects_bytes": [4500]}}
    asked = setup.model_copy(update={"given": {}, "columns": {}})
    assert differing(asked, plan, "a", "3") == {}
    assert differing(asked, plan, "a", "4") == {"tcp.objects_bytes": "[4500], the source has [6000.0]"}
    assert differing(asked, plan, "a", "5") == {"tcp.objects_bytes": "[4500], the source has nothing"}


def test_keys_with_dots_and_lists_are_found() -> None:
    plan = {"sysctls": {"net.ipv4.tcp_rmem": "4096"}, "links": [{"rate": 1}, {"rate": 2}]}
    assert value_at(plan, "sysctls.net.ipv4.tcp_rmem") == "4096"
    assert value_at(plan, "links.*.rate") == [1, 2]
    assert value_at(plan, "links.1.rate") == 2
    assert value_at(plan, "links.7.rate") is None
    assert value_at(plan, "links.0.rate.of") is None
