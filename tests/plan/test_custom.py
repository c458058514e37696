"""Scenarios over Mininet topologies of the user's own: how links and paths are matched, and each mistake."""

import os
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.checks import asked
from testbed.errors import BadInput
from tests.plan.test_topologies import assert_routed, plan_of

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


def refusal(file: str, *assignments: str) -> str:
    with pytest.raises(BadInput) as raised:
        plan_of(file, *assignments)
    assert raised.value.exit_code == 2
    assert not raised.value.message.count("Traceback")
    return raised.value.message


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
    assert "links: the topology's up-3, down-3 is not described" in message


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
    assert asked.rates_pps(plan, session) == {"1": 512, "2": 256, "3": 256}
    assert_routed(plan)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("file: diamond.py", "file: dimond.py", "topology.file: {folder}/dimond.py: No such file or directory"),
        ("class: Diamond", "class: Dimond", "no class 'Dimond'; did you mean 'Diamond'? (its Topo classes: Diamond)"),
        ("class: Diamond", "class: NoTopo", "topology.class: 'NoTopo' in {folder}/diamond.py is no Mininet Topo"),
        ("{file: diamond.py, class: Diamond}", "{file: diamond.py}", "with both"),
        ("{file: diamond.py, class: Diamond}", "custom", "with both"),
        ("class: Diamond}", "clas: Diamond}", "unknown key 'clas'; did you mean 'class'"),
        (
            "class: Diamond",
            "class: Diamond, options: {broken: true}",
            "topology.class: Diamond(broken=True) raised KeyError: 'a reason' (diamond.py:8)",
        ),
        ("class: Diamond", "class: Diamond, options: {size: 3}", "raised TypeError: "),
        ("sender: h1", "sender: h9", "sessions.s1.sender: there is no host 'h9'; nodes: h1, h2, s1, s2"),
        ("sender: h1, ", "", "sessions.s1.sender: is missing; name a host of Diamond"),
        ("receiver: h2", "receiver: h1", "sessions.s1: h1 sends to itself"),
        ("[up-2, down-2]", "[up-2, dwn-2]", "sessions.s1.paths.2: there is no link 'dwn-2'; links: up-1, down-1"),
        ("[up-2, down-2]", "[up-2, down-1]", "paths.2: down-1 is between s1 and h2, and the path is at s2: up-2"),
        ("[up-2, down-2]", "[up-2]", "sessions.s1.paths.2: it ends at s2, and the receiver is h2"),
        ("[up-2, down-2]", "[up-2, up-2]", "paths.2: up-2 leads back to h1"),
        (", [up-2, down-2]", "", "links.up-2: no path crosses it"),
        (", paths: [[up-1, down-1], [up-2, down-2]]", "", "sessions.s1.paths: is missing; name the links"),
        ("receiver: h2", "receiver: h2, connections: 2", "connections: there is one for each of its paths"),
        ("name: up-2", "name: up-3", "links.up-3: the topology has no link of that name; it has up-1 (h1–s1)"),
        (
            "rate: 512pps, delay: 5ms}\n  - {name: up",
            "rate: 512pps, queue: {mode: backpressure}}\n  - {name: up",
            "links.down-1.queue.mode: 'backpressure' is a sender's own",
        ),
        ("sessions:\n", "cross_traffic: []\nsession:\n", "unknown key 'session'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in SCENARIO
    message = refusal(write(tmp_path, SCENARIO.replace(old, new)))
    assert message.startswith(f"{tmp_path}/diamond.yaml")
    assert says.format(folder=tmp_path) in message if "{folder}" in says else says in message, message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("import Topo", "import Topology", "topology.file: {folder}/diamond.py can't be loaded: ImportError: "),
        ("class Diamond(Topo):", "class Diamond(Topo)", "{folder}/diamond.py:4: not Python: expected ':'"),
        ('"h1"', '"a-host-of-a-long-name"', "interfaces' names would be longer than Linux"),
        ('"h1"', '"h 1"', "node 'h 1': use letters, digits, - and _"),
        ("KEY_B", "", "2 of 4 links have a name (key=…); give all of them one, or none"),
        ("KEY_B", "KEY_A", "two links are named 'up-1' (key=…)"),
        (
            '"h2"KEY_B)',
            '"h2"KEY_B)\n        self.addLink("h1", "h2", key="x")',
            "links: the topology's x is not described",
        ),
        ('self.addHost("h2")', 'exit("no more")', "raised SystemExit: no more (diamond.py:6)"),
    ],
)
def test_mistakes_in_the_python_file_are_located(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in DIAMOND
    message = refusal(write(tmp_path, topo=DIAMOND.replace(old, new)))
    assert message.startswith(f"{tmp_path}/diamond.yaml: topology.") or "links: the topology's x" in message
    assert (says.replace("{folder}", str(tmp_path))) in message, message


def test_more_links_than_the_topology_has_can_not_be_matched_in_order(tmp_path: Path) -> None:
    text = SCENARIO.replace("ncp:", "  - {name: more, rate: 1pps}\nncp:")
    message = refusal(write(tmp_path, text, keys=("", "")))
    assert "5 links for the 4 of the topology, which are matched in order: 1 (h1–s1), 2 (s1–h2)" in message


def test_paths_that_meet_before_their_host_are_refused(tmp_path: Path) -> None:
    to_h2 = 'self.addLink(f"s{number}", "h2"KEY_B)'
    topo = DIAMOND.replace(to_h2, 'self.addLink(f"s{number}", "end"KEY_B)')
    topo = topo.replace("        if broken", '        self.addHost("end")\n        if broken')
    topo = topo.replace("class NoTopo", "        self.addLink('end', 'h2', key='last')\n\nclass NoTopo")
    text = SCENARIO.replace("down-1]", "down-1, last]").replace("down-2]", "down-2, last]")
    text = text.replace("ncp:", "  - {name: last, rate: 1024pps}\nncp:")
    message = refusal(write(tmp_path, text, topo))
    assert "h1 would need two ways to 198.18.5.2" in message


def test_a_host_that_sends_itself_passes_nothing_on(tmp_path: Path) -> None:
    text = SCENARIO.replace("checks:", "  - {name: s2, sender: s1, receiver: h2, paths: [[down-1]]}\nchecks:")
    assert "goes through s1, which sends or receives itself" in refusal(write(tmp_path, text))


def test_routes_need_links_whose_addresses_are_known(tmp_path: Path) -> None:
    topo = DIAMOND.replace("class NoTopo", "        route(self, ('h1', 'up-1', 'down-1'))\n\nclass NoTopo")
    topo = topo.replace("import Topo\n", "import Topo\nfrom topologies.custom import route\n")
    message = refusal(write(tmp_path, topo=topo))
    assert "raised ValueError: link 'up-1' between h1 and s1 is no EmulatedLink" in message


@pytest.mark.parametrize("key", ["paths: [[one, two]]", "sender: h1"])
def test_other_topologies_tell_paths_and_hosts_themselves(key: str) -> None:
    session: Any = "sessions=[{name: first, " + key + "}]"
    assert "leave it out" in refusal("dumbbell", session)


ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to others")


@ROOT
@pytest.mark.parametrize("name", ["diamond.py", "."], ids=["file", "folder"])
@pytest.mark.parametrize("mode", [0o777, 0o722, 0o702])
def test_what_others_may_write_is_not_carried_out_as_root(tmp_path: Path, name: str, mode: int) -> None:
    file = write(tmp_path, topo="raise SystemExit('carried out')\n")
    os.chown(tmp_path / name, 0, 1234)
    (tmp_path / name).chmod(mode)
    said = refusal(file)
    assert f"{(tmp_path / name).resolve()} may be written by others (mode {mode:o})" in said
    assert "topology.file: " in said
    assert "chmod go-w" in said


@ROOT
@pytest.mark.parametrize("name", ["diamond.py", "."], ids=["file", "folder"])
def test_somebody_elses_file_is_not_carried_out_as_root(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, topo="raise SystemExit('carried out')\n")
    os.chown(tmp_path / name, 1234, 1234)
    assert f"{(tmp_path / name).resolve()} belongs to user 1234" in refusal(file)
    monkeypatch.setenv("SUDO_UID", "1235")
    assert "only a file and a folder that are root's or yours are used" in refusal(file)
    monkeypatch.setenv("SUDO_UID", "1234")
    assert "carried out" in refusal(file), "the caller's own is"


@ROOT
def test_a_link_to_somebody_elses_file_is_not_carried_out_as_root(tmp_path: Path) -> None:
    file = write(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "diamond.py").rename(elsewhere / "diamond.py")
    (tmp_path / "diamond.py").symlink_to(elsewhere / "diamond.py")
    os.chown(elsewhere, 1234, 0)
    assert f"{elsewhere.resolve()} belongs to user 1234" in refusal(file)


@ROOT
def test_the_callers_own_group_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is where each user has a group and a mask of 002."""
    file = write(tmp_path)
    for path in (tmp_path, tmp_path / "diamond.py"):
        os.chown(path, 1234, 1234)
        path.chmod(0o775)
    monkeypatch.setenv("SUDO_UID", "1234")
    assert "may be written by others" in refusal(file)
    monkeypatch.setenv("SUDO_GID", "1234")
    plan_of(file)
