"""iperf3 as cross traffic: a real flow between two namespaces, its points and its JSON."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from line_protocol_parser import parse_line

from testbed.errors import RunFailed
from testbed.runtime.cross_traffic import Iperf3
from topologies.commands import in_namespace, run

pytestmark = pytest.mark.packets

PLAN: Any = {"run": "r", "scenario": "s"}


@pytest.fixture
def namespaces() -> Iterator[dict[str, str]]:
    """Two namespaces with a veth pair between them."""
    names = {host: f"ncp-test-{os.getpid()}-{host}" for host in "ab"}
    paths = {host: f"/run/netns/{name}" for host, name in names.items()}
    for name in names.values():
        run(["ip", "netns", "add", name])
    try:
        run(["ip", "link", "add", "v0", "netns", names["a"], "type", "veth", "peer", "name", "v0", "netns", names["b"]])
        for number, path in enumerate(paths.values(), start=1):
            run(in_namespace(path, ["ip", "addr", "add", f"198.18.9.{number}/30", "dev", "v0"]))
            run(in_namespace(path, ["ip", "link", "set", "v0", "up"]))
        shape = ["tc", "qdisc", "add", "dev", "v0", "root", "tbf", "rate", "8mbit", "burst", "3000", "latency", "50ms"]
        run(in_namespace(paths["a"], shape))
        yield paths
    finally:
        for name in names.values():
            run(["ip", "netns", "delete", name])


def flow(folder: Path, namespaces: dict[str, str], started_s: float | None, **changed: Any) -> Iperf3:
    for name in ("logs", "spools"):
        (folder / name).mkdir()
    asked: Any = {
        "number": 1,
        "congestion_control": "cubic",
        "client_host": "a",
        "server_host": "b",
        "client": "198.18.9.1",
        "server": "198.18.9.2",
        "from_s": 0.5,
        "for_s": 2.0,
        **changed,
    }
    return Iperf3(PLAN, asked, namespaces, folder, lambda: None if started_s is None else round(started_s * 1e9))


def test_a_flow_is_told_as_it_is_received(tmp_path: Path, namespaces: dict[str, str]) -> None:
    begun_s = time.time()
    iperf3 = flow(tmp_path, namespaces, begun_s)
    iperf3.start()
    iperf3.wait()
    said = json.loads((tmp_path / "iperf3-1.json").read_text())
    assert said["start"]["test_start"]["protocol"] == "TCP"
    assert said["end"]["sender_tcp_congestion"] == "cubic"
    points = [parse_line(line) for line in (tmp_path / "spools" / "iperf3-1.lp").read_text().splitlines()]
    whole = points.pop()
    assert 3 <= len(points) <= 6
    for point in points:
        assert point["tags"] == {"run": "r", "scenario": "s", "flow": "1", "congestion_control": "cubic"}
        assert point["time"] / 1e9 >= begun_s + 0.5 + 0.4, "an interval is told at its end"
    assert whole["tags"] == points[0]["tags"]
    assert whole["fields"] == {
        "mean_goodput_bps": said["end"]["sum_received"]["bits_per_second"],
        "sent_bytes": said["end"]["sum_sent"]["bytes"],
        "received_bytes": said["end"]["sum_received"]["bytes"],
        "resent": said["end"]["sum_sent"]["retransmits"],
    }
    whole_bps = said["end"]["sum_received"]["bits_per_second"]
    middle_bps = sorted(point["fields"]["goodput_bps"] for point in points)[len(points) // 2]
    assert middle_bps == pytest.approx(whole_bps, rel=0.3)
    assert whole_bps < 8e6


def test_what_iperf3_refuses_is_told(tmp_path: Path, namespaces: dict[str, str]) -> None:
    iperf3 = flow(tmp_path, namespaces, time.time(), congestion_control="nosuch")
    iperf3.start()
    with pytest.raises(RunFailed, match=r"iperf3-1: unable to set TCP_CONGESTION"):
        iperf3.wait()


def test_a_flow_that_never_starts_can_be_stopped(tmp_path: Path, namespaces: dict[str, str]) -> None:
    iperf3 = flow(tmp_path, namespaces, None)
    iperf3.start()
    iperf3.stop()
    assert not (tmp_path / "iperf3-1.json").exists()
