"""The page's new traffic, put in place from the page: one file and one line."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from line_protocol_parser import parse_line

from testbed import engines, traffic
from testbed.plan import traffic_types
from testbed.runtime.progress import QuietProgress, Step
from tests.worked_example import code, section
from topologies.commands import in_namespace, run

PLAN: Any = {
    "run": "r",
    "scenario": "s",
    "engine": "sim",
    "traffic": "ncp",
    "cross_traffic": [],
    "limits": {"transfer_s": 20.0},
    "sessions": [
        {
            "name": "s1",
            "carrier": "pings",
            "transport": "icmp",
            "sender_host": "a",
            "receiver_host": "b",
            "transfer_bytes": 20 * 1024,
            "connections": [{"index": 1, "sender": "198.18.9.1:0", "receiver": "198.18.9.2:0"}],
        }
    ],
}


@pytest.fixture
def pings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[traffic.Traffic]:
    file, line = code(section("architecture.md", "Add a kind of traffic"), "python")
    (tmp_path / "pings.py").write_text(file)
    monkeypatch.setattr(traffic, "__path__", [*traffic.__path__, str(tmp_path)])
    own = eval(line, {"TrafficFacts": traffic_types.TrafficFacts})
    monkeypatch.setitem(traffic_types.TRAFFIC, own.name, own)
    return traffic.of(PLAN)


@pytest.fixture
def network() -> Iterator[SimpleNamespace]:
    """Two hosts with a cable between them."""
    names = {host: f"ncp-test-{os.getpid()}-{host}" for host in "ab"}
    namespaces = {host: f"/run/netns/{name}" for host, name in names.items()}
    for name in names.values():
        run(["ip", "netns", "add", name])
    try:
        run(["ip", "link", "add", "v0", "netns", names["a"], "type", "veth", "peer", "name", "v0", "netns", names["b"]])
        for number, path in enumerate(namespaces.values(), start=1):
            run(in_namespace(path, ["ip", "addr", "add", f"198.18.9.{number}/30", "dev", "v0"]))
            run(in_namespace(path, ["ip", "link", "set", "v0", "up"]))
        yield SimpleNamespace(namespaces=lambda: namespaces)
    finally:
        for name in names.values():
            run(["ip", "netns", "delete", name])


@pytest.mark.root
def test_it_is_sent_watched_and_told(pings: type[traffic.Traffic], network: Any, tmp_path: Path) -> None:
    for name in ("agents", "logs", "spools"):
        (tmp_path / name).mkdir()
    step = Step("transfer")
    pings(traffic.Site(PLAN, tmp_path, {}, QuietProgress(), {})).transfer(network, [], [lambda: None], step)
    receiver = json.loads((tmp_path / "agents" / "s1-receiver.json").read_text())
    assert (receiver["role"], receiver["bytes"], receiver["error"]) == ("receiver", 20 * 1024, "")
    events = [parse_line(line) for line in (tmp_path / "spools" / "events.lp").read_text().splitlines()]
    assert [event["tags"]["kind"] for event in events] == ["transfer_start", "transfer_end"]


def test_the_simulator_refuses_it_in_words(pings: type[traffic.Traffic]) -> None:
    assert engines.of(PLAN).unsupported(PLAN) == ["pings: it needs a kernel's ICMP, which the simulator doesn't have"]


def test_its_flows_are_watched(pings: type[traffic.Traffic]) -> None:
    assert [end["host"] for end in pings.sockets(PLAN)] == ["a", "b"]
