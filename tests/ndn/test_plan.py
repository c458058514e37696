"""Plans of NDN: a node for each host of the chain, faces that meet, and what is refused."""

import pytest

from testbed import engines
from testbed.errors import BadInput
from testbed.plan.duration import expected_transfer_s
from testbed.plan.model import Plan
from testbed.planning.ndn import wire_bytes
from testbed.planning.resolve import Choices, new_run_id, resolve
from testbed.runtime.collectors import watch_list
from testbed.scenario.load import load
from testbed.traffic.ndn import Ndn, as_session_results
from tests.raises import Containing, Said


def plan_of(*assignments: str, quick: bool = False) -> Plan:
    return resolve(load("ndn", assignments, quick=quick), {}, Choices(), new_run_id())


def test_every_host_has_a_node_and_faces_meet() -> None:
    plan = plan_of("links.far.copies=2")
    nodes = plan["ndn"]["nodes"]
    assert [(node["host"], node["role"]) for node in nodes] == [
        ("h1", "consumer"),
        ("h2", "forwarder"),
        ("h3", "forwarder"),
        ("h4", "producer"),
    ]
    faces = {face["name"]: face for node in nodes for face in node["faces"]}
    assert list(faces) == ["h1-h2", "h2-h1", "h2-h3", "h3-h2", "h3-h4", "h4-h3"]
    for name, face in faces.items():
        there = faces["-".join(reversed(name.split("-")))]
        assert (face["local"], face["remote"]) == (there["remote"], there["local"])
        # Data comes from the side that listens.
        assert face["listen"] != there["listen"]
    assert faces["h2-h1"]["listen"]
    assert [node["routes"] for node in nodes[1:3]] == [
        [{"prefix": "/ncp-testbed/file", "face": "h2-h3"}],
        [{"prefix": "/ncp-testbed/file", "face": "h3-h4"}],
    ]
    assert (plan["routes"], plan["nodes"]) == ([], [])
    assert [host["name"] for host in plan["hosts"]] == ["h1", "h2", "h3", "h4"]


def test_the_session_is_what_others_read() -> None:
    plan = plan_of()
    session = plan["sessions"][0]
    assert (session["sender_host"], session["receiver_host"], session["policy"]) == ("h3", "h1", "udp-react")
    assert session["connections"][0]["link"] == "near"
    assert session["connections"][0]["path"] == ["far", "near"]
    # 100 MiB at 30 Mbit/s, with headers.
    assert expected_transfer_s(plan) == pytest.approx(30.4, abs=0.5)
    assert plan["limits"]["transfer_s"] > 3 * 29


@pytest.mark.parametrize(
    ("segment_bytes", "transport", "fragments"), [(1300, "udp", 1), (1400, "udp", 2), (4400, "udp", 4)]
)
def test_what_is_above_the_path_mtu_goes_in_fragments(segment_bytes: int, transport: str, fragments: int) -> None:
    assert wire_bytes(segment_bytes, transport) == segment_bytes + 90 + 8 + fragments * 34


@pytest.mark.parametrize(
    ("mode", "marking"),
    [
        ("hackathon", {"mode": "hackathon", "threshold_bytes": 50_000, "tcp_queue_packets": 10}),
        ("nfd", {"mode": "nfd", "threshold_bytes": 65_536, "interval_ms": 100.0}),
        ("off", {"mode": "off"}),
    ],
)
def test_a_mode_of_marking_has_its_own_threshold(mode: str, marking: dict[str, object]) -> None:
    asked = plan_of(f"ndn.marking={{mode: {mode}}}")
    assert asked["ndn"]["nodes"][1]["marking"] == marking


def test_a_faces_buffers_are_what_was_asked() -> None:
    asked = plan_of("ndn.send_buffer=364kB", "ndn.send_queue=300kB")
    for node in asked["ndn"]["nodes"]:
        for face in node["faces"]:
            # The kernel makes twice of it.
            assert (face["send_buffer_bytes"], face["send_queue_bytes"]) == (182_000, 300_000)
    assert "send_buffer_bytes" not in plan_of()["ndn"]["nodes"][0]["faces"][0]


def test_sockets_of_every_face_are_sampled() -> None:
    plan = plan_of("ndn.transport=tcp")
    hosts = {name: f"/run/netns/{name}" for name in ("h1", "h2", "h3")}
    watched = watch_list(plan, hosts, "/run/netns/x", Ndn.sockets(plan))["sockets"]
    assert [(s["host"], s["flow"], s["role"], s["protocol"]) for s in watched] == [
        ("h1", "h1-h2", "receiver", "tcp"),
        ("h2", "h2-h1", "sender", "tcp"),
        ("h2", "h2-h3", "receiver", "tcp"),
        ("h3", "h3-h2", "sender", "tcp"),
    ]
    assert {s["local"] for s in watched} == {s["remote"] for s in watched}


@pytest.mark.parametrize(
    ("assignments", "says"),
    [
        (["topology=parallel"], Said("topology.not-for-traffic", traffic="ndn", topology="parallel")),
        (["links=[{name: only, rate: 1mbit}]"], Said("ndn.no-forwarder")),
        (["ndn.object=1kB"], Said("ndn.object-too-small", object_bytes=1000, segment_bytes=4400)),
        (["ndn.segment=9kB"], Said("input.wrong-type", place=Containing("ndn.segment"))),
        (["ndn.prefix=file"], Said("input.wrong-type", place=Containing("ndn.prefix"))),
        (["ndn.marking.mode=red"], Said("input.wrong-type", place=Containing("ndn.marking.mode"))),
        (["ndn.consumer.beta=1"], Said("input.wrong-type", place=Containing("ndn.consumer.beta"))),
        (
            ["checks=[{name: g, judge: goodput, min: 0.5}]"],
            Said("check.of-other-traffic", judge="goodput", kinds="ncp or program", traffic="ndn"),
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(assignments: list[str], says: Said) -> None:
    with pytest.raises(BadInput) as refused:
        plan_of(*assignments)
    says.check(refused.value)


def test_virtual_time_has_no_sockets() -> None:
    plan = plan_of() | {"engine": "sim"}
    assert engines.of(plan).unsupported(plan) == ["ndn: it needs a kernel's sockets, which the simulator doesn't have"]


def test_results_of_nodes_are_those_of_a_session() -> None:
    plan = plan_of()
    face = {"name": "h2-h1", "backlog_max_bytes": 218_880, "drops": 3}
    results = as_session_results(
        plan,
        {
            "h1": {"role": "consumer", "bytes": 7, "figures": {"rtt_ms": 5.0}},
            "h2": {"role": "forwarder", "faces": [face, {"name": "h2-h3", "backlog_max_bytes": 1, "drops": 0}]},
            "h3": {"role": "producer", "bytes": 7, "sha256": "x"},
        },
    )
    assert {name: (r["role"], r["node_role"], r["session"]) for name, r in results.items()} == {
        "s1-receiver": ("receiver", "consumer", "s1"),
        "s1-h2": ("forwarder", "forwarder", "s1"),
        "s1-sender": ("sender", "producer", "s1"),
    }
    assert results["s1-sender"]["bytes"] == 7
    assert results["s1-h2"]["figures"] == {"backlog_max_bytes": 218_880.0, "forwarder_drops": 3.0}
    # A node that left nothing is no result.
    assert list(as_session_results(plan, {"h2": {"role": "forwarder"}})) == ["s1-h2"]
