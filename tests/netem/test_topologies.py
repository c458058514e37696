"""Whole runs over topologies beyond parallel links, in a guest."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.engines.vkernel.run import GuestRun
from testbed.series import FromFile, named
from tests.emulation.points import points_of

Run = Callable[..., GuestRun]


def run_to_a_pass(guest_run: Run, scenario: str, *changed: str, seed: int | None = None) -> Path:
    """The folder of a quick run whose checks all hold."""
    folder: Path = guest_run(scenario, *changed, quick=True, seed=seed).folder
    verdict = document(folder, "verdict")
    assert verdict["verdict"] == "pass", verdict
    return folder


def document(folder: Path, name: str) -> dict[str, Any]:
    """One of a result folder's JSON files."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def agent(folder: Path, name: str) -> dict[str, Any]:
    """What an agent said at its end."""
    return document(folder / "agents", name)


def crossed(folder: Path, host: str, device: str) -> int:
    """Packets that an interface's shaper has sent."""
    (packets,) = (
        qdisc["packets"]
        for qdisc in document(folder, "provenance")["guest"]["qdiscs_after"]
        if (qdisc["kind"], qdisc["host"], qdisc["dev"]) == ("htb", host, device)
    )
    return int(packets)


def test_relays_forward_on_paths_of_their_own(guest_run: Run) -> None:
    folder = run_to_a_pass(guest_run, "relays")
    with (folder / "links.csv").open() as file:
        measured = {row["link"] for row in csv.DictReader(file)}
    assert measured == {"fast-1", "fast-2", "slow-1", "slow-2"}
    for number, connection in enumerate(agent(folder, "s1-sender")["connections"], start=1):
        # Its own relay passed on what a connection sent; beside that there is only the calibration.
        forwarded = crossed(folder, f"r{number}", f"r{number}-eth{2 * number}")
        assert connection["acked"] <= forwarded <= 1.3 * connection["sent"]


SEEDS, MOST_STARVED = (1, 2, 3, 4, 5), 2
"""Who is starved in the few seconds that are judged is decided by microseconds, which any change of the code moves."""


def run_where_nobody_is_starved(guest_run: Run, scenario: str, told: list[tuple[str, object]]) -> Path:
    """The folder of a quick run whose checks all hold. Of five seeds at least three must do it, where of the others
    nothing but a share falls short; how many did is in the JUnit file."""
    good = []
    for seed in SEEDS:
        folder: Path = guest_run(scenario, quick=True, seed=seed).folder
        verdict = document(folder, "verdict")
        failed = {check["judge"] for check in verdict["checks"] if check["status"] == "fail"}
        assert (verdict["verdict"], failed) in (("pass", set()), ("fail", {"fair_share"})), verdict
        good += [folder] if not failed else []
    told.append(("seeds with which nobody is starved", f"{len(good)} of {len(SEEDS)}"))
    assert len(good) >= len(SEEDS) - MOST_STARVED, [folder.name for folder in good]
    return good[0]


@pytest.mark.nightly
def test_sessions_share_a_bottleneck_with_tcp(guest_run: Run, request: pytest.FixtureRequest) -> None:
    # Its queue is in the middle: HTB with a short FIFO before netem.
    folder = run_where_nobody_is_starved(guest_run, "dumbbell", request.node.user_properties)
    plan = document(folder, "plan")
    starts = {e.session: e.t_ns for e in FromFile(folder / "telemetry.lp").events() if e.kind == "transfer_start"}
    assert (starts["second"] - starts["first"]) / 1e9 == pytest.approx(2, abs=0.1)
    first, second = (
        [agent(folder, f"{session}-{role}") for role in ("sender", "receiver")] for session in ("first", "second")
    )
    assert first[0]["sha256"] == first[1]["sha256"] != second[0]["sha256"] == second[1]["sha256"]

    # The flow really ran, and what it got is less than the bottleneck gives.
    iperf3 = document(folder, "iperf3-1")
    bottleneck = plan["links"][0]
    assert 0 < iperf3["end"]["sum_received"]["bits_per_second"] < bottleneck["rate_bps"]
    goodput = FromFile(folder / "telemetry.lp").read(named("iperf3_goodput_bps"))["1"]
    assert goodput.t_ns.size >= 10
    assert (goodput.t_ns >= starts["first"]).all()
    assert 0 < goodput.values.mean() < bottleneck["rate_bps"]
    # The kernel's own view of that flow: its congestion control, and that it lost and sent again.
    info = [p for p in points_of(folder) if p["measurement"] == "tcp_info" and p["tags"]["role"] == "sender"]
    assert {p["tags"]["flow"] for p in info} == {"iperf3-1"}
    assert info[-1]["tags"]["congestion_control"] == "cubic"  # at first it may be the machine's default
    # iperf3 counts to the end of its sending, the kernel to the connection's.
    told = iperf3["end"]["sum_sent"]["retransmits"]
    assert max(p["fields"]["resent"] for p in info) == pytest.approx(told, rel=0.25, abs=5)
    # The queue is where the routers meet, and it did drop, and nothing else did.
    qdiscs = document(folder, "provenance")["guest"]["qdiscs_after"]
    drops = {qdisc["dev"]: qdisc["drops"] for qdisc in qdiscs if qdisc["kind"] == "htb" and qdisc["drops"]}
    assert drops.pop("l1x") > sum(c["lost"] for c in first[0]["connections"]) / 2 > 0
    assert set(drops) <= {"l1y"}


def test_ncp_and_tcp_meet_at_a_stars_receiver(guest_run: Run) -> None:
    folder = run_to_a_pass(guest_run, "star")
    goodput = FromFile(folder / "telemetry.lp").read(named("iperf3_goodput_bps"))["1"]
    assert goodput.values.mean() > 0
    assert document(folder, "iperf3-1")["end"]["sum_received"]["bytes"] > 0


def test_paths_of_ones_own_topology_share_a_link(guest_run: Run) -> None:
    folder = run_to_a_pass(guest_run, "shared-edge")
    assert "class SharedEdge(Topo)" in (folder / "topology.py").read_text()
    acked = [connection["acked"] for connection in agent(folder, "s1-sender")["connections"]]
    assert acked[0] == pytest.approx(acked[1] + acked[2], rel=0.15)
