"""Plans of topologies beyond parallel links: their hops, addresses, routes and what a timeline does to them."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import paths
from testbed.errors import BadInput
from testbed.plan import layout
from testbed.plan.layout import Ambiguous, Edge, Layout
from testbed.plan.resolve import Choices, Plan, expected_transfer_s, new_run_id, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.scenario.load import load

POLICIES: PolicyFacts = {"nkp24": {"name": "nkp24", "cap_packets": None, "initial": "W/n"}}


def plan_of(scenario: str, *assignments: str) -> Plan:
    return resolve(load(scenario, assignments), POLICIES, Choices(), new_run_id())


def trip(plan: Plan, source: str, destination: str) -> list[str]:
    """The links that a packet crosses by the plan's routes, as the kernel takes them."""
    ends = {end["address"]: (link, end) for link in plan["links"] for end in (link["a"], link["b"])}
    at = ends[source][1]["host"]
    crossed: list[str] = []
    while at != ends[destination][1]["host"]:
        assert len(crossed) < len(plan["links"]), f"goes in circles: {crossed}"
        own = [(link, end) for link, end in ends.values() if end["host"] == at]
        direct = [
            (link, end)
            for link, end in own
            if ip_address(destination) in ip_network(f"{end['address']}/{end['prefix']}", strict=False)
        ]
        if direct:
            link, near = direct[0]
        else:
            route = next(r for r in plan["routes"] if (r["host"], r["to"]) == (at, destination))
            link, near = next((link, end) for link, end in own if end["interface"] == route["interface"])
            assert route["via"] in (link["a"]["address"], link["b"]["address"])
            assert route["via"] != near["address"]
        crossed.append(link["name"])
        at = next(end["host"] for end in (link["a"], link["b"]) if end is not near)
    return crossed


def assert_routed(plan: Plan) -> None:
    """Every connection's packets take its path, and those back the same path."""
    for session in plan["sessions"]:
        for connection in session["connections"]:
            sender, receiver = (connection[role].split(":")[0] for role in ("sender", "receiver"))
            assert trip(plan, sender, receiver) == connection["path"]
            assert trip(plan, receiver, sender) == connection["path"][::-1]


def test_parallel_links_are_paths_of_one_link() -> None:
    plan = plan_of("startup")
    assert plan["nodes"] == plan["routes"] == []
    assert [c["path"] for c in plan["sessions"][0]["connections"]] == [["fast"], ["slow"]]
    assert_routed(plan)


def test_a_relayed_path_is_two_links_with_half_of_the_delay_each() -> None:
    plan = plan_of("relays", "links.slow.delay=25ms")
    assert [(link["name"], link["a"]["host"], link["b"]["host"]) for link in plan["links"]] == [
        ("fast-1", "h1", "r1"), ("fast-2", "r1", "h2"), ("slow-1", "h1", "r2"), ("slow-2", "r2", "h2"),
    ]  # fmt: skip
    assert [link["delay_ms"] for link in plan["links"]] == [25, 25, 12.5, 12.5]
    assert [link["rate_pps"] for link in plan["links"]] == [1024, 1024, 128, 128]
    # Sized to the path's delay, not to the hop's.
    assert plan["links"][0]["queue"] == {"mode": "backpressure", "packets": 102}
    assert [host["name"] for host in plan["hosts"]] == ["h1", "h2"]
    assert plan["nodes"] == [{"name": "r1", "forwards": True}, {"name": "r2", "forwards": True}]
    fast, slow = plan["sessions"][0]["connections"]
    assert (fast["link"], fast["path"]) == ("fast-1", ["fast-1", "fast-2"])
    assert (slow["sender"], slow["receiver"]) == ("198.18.3.1:30002", "198.18.4.2:30002")
    assert expected_transfer_s(plan) == pytest.approx(32768 / 1152)
    assert_routed(plan)


@given(st.integers(1, 64))
def test_any_number_of_relayed_paths_is_routed(count: int) -> None:
    shape = layout.relays([f"path-{number}" for number in range(count)])
    assert len({shape.ends(path) for path in shape.paths}) == count
    assert {shape.receiver(path) for path in shape.paths} == {"h2"}
    assert len(shape.routes()) == 2 * count


def test_impairments_and_a_queue_in_the_middle_are_the_first_hops() -> None:
    plan = plan_of(
        "relays", "links.fast.loss=1%", "links.fast.jitter=2ms", "links.fast.queue={mode: droptail}"
    )
    first, second = plan["links"][:2]
    assert (first["loss"], first["jitter_ms"], first["queue"]["mode"]) == (0.01, 2, "droptail")
    assert (second["loss"], second["queue"]["mode"]) == (0, "backpressure")
    assert "jitter_ms" not in second


def test_a_trace_on_a_relayed_path() -> None:
    with pytest.raises(BadInput, match=r"links\.fast\.trace: .* use topology: parallel"):
        plan_of("relays", "links.fast.trace=x", "links.fast.queue={mode: droptail}")


def actions(folder: Path, event: str) -> list[dict[str, Any]]:
    scenario = folder / "scenario.yaml"
    scenario.write_text((paths.SCENARIOS / "relays.yaml").read_text() + f"timeline: [{event}]\n")
    found = plan_of(str(scenario))["timeline"]
    return [{k: a[k] for k in ("link", "properties", "up") if k in a} for a in found]


def test_a_timeline_acts_on_whole_paths(tmp_path: Path) -> None:
    assert actions(tmp_path, "{do: set, link: fast, at: 1s, delay: 100ms, loss: 1%}") == [
        {"link": "fast-1", "properties": {"delay_ms": 50, "loss": 0.01}},
        {"link": "fast-2", "properties": {"delay_ms": 50}},
    ]
    rate = {"rate_bps": 512 * 1073 * 8}
    assert actions(tmp_path, "{do: set, link: fast, at: 1s, rate: 512pps}") == [
        {"link": "fast-1", "properties": rate},
        {"link": "fast-2", "properties": rate},
    ]
    assert actions(tmp_path, "{do: down, link: slow, at: 1s}") == [{"link": "slow-1", "up": False}]
    assert [a["link"] for a in actions(tmp_path, "{do: blackhole, link: slow, at: 1s, for: 1s}")] == [
        "slow-1"
    ] * 2
    with pytest.raises(BadInput, match="there is no link 'fast-1'; links: fast, slow"):
        actions(tmp_path, "{do: down, link: fast-1, at: 1s}")
    with pytest.raises(BadInput, match="there is no connection 3; there are 1 to 2"):
        actions(tmp_path, "{do: pause_read, connection: 3, at: 1s, for: 1s}")


def test_two_ways_to_one_address_are_refused() -> None:
    edges = tuple(Edge(f"{a}{b}", a, b) for a, b in ("sx", "sy", "xz", "yz", "zd"))
    ways = tuple(layout.Path("s", way) for way in (("sx", "xz", "zd"), ("sy", "yz", "zd")))
    with pytest.raises(Ambiguous, match=r"s would need two ways to 198\.18\.5\.2: by 198\.18\.1\.2"):
        Layout(("s", "d"), (), edges, ways).routes()
