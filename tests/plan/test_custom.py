"""Scenarios over Mininet topologies of the user's own: how links and paths are matched, and each mistake."""

import os
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.errors import BadInput
from testbed.judge.checks import planned
from tests.plan.test_topologies import assert_routed, plan_of
from tests.raises import Containing, Said

pytest.importorskip("mininet.topo")

DIAMOND = """
from mininet.topo import Topo

class Diamond(Topo):
    def build(self, middle=2, broken=False):
        self.addHost("h1"), self.addHost("h2")
        if broken:
            raise KeyError("a reason")
        for number in range(1, middle + 1):
            self.addSwitch(f"s{number}")
            self.addLink("h1", f"s{number}"KEY_A)
            self.addLink(f"s{number}", "h2"KEY_B)

class NoTopo:
    pass
"""
SCENARIO = """
name: diamond
title: Two ways around
topology: {file: diamond.py, class: Diamond}
links:
  - {name: up-1, rate: 1024pps, delay: 5ms}
  - {name: down-1, rate: 512pps, delay: 5ms}
  - {name: up-2, rate: 256pps, delay: 5ms}
  - {name: down-2, rate: 512pps, delay: 5ms}
ncp: {policy: nkp24, transfer: 1MiB}
sessions:
  - {name: s1, sender: h1, receiver: h2, paths: [[up-1, down-1], [up-2, down-2]]}
checks:
  - {name: payload, judge: payload_intact}
"""
KEYS = (', key=f"up-{number}"', ', key=f"down-{number}"')


def write(folder: Path, scenario: str = SCENARIO, topo: str = DIAMOND, keys: tuple[str, str] = KEYS) -> str:
    (folder / "diamond.py").write_text(topo.replace("KEY_A", keys[0]).replace("KEY_B", keys[1]))
    file = folder / "diamond.yaml"
    file.write_text(scenario)
    return str(file)


def refusal(file: str, *assignments: str) -> BadInput:
    with pytest.raises(BadInput) as raised:
        plan_of(file, *assignments)
    assert raised.value.exit_code == 2
    assert not raised.value.message.count("Traceback")
    return raised.value


@pytest.mark.parametrize("keys", [KEYS, ("", "")], ids=["by name", "in order"])
def test_links_are_the_scenarios_and_paths_the_connections(tmp_path: Path, keys: tuple[str, str]) -> None:
    plan = plan_of(write(tmp_path, keys=keys))
    assert plan["topology"] == {
        "name": "custom",
        "file": str(tmp_path / "diamond.py"),
        "class": "Diamond",
        "options": {},
    }
    assert [(link["name"], link["a"]["host"], link["b"]["host"]) for link in plan["links"]] == [
        ("up-1", "h1", "s1"),
        ("down-1", "s1", "h2"),
        ("up-2", "h1", "s2"),
        ("down-2", "s2", "h2"),
    ]
    assert [host["name"] for host in plan["hosts"]] == ["h1", "h2"]
    assert plan["nodes"] == [{"name": "s1", "forwards": True}, {"name": "s2", "forwards": True}]
    # A sender's own queue pushes back on it; a router's drops.
    assert [link["queue"]["mode"] for link in plan["links"]] == ["backpressure", "droptail"] * 2
    assert [c["link"] for c in plan["sessions"][0]["connections"]] == ["down-1", "up-2"]
    assert_routed(plan)


def test_named_links_may_come_in_any_order(tmp_path: Path) -> None:
    first, second = ("  - {name: up-1, rate: 1024pps, delay: 5ms}\n", "  - {name: down-1, rate: 512pps, delay: 5ms}\n")
    plan = plan_of(write(tmp_path, SCENARIO.replace(first + second, second + first)))
    assert [(link["name"], link["a"]["host"]) for link in plan["links"]][:2] == [("down-1", "s1"), ("up-1", "h1")]
    assert_routed(plan)


def test_options_are_the_classes_arguments_and_names_its_own(tmp_path: Path) -> None:
    message = refusal(write(tmp_path), "topology.options={middle: 3}")
    Said("topology.link-not-described", place=Containing("links"), links="up-3, down-3").check(message)


def test_cross_traffic_has_hosts_and_a_path(tmp_path: Path) -> None:
    text = SCENARIO.replace("paths: [[up-1, down-1], [up-2, down-2]]", "paths: [[up-1, down-1]]")
    flow = "{tool: iperf3, sender: h1, receiver: h2, path: [up-2, down-2], for: 1s}"
    plan = plan_of(write(tmp_path, text + f"cross_traffic: [{flow}]\n"))
    assert plan["cross_traffic"][0]["path"] == ["up-2", "down-2"]
    assert (plan["cross_traffic"][0]["client"], plan["cross_traffic"][0]["server"]) == ("198.18.3.1", "198.18.4.2")


def test_a_shared_link_is_halved_between_its_connections() -> None:
    plan = plan_of(str(paths.SCENARIOS / "shared-edge.yaml"))
    session = plan["sessions"][0]
    assert [c["link"] for c in session["connections"]] == ["alone-1", "shared", "shared"]
    assert planned.rates_pps(plan, session) == {"1": 512, "2": 256, "3": 256}
    assert_routed(plan)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "file: diamond.py",
            "file: dimond.py",
            Said("topology.file-not-readable", file=Containing("dimond.py"), reason="No such file or directory"),
        ),
        (
            "class: Diamond",
            "class: Dimond",
            Said("topology.no-such-class", name="Dimond", guess="; did you mean 'Diamond'?"),
        ),
        ("class: Diamond", "class: NoTopo", Said("topology.no-topo", field="topology.class", topology="NoTopo")),
        ("{file: diamond.py, class: Diamond}", "{file: diamond.py}", Said("topology.file-and-class")),
        ("{file: diamond.py, class: Diamond}", "custom", Said("topology.file-and-class")),
        (
            "class: Diamond}",
            "clas: Diamond}",
            Said("input.unknown-key", key="clas", guess=Containing("; did you mean 'class'")),
        ),
        (
            "class: Diamond",
            "class: Diamond, options: {broken: true}",
            Said(
                "topology.class-raised",
                field="topology.class",
                topology="Diamond",
                options="broken=True",
                said="KeyError: 'a reason'",
                at_line=" (diamond.py:8)",
            ),
        ),
        (
            "class: Diamond",
            "class: Diamond, options: {size: 3}",
            Said("topology.class-raised", said=Containing("TypeError:")),
        ),
        (
            "sender: h1",
            "sender: h9",
            Said(
                "topology.no-such-host",
                place=Containing("sessions.s1.sender"),
                name="h9",
                guess=" (known: h1, h2, s1, s2)",
            ),
        ),
        ("sender: h1, ", "", Said("topology.no-end", where="sessions.s1.sender", owner="Diamond")),
        ("receiver: h2", "receiver: h1", Said("topology.sends-to-itself", where="sessions.s1", sender="h1")),
        (
            "[up-2, down-2]",
            "[up-2, dwn-2]",
            Said(
                "topology.path-link-unknown",
                place=Containing("sessions.s1.paths.2"),
                name="dwn-2",
                guess="; did you mean 'down-2'?",
            ),
        ),
        (
            "[up-2, down-2]",
            "[up-2, down-1]",
            Said(
                "topology.path-broken",
                place=Containing("paths.2"),
                link="down-1",
                a="s1",
                b="h2",
                at="s2",
                here=Containing("up-2"),
            ),
        ),
        (
            "[up-2, down-2]",
            "[up-2]",
            Said("topology.path-ends-elsewhere", place=Containing("sessions.s1.paths.2"), at="s2", receiver="h2"),
        ),
        (
            "[up-2, down-2]",
            "[up-2, up-2]",
            Said("topology.path-loops", place=Containing("paths.2"), link="up-2", at="h1"),
        ),
        (", [up-2, down-2]", "", Said("topology.link-unused", place=Containing("links.up-2"))),
        (", paths: [[up-1, down-1], [up-2, down-2]]", "", Said("topology.no-paths", where="sessions.s1", key="paths")),
        ("receiver: h2", "receiver: h2, connections: 2", Said("topology.connections-given")),
        (
            "name: up-2",
            "name: up-3",
            Said("topology.no-such-link", place=Containing("links"), link="up-3", known=Containing("up-1 (h1–s1)")),
        ),
        (
            "rate: 512pps, delay: 5ms}\n  - {name: up",
            "rate: 512pps, queue: {mode: backpressure}}\n  - {name: up",
            Said("link.backpressure-at-router", where=Containing("links.down-1")),
        ),
        ("sessions:\n", "cross_traffic: []\nsession:\n", Said("input.unknown-key", key="session")),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, says: Said) -> None:
    assert old in SCENARIO
    message = refusal(write(tmp_path, SCENARIO.replace(old, new)))
    assert str(message).startswith(f"{tmp_path}/diamond.yaml")
    says.check(message)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "import Topo",
            "import Topology",
            Said("topology.file-raised", file=Containing("diamond.py"), said=Containing("ImportError:")),
        ),
        (
            "class Diamond(Topo):",
            "class Diamond(Topo)",
            Said("topology.not-python", file=Containing("diamond.py"), line=4, error="expected ':'"),
        ),
        ('"h1"', '"a-host-of-a-long-name"', Said("topology.node-name-too-long")),
        ('"h1"', '"h 1"', Said("topology.bad-node-name", node="h 1")),
        ("KEY_B", "", Said("topology.some-links-named", named=2, links=4)),
        ("KEY_B", "KEY_A", Said("topology.link-name-twice", link="up-1")),
        (
            '"h2"KEY_B)',
            '"h2"KEY_B)\n        self.addLink("h1", "h2", key="x")',
            Said("topology.link-not-described", place=Containing("links"), links="x"),
        ),
        (
            'self.addHost("h2")',
            'exit("no more")',
            Said("topology.class-raised", said="SystemExit: no more", at_line=" (diamond.py:6)"),
        ),
    ],
)
def test_mistakes_in_the_python_file_are_located(tmp_path: Path, old: str, new: str, says: Said) -> None:
    assert old in DIAMOND
    message = refusal(write(tmp_path, topo=DIAMOND.replace(old, new)))
    assert str(message).startswith(f"{tmp_path}/diamond.yaml: topology.") or "links: the topology's x" in str(message)
    says.check(message)


def test_more_links_than_the_topology_has_can_not_be_matched_in_order(tmp_path: Path) -> None:
    text = SCENARIO.replace("ncp:", "  - {name: more, rate: 1pps}\nncp:")
    message = refusal(write(tmp_path, text, keys=("", "")))
    Said("topology.number-of-links", described=5, links=4, shown=Containing("1 (h1–s1), 2 (s1–h2)")).check(message)


def test_paths_that_meet_before_their_host_are_refused(tmp_path: Path) -> None:
    to_h2 = 'self.addLink(f"s{number}", "h2"KEY_B)'
    topo = DIAMOND.replace(to_h2, 'self.addLink(f"s{number}", "end"KEY_B)')
    topo = topo.replace("        if broken", '        self.addHost("end")\n        if broken')
    topo = topo.replace("class NoTopo", "        self.addLink('end', 'h2', key='last')\n\nclass NoTopo")
    text = SCENARIO.replace("down-1]", "down-1, last]").replace("down-2]", "down-2, last]")
    text = text.replace("ncp:", "  - {name: last, rate: 1024pps}\nncp:")
    message = refusal(write(tmp_path, text, topo))
    Said("topology.ambiguous-route", host="h1", destination="198.18.5.2").check(message)


def test_a_host_that_sends_itself_passes_nothing_on(tmp_path: Path) -> None:
    text = SCENARIO.replace("checks:", "  - {name: s2, sender: s1, receiver: h2, paths: [[down-1]]}\nchecks:")
    Said("topology.path-through-host", host="s1").check(refusal(write(tmp_path, text)))


def test_routes_need_links_whose_addresses_are_known(tmp_path: Path) -> None:
    topo = DIAMOND.replace("class NoTopo", "        route(self, ('h1', 'up-1', 'down-1'))\n\nclass NoTopo")
    topo = topo.replace("import Topo\n", "import Topo\nfrom topologies.custom import route\n")
    message = refusal(write(tmp_path, topo=topo))
    Said(
        "topology.class-raised", said=Containing("ValueError: link 'up-1' between h1 and s1 is no EmulatedLink")
    ).check(message)


@pytest.mark.parametrize("key", ["paths: [[one, two]]", "sender: h1"])
def test_other_topologies_tell_paths_and_hosts_themselves(key: str) -> None:
    session: Any = "sessions=[{name: first, " + key + "}]"
    assert "leave it out" in str(refusal("dumbbell", session))


ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to others")


@ROOT
@pytest.mark.parametrize("name", ["diamond.py", "."], ids=["file", "folder"])
@pytest.mark.parametrize("mode", [0o777, 0o722, 0o702])
def test_what_others_may_write_is_not_carried_out_as_root(tmp_path: Path, name: str, mode: int) -> None:
    file = write(tmp_path, topo="raise SystemExit('carried out')\n")
    os.chown(tmp_path / name, 0, 1234)
    (tmp_path / name).chmod(mode)
    said = refusal(file)
    assert f"{(tmp_path / name).resolve()} may be written by others (mode {mode:o})" in str(said)
    Said("topology.others-may-write", field="topology.file").check(said)
    Said("topology.others-may-write", error=Containing("chmod go-w")).check(said)


@ROOT
@pytest.mark.parametrize("name", ["diamond.py", "."], ids=["file", "folder"])
def test_somebody_elses_file_is_not_carried_out_as_root(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, topo="raise SystemExit('carried out')\n")
    os.chown(tmp_path / name, 1234, 1234)
    assert f"{(tmp_path / name).resolve()} belongs to user 1234" in str(refusal(file))
    monkeypatch.setenv("SUDO_UID", "1235")
    Said(
        "topology.others-may-write", error=Containing("only a file and a folder that are root's or yours are used")
    ).check(refusal(file))
    monkeypatch.setenv("SUDO_UID", "1234")
    Said("topology.file-raised", said=Containing("carried out")).check(refusal(file))


@ROOT
def test_a_link_to_somebody_elses_file_is_not_carried_out_as_root(tmp_path: Path) -> None:
    file = write(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "diamond.py").rename(elsewhere / "diamond.py")
    (tmp_path / "diamond.py").symlink_to(elsewhere / "diamond.py")
    os.chown(elsewhere, 1234, 0)
    assert f"{elsewhere.resolve()} belongs to user 1234" in str(refusal(file))


@ROOT
def test_the_callers_own_group_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is where each user has a group and a mask of 002."""
    file = write(tmp_path)
    for path in (tmp_path, tmp_path / "diamond.py"):
        os.chown(path, 1234, 1234)
        path.chmod(0o775)
    monkeypatch.setenv("SUDO_UID", "1234")
    Said("topology.others-may-write", error=Containing("may be written by others")).check(refusal(file))
    monkeypatch.setenv("SUDO_GID", "1234")
    plan_of(file)
