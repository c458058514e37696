"""Topologies of other tools: what comes in, what is told of the rest, and what goes out."""

from pathlib import Path

import pytest

from testbed.errors import BadInput
from testbed.interchange.tools.bring_in import bring_in
from testbed.interchange.tools.to_clab import to_clab
from testbed.plan.model import Plan
from testbed.scenario.load import parse, plain
from tests.plan.test_topologies import assert_routed, plan_of
from tests.raises import Containing, Said, raises

CLAB = """
name: fabric
mgmt: {network: custom}
topology:
  nodes:
    client1:
      kind: linux
      exec: [ip addr add 10.0.0.1/24 dev eth1, tc qdisc add dev eth1 root netem delay 20ms 2ms loss 1% rate 10mbit]
    leaf_1: {kind: nokia_srlinux}
    Spine-One-Big: {kind: nokia_srlinux}
    client2: {kind: linux, exec: [apk add iperf3]}
  links:
    - endpoints: ["client1:eth1", "leaf_1:e1-1"]
    - {type: veth, mtu: 1500, endpoints: [{node: leaf_1, interface: e1-2}, {node: Spine-One-Big, interface: e1-1}]}
    - endpoints: ["Spine-One-Big:e1-2", "client2:eth1"]
    - {type: mgmt-net, endpoint: {node: leaf_1, interface: eth9}, host-interface: x}
# containerlab tools netem set -n clab-fabric-client2 -i eth1 --delay 5ms --rate 2000
"""
NETLAB = """
provider: clab
nodes: [h1, r1, r2, h2]
links:
- h1-r1
- h1:
  r2:
  tc.delay: 10ms
  tc.rate: 5000
- r1: {ospf.cost: 10}
  h2:
  prefix: 10.0.0.0/24
  tc: {delay: 30, jitter: 2ms, loss: 0.5, duplicate: 1, gap: 3}
- [r2, h2]
- [r1, r2, h2]
"""
MININET = """
from mininet.topo import Topo

class Line(Topo):
    def build(self):
        a, b, s = self.addHost("h1"), self.addHost("h2"), self.addSwitch("s1")
        self.addLink(a, s, bw=10, delay="5ms", loss=1, max_queue_size=100, use_htb=True)
        self.addLink(s, b, bw=0.5, delay="20ms", key="last")
"""


def brought_in(folder: Path, name: str, text: str) -> tuple[Plan, list[str]]:
    (folder / name).write_text(text)
    called, scenario, lost = bring_in(folder / name, None, folder)
    (folder / "made.yaml").write_text(scenario)
    plan = plan_of(str(folder / "made.yaml"))
    assert plan["scenario"] == called
    assert_routed(plan)
    return plan, lost


def asked(plan: Plan) -> list[tuple[str, str, str, float, float]]:
    return [(x["name"], x["a"]["host"], x["b"]["host"], x["rate_bps"], x["delay_ms"]) for x in plan["links"]]


def test_containerlab_comes_in_with_what_netem_is_told(tmp_path: Path) -> None:
    plan, lost = brought_in(tmp_path, "lab.clab.yml", CLAB)
    assert asked(plan) == [
        ("client1-leaf-1", "client1", "leaf-1", 10e6, 20),
        ("leaf-1-spine-one", "leaf-1", "spine-one", 100e6, 0),
        ("spine-one-client2", "spine-one", "client2", 2e6, 5),
    ]
    assert (plan["links"][0]["loss"], plan["links"][0]["jitter_ms"]) == (0.01, 2)
    assert lost == [
        "nodes.client2: exec apk add iperf3",
        "nodes: kind",
        "mgmt",
        "links.1: its directions differ; as here from the first end",
        "links.2: mtu",
        "links.3: its directions differ; as here from the second end",
        "links.4: mgmt-net is not between two nodes of the file",
        "node leaf_1: its name; it is leaf-1 here",
        "node Spine-One-Big: its name; it is spine-one here",
        "link leaf-1-spine-one (leaf-1–spine-one): it has no rate; 100mbit is written",
    ]


def test_netlab_comes_in_with_tc_of_its_links(tmp_path: Path) -> None:
    plan, lost = brought_in(tmp_path, "topology.yml", NETLAB)
    assert asked(plan)[1:3] == [("h1-r2", "h1", "r2", 5e6, 10), ("r1-h2", "r1", "h2", 100e6, 30)]
    assert plan["links"][2]["duplicate"] == 0.01
    assert [c["path"] for c in plan["sessions"][0]["connections"]] == [["h1-r1", "r1-h2"], ["h1-r2", "r2-h2"]]
    assert lost[:4] == [
        "provider",
        "links.3: prefix, what it says of r1",
        "links.3.tc: gap 3",
        "links.5: it has 3 ends that are nodes; two are carried",
    ]


def test_a_mininet_topo_comes_in_with_its_links_options(tmp_path: Path) -> None:
    pytest.importorskip("mininet.topo")
    plan, lost = brought_in(tmp_path, "line.py", MININET)
    assert asked(plan) == [("h1-s1", "h1", "s1", 10e6, 5), ("last", "s1", "h2", 5e5, 20)]
    assert (plan["links"][0]["queue"], plan["links"][0]["loss"]) == ({"mode": "droptail", "packets": 100}, 0.01)
    assert lost == ["link 1 (h1–s1): use_htb True"]
    two = MININET + "class Other(Line):\n    pass\n"
    (tmp_path / "two.py").write_text(two)
    with raises(BadInput, "import.which-class", classes="Line, Other"):
        bring_in(tmp_path / "two.py", None, tmp_path)


def test_links_off_the_way_are_told(tmp_path: Path) -> None:
    text = "nodes: [a, b, c, d]\nlinks: [a-b, b-c, c-d, b-d]\n"
    plan, lost = brought_in(tmp_path, "y.yml", text)
    assert [x["name"] for x in plan["links"]] == ["a-b", "b-d"]
    assert "link b-c (b–c): no path from a to d goes over it" in lost


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("topology: {nodes: {a: {}}, links: []}", Said("import.no-link")),
        ("topology: none", Said("import.no-link")),
        ("nodes: [a]\nlinks: [a]", Said("import.no-link")),
        ("name: x\nlinks: []\nchecks: []", Said("import.unknown-format")),
        ("- a", Said("scenario.not-a-mapping", should_be="a topology is a mapping")),
        ("a: [", Said("yaml.invalid", place=Containing("x.yml"))),
    ],
)
def test_what_leaves_nothing_is_refused(tmp_path: Path, text: str, says: Said) -> None:
    (tmp_path / "x.yml").write_text(text)
    with pytest.raises(BadInput) as raised:
        bring_in(tmp_path / "x.yml", None, tmp_path)
    says.check(raised.value)


@pytest.mark.parametrize(
    "name", ["startup", "startup links.fast.corrupt=1% links.fast.jitter=2ms links.slow.loss=0.5%", "dumbbell", "star"]
)
def test_out_to_containerlab_and_in_again_the_links_are_the_same(tmp_path: Path, name: str) -> None:
    plan = plan_of(*name.split())
    text, told = to_clab(plan)
    (tmp_path / "out.clab.yml").write_text(text)
    assert told[0] == "what is sent (ncp) and what has to hold (checks)"
    _, scenario, lost = bring_in(tmp_path / "out.clab.yml", None, tmp_path)
    (tmp_path / "again.yaml").write_text(scenario)
    links = {link["name"]: link for link in plan["links"]}
    for link in plan_of(str(tmp_path / "again.yaml"))["links"]:
        before = links.pop(link["name"])
        assert [link[end]["host"] for end in ("a", "b")] == [before[end]["host"] for end in ("a", "b")]
        assert link["rate_bps"] == pytest.approx(before["rate_bps"], abs=500)
        assert [link.get(key) for key in ("delay_ms", "jitter_ms", "loss", "corrupt")] == [
            before.get(key) for key in ("delay_ms", "jitter_ms", "loss", "corrupt")
        ]
    assert all(any(f"link {left} " in text and "no path" in text for text in lost) for left in links)


def test_what_goes_out_has_containerlabs_form(tmp_path: Path) -> None:
    """By the fields of its schema: a name, nodes with a kind and an image, links with two ends as node:interface."""
    plan = plan_of("dumbbell")
    document = plain(parse(tmp_path / "out.clab.yml", to_clab(plan)[0], "a mapping"))
    assert set(document) == {"name", "topology"}
    nodes, links = document["topology"]["nodes"], document["topology"]["links"]
    assert all(set(node) == {"kind", "image", "exec"} and node["exec"] for node in nodes.values())
    assert "sysctl -w net.ipv4.ip_forward=1" in nodes["r1"]["exec"]
    assert len(links) == len(plan["links"])
    ends = [end for link in links for end in link["endpoints"]]
    assert len(set(ends)) == len(ends)
    assert {end.split(":")[0] for end in ends} == set(nodes)


def test_what_no_containerlab_file_holds_is_told() -> None:
    told = to_clab(plan_of("star", "links.two.burst_loss={enter: 1%, leave: 20%}"))[1]
    assert "cross traffic" in told
    assert any(text.startswith("link two: its queue, droptail of 60 packets") for text in told)
    assert "link two: gilbert_elliott" in told
