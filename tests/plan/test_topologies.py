"""Plans of topologies beyond parallel links: their hops, addresses, routes and what a timeline does to them."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import paths
from testbed.errors import BadInput
from testbed.plan.duration import expected_transfer_s
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.scenario.load import load
from tests.raises import Containing, Said, raises
from topologies.layout import Ambiguous, Edge, Layout
from topologies.layout import Path as LayoutPath
from topologies.link import rate_pps
from topologies.shapes.chain import chain
from topologies.shapes.relays import relays

POLICIES: PolicyFacts = {name: {"name": name, "cap_packets": None, "initial": "W/n"} for name in ("previous", "nkp24")}


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
    assert (plan["nodes"], plan["routes"]) == ([], [])
    assert [c["path"] for c in plan["sessions"][0]["connections"]] == [["fast"], ["slow"]]
    assert_routed(plan)


def test_a_relayed_path_is_two_links_with_half_of_the_delay_each() -> None:
    plan = plan_of("relays", "links.slow.delay=25ms")
    assert [(link["name"], link["a"]["host"], link["b"]["host"]) for link in plan["links"]] == [
        ("fast-1", "h1", "r1"),
        ("fast-2", "r1", "h2"),
        ("slow-1", "h1", "r2"),
        ("slow-2", "r2", "h2"),
    ]
    assert [link["delay_ms"] for link in plan["links"]] == [25, 25, 12.5, 12.5]
    assert [rate_pps(link) for link in plan["links"]] == [1024, 1024, 128, 128]
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
    shape = relays([f"path-{number}" for number in range(count)])
    assert len({shape.ends(path) for path in shape.paths}) == count
    assert {shape.receiver(path) for path in shape.paths} == {"h2"}
    assert len(shape.routes()) == 2 * count


def test_impairments_and_a_queue_in_the_middle_are_the_first_hops() -> None:
    plan = plan_of("relays", "links.fast.loss=1%", "links.fast.jitter=2ms", "links.fast.queue={mode: droptail}")
    first, second = plan["links"][:2]
    assert (first["loss"], first["jitter_ms"], first["queue"]["mode"]) == (0.01, 2, "droptail")
    assert (second["loss"], second["queue"]["mode"]) == (0, "backpressure")
    assert "jitter_ms" not in second


def test_a_trace_on_a_relayed_path() -> None:
    with raises(BadInput, "link.trace-through-relay", field="links.fast.trace"):
        plan_of("relays", "links.fast.trace=x", "links.fast.queue={mode: droptail}")


def actions(folder: Path, event: str) -> list[dict[str, Any]]:
    scenario = folder / "scenario.yaml"
    scenario.write_text((paths.SCENARIOS / "relays.yaml").read_text() + f"timeline: [{event}]\n")
    found: list[Any] = list(plan_of(str(scenario))["timeline"])
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
    assert [a["link"] for a in actions(tmp_path, "{do: blackhole, link: slow, at: 1s, for: 1s}")] == ["slow-1"] * 2
    with raises(BadInput, "timeline.no-such-link", name="fast-1", guess="; did you mean 'fast'?"):
        actions(tmp_path, "{do: down, link: fast-1, at: 1s}")
    with raises(BadInput, "timeline.no-such-connection", name="3", guess=" (known: 1, 2)"):
        actions(tmp_path, "{do: pause_read, connection: 3, at: 1s, for: 1s}")


def test_two_ways_to_one_address_are_refused() -> None:
    edges = tuple(Edge(f"{a}{b}", a, b) for a, b in ("sx", "sy", "xz", "yz", "zd"))
    ways = tuple(LayoutPath("s", way) for way in (("sx", "xz", "zd"), ("sy", "yz", "zd")))
    with raises(Ambiguous, "topology.ambiguous-route", host="s", destination="198.18.5.2", first="198.18.1.2"):
        Layout(("s", "d"), (), edges, ways).routes()


def test_a_dumbbell_has_a_pair_of_hosts_per_session_and_flow() -> None:
    plan = plan_of("dumbbell")
    assert [host["name"] for host in plan["hosts"]] == ["a1", "b1", "a2", "b2"]
    assert {node["name"]: node["forwards"] for node in plan["nodes"]} == {
        "r1": True,
        "r2": True,
        "a3": False,
        "b3": False,
    }
    core = plan["links"][0]
    assert (core["name"], core["a"]["host"], core["b"]["host"]) == ("core", "r1", "r2")
    assert core["queue"] == {"mode": "droptail", "packets": 41}
    assert {link["queue"]["mode"] for link in plan["links"][1:]} == {"backpressure"}
    first, second = plan["sessions"]
    assert (first["start_s"], second["start_s"]) == (0, 2)
    assert first["payload_seed"] != second["payload_seed"]
    assert [c["link"] for c in second["connections"]] == ["core", "core"]
    ends = [(c["sender"], c["receiver"]) for s in plan["sessions"] for c in s["connections"]]
    assert len(set(ends)) == 3
    flow = plan["cross_traffic"][0]
    assert trip(plan, flow["client"], flow["server"]) == flow["path"] == ["access-a3", "core", "access-b3"]
    assert_routed(plan)
    # Two sessions of 2048 packets each on one link of 512 packets/s, the second from 2 s.
    assert expected_transfer_s(plan) == pytest.approx(2 + 4096 / 512)


def test_what_a_session_says_itself_counts() -> None:
    plan = plan_of("dumbbell", "sessions.second.transfer=1MiB", "sessions.second.initial_windows=[3, 1]")
    assert [session["transfer_bytes"] for session in plan["sessions"]] == [2 << 20, 1 << 20]
    assert [session["initial_windows"] for session in plan["sessions"]] == [None, [3, 1]]


def test_a_bottlenecks_queue_drops_without_being_asked() -> None:
    assert plan_of("dumbbell", "links.core.queue=10 packets")["links"][0]["queue"]["mode"] == "droptail"
    assert plan_of("dumbbell", "links.core.queue={mode: codel}")["links"][0]["queue"]["mode"] == "codel"


def test_access_is_faster_than_the_bottleneck_by_itself() -> None:
    plan = plan_of("dumbbell", "access={}")
    assert {link["rate_bps"] for link in plan["links"][1:]} == {2 * plan["links"][0]["rate_bps"]}
    assert {link["delay_ms"] for link in plan["links"][1:]} == {1}


@pytest.mark.parametrize(
    ("scenario", "assignments", "says"),
    [
        ("dumbbell", ["links.core.queue={mode: backpressure}"], Said("link.backpressure-at-router")),
        (
            "dumbbell",
            ["access.rate=1mbit"],
            Said("topology.access-too-slow", field="access.rate", access_mbit_per_s=1.0),
        ),
        (
            "dumbbell",
            ["links.core.name=access-x"],
            Said("topology.reserved-link-name", where=Containing("links.access-x")),
        ),
        ("dumbbell", ["sessions.second.name=first"], Said("scenario.name-twice", kind="session", name="first")),
        (
            "dumbbell",
            ["sessions.second.policy=reno"],
            Said("scenario.no-such-policy", place=Containing("sessions.second.policy"), name="reno"),
        ),
        (
            "dumbbell",
            ["ncp.initial_windows=[1]"],
            Said("ncp.windows-per-connection", windows=1, connections=2, session="second"),
        ),
        ("dumbbell", ["cross_traffic.1.for=1500ms"], Said("tcp.whole-seconds")),
        ("dumbbell", ["cross_traffic.1.tool=netperf"], Said("input.wrong-type", value="netperf", known="iperf3")),
        (
            "dumbbell",
            ["topology=parallel"],
            Said("topology.key-not-taken", key="sessions", topology="parallel", others=Containing("dumbbell or star")),
        ),
        (
            "relays",
            ["topology=dumbbell"],
            Said(
                "topology.links-do-not-fit",
                links=2,
                topology="dumbbell",
                expected="at most 1",
                description=Containing("the bottleneck"),
            ),
        ),
        (
            "dumbbell",
            ["sessions.second.sender=a1"],
            Said("topology.hosts-chosen", where="sessions.second.sender", topology="dumbbell"),
        ),
        (
            "star",
            ["sessions.s1.sender=h9"],
            Said("topology.bad-end", where="sessions.s1.sender", error="there is no host 'h9'", hosts="h1, h2, h3"),
        ),
        ("star", ["sessions.s1.sender=h2"], Said("topology.sends-to-itself", where="sessions.s1", sender="h2")),
        (
            "star",
            ["cross_traffic=[{tool: iperf3, for: 1s}]"],
            Said("topology.bad-end", where="cross_traffic.1.sender", error="is missing"),
        ),
        (
            "star",
            ["links.one.queue={mode: backpressure}"],
            Said("link.backpressure-at-router", where=Containing("links.one")),
        ),
        ("relays", ["topology=ring"], Said("input.wrong-type", known=Containing("parallel, relays"))),
    ],
)
def test_mistakes_are_told(scenario: str, assignments: list[str], says: Said) -> None:
    with pytest.raises(BadInput) as raised:
        plan_of(scenario, *assignments)
    says.check(raised.value)
    assert raised.value.exit_code == 2


def test_sessions_may_share_a_host() -> None:
    plan = plan_of("incast")
    assert [session["receiver_host"] for session in plan["sessions"]] == ["h4", "h4", "h4"]
    receivers = [c["receiver"] for session in plan["sessions"] for c in session["connections"]]
    assert receivers == [f"198.18.4.1:{port}" for port in (30001, 30002, 30003)]
    assert_routed(plan)


def test_a_star_has_a_link_per_host() -> None:
    plan = plan_of("star")
    assert [(link["name"], link["a"]["host"], link["b"]["host"]) for link in plan["links"]] == [
        ("one", "h1", "r1"),
        ("two", "h2", "r1"),
        ("three", "h3", "r1"),
    ]
    assert {link["queue"]["mode"] for link in plan["links"]} == {"droptail"}
    (connection,) = plan["sessions"][0]["connections"]
    assert (connection["link"], connection["path"]) == ("two", ["one", "two"])
    flow = plan["cross_traffic"][0]
    assert trip(plan, flow["client"], flow["server"]) == ["three", "two"]
    assert_routed(plan)


def test_a_chain_is_hosts_in_a_row_that_route_nothing() -> None:
    shape = chain(["near", "middle", "far"])
    assert shape.hosts == ("h1", "h2", "h3", "h4")
    assert [(edge.name, edge.a, edge.b) for edge in shape.edges] == [
        ("near", "h1", "h2"),
        ("middle", "h2", "h3"),
        ("far", "h3", "h4"),
    ]
    assert shape.nodes == ()
    assert shape.routes() == []


GRAPH = """
name: two-ways
title: Two ways around, told by the links themselves
topology: graph
links:
  - {name: up-1, ends: [h1, r1], rate: 1024pps, delay: 5ms}
  - {name: down-1, ends: [r1, h2], rate: 512pps, delay: 5ms}
  - {name: up-2, ends: [h1, r2], rate: 256pps, delay: 5ms}
  - {name: down-2, ends: [h2, r2], rate: 512pps, delay: 5ms}
ncp: {policy: nkp24, transfer: 1MiB}
sessions:
  - {name: s1, sender: h1, receiver: h2, paths: [[up-1, down-1], [up-2, down-2]]}
checks:
  - {name: payload, judge: payload_intact}
"""


def test_links_tell_their_ends_in_a_graph(tmp_path: Path) -> None:
    file = tmp_path / "two-ways.yaml"
    file.write_text(GRAPH)
    plan = plan_of(str(file))
    assert plan["topology"] == {"name": "graph"}
    assert [(link["name"], link["a"]["host"], link["b"]["host"]) for link in plan["links"]][2:] == [
        ("up-2", "h1", "r2"),
        ("down-2", "h2", "r2"),
    ]
    assert plan["nodes"] == [{"name": "r1", "forwards": True}, {"name": "r2", "forwards": True}]
    assert [link["queue"]["mode"] for link in plan["links"]] == ["backpressure", "droptail"] * 2
    assert_routed(plan)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("ends: [h1, r2], ", "", Said("topology.bad-ends", link="up-2", error="is missing; name its two nodes")),
        ("[h1, r2]", "[h1, h1]", Said("link.leads-to-itself", node="h1")),
        ("[h1, r2]", "[h1, nowhere-else]", Said("topology.node-name-too-long", node="nowhere-else")),
        (
            "[h1, r2]",
            "[h1, r3]",
            Said(
                "topology.path-broken", place=Containing("paths.2"), link="down-2", a="h2", b="r2", at="r3", here="up-2"
            ),
        ),
        (
            "topology: graph\n",
            "",
            Said(
                "topology.key-not-taken",
                key="sessions",
                topology="parallel",
                others=Containing("dumbbell or star or graph"),
            ),
        ),
        (
            "sender: h1",
            "sender: h9",
            Said(
                "topology.no-such-host",
                place=Containing("sessions.s1.sender"),
                name="h9",
                guess=" (known: h1, r1, h2, r2)",
            ),
        ),
        ("name: up-1, ends", "name: up-1, end", Said("input.unknown-key", key="end", guess="; did you mean 'ends'?")),
    ],
)
def test_mistakes_in_a_graph_are_told(tmp_path: Path, old: str, new: str, says: Said) -> None:
    file = tmp_path / "two-ways.yaml"
    file.write_text(GRAPH.replace(old, new))
    with pytest.raises(BadInput) as raised:
        plan_of(str(file))
    says.check(raised.value)
