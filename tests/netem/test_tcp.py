"""The kernel's own TCP over netem, in a guest, where no database is: judged by the bytes that arrived."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.engines.vkernel.run import GuestRun

FETCH = """\
name: fetched
title: Two objects with a window of 3
topology: relays
links: [{name: path, rate: 20mbit, delay: 20ms}]
tcp:
  kind: fetch
  objects: [30000B, 500B]
  header_apart: true
  rounds: 2
  routes: {sender: {initcwnd: 3}}
checks:
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""
DOWNLOAD = """\
name: limited-download
title: A limited window
links: [{name: path, rate: 50mbit, delay: 20ms, burst: 1MiB}]
tcp:
  kind: download
  object: 256KiB
  sysctls: {receiver: {net.ipv4.tcp_rmem: 4096 2199552 6291456}}
  routes: {sender: {initcwnd: 200}, receiver: {initrwnd: 44}}
checks:
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""
IPERF3 = """\
name: window
title: A small window over a round trip
links: [{name: path, rate: 50mbit, delay: 50ms, queue: 2000 packets}]
tcp: {kind: iperf3, window: 32KiB, window_scaling: false, for: 3s}
checks:
  - {name: packets, judge: payload_captured}
  - {name: database, judge: points_stored}
"""


@pytest.fixture
def run(guest_run: Callable[..., GuestRun], tmp_path: Path) -> Callable[[str], tuple[dict[str, Any], Path]]:
    def run_it(text: str) -> tuple[dict[str, Any], Path]:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        folder = guest_run(str(path)).folder
        verdict = json.loads((folder / "verdict.json").read_text())
        assert verdict["verdict"] == "pass", verdict
        found = {check["name"]: check for check in verdict["checks"]}
        assert found["database"]["status"] == "skipped"
        return {**verdict, "checks": found}, folder

    return run_it


def test_objects_arrive_as_slow_start_has_it(run) -> None:
    verdict, folder = run(FETCH)
    assert verdict["checks"]["payload"]["figures"]["received_bytes"] == 2 * 30500
    assert verdict["figures"]["page_ms"] == pytest.approx(verdict["figures"]["slow_start_ms"], rel=0.01)
    hashes = [line.split()[0] for line in (folder / "web-client.sha256").read_text().splitlines()]
    assert hashes[:2] == hashes[2:]
    assert hashes[0] != hashes[1]


def test_what_iperf3_counts_is_in_the_packets(run) -> None:
    verdict, folder = run(IPERF3)
    found = verdict["checks"]["packets"]["figures"]
    told = {end: json.loads((folder / f"iperf3-{end}.json").read_text())["end"] for end in ("client", "server")}
    assert found["counted_bytes"] == told["server"]["sum_received"]["bytes"]
    assert found["sent_bytes"] == told["client"]["sum_sent"]["bytes"]
    assert found["counted_bytes"] <= found["captured_bytes"] <= found["sent_bytes"]
    assert found["largest_window_bytes"] <= 65535


def test_the_edges_of_a_limited_download_are_those_of_its_route(run) -> None:
    verdict, folder = run(DOWNLOAD)
    figures = verdict["figures"]
    # 44 segments of 1460 bytes, in the units of the window's shift.
    assert 64_240 <= figures["initial_window_bytes"] <= 66_000
    assert figures["first_flight_bytes"] <= figures["initial_window_bytes"]
    assert figures["rtts"] >= 2, "the object is four times the window"
    with (folder / "edges.csv").open() as file:
        edges = [int(row["right_edge_bytes"]) for row in csv.DictReader(file)]
    assert edges[0] == figures["initial_window_bytes"]
    assert max(edges) > 256 << 10


def test_a_consumer_of_ndn_reacts_to_the_backlog_of_a_forwarders_socket(guest_run: Callable[..., GuestRun]) -> None:
    folder = guest_run("ndn", "links.near.rate=10mbit", "ndn.object=2MiB").folder
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["verdict"] == "pass", verdict
    # The link is ten times slower than the one before it, so the window grows until the socket holds too much.
    assert verdict["figures"]["backlog_max_bytes"] > 50_000
    assert verdict["figures"]["marks"] > 0
    assert 0 < verdict["figures"]["goodput_mbps"] < 10
    consumer, producer = (
        json.loads((folder / "agents" / f"s1-{end}.json").read_text()) for end in ("receiver", "sender")
    )
    assert consumer["sha256"] == producer["sha256"]
    assert consumer["cwnd_cuts"] > 0
