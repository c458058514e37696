"""Whole runs over topologies beyond parallel links."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.series import FromFile, named
from tests.emulation.conftest import ON_ANY_MACHINE, result_folder
from tests.emulation.points import points_of

pytestmark = pytest.mark.emulation

Call = Callable[..., subprocess.CompletedProcess[str]]


def run_to_a_pass(run_sh: Call, tmp_path: Path, scenario: str, *arguments: str) -> Path:
    """The folder of a run in processes, whose checks all hold."""
    done = run_sh(scenario, "--quick", "--runtime", "process", *arguments, *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return result_folder(tmp_path, scenario)


def agent(folder: Path, name: str) -> dict[str, Any]:
    """What an agent said at its end."""
    result: dict[str, Any] = json.loads((folder / "agents" / f"{name}.json").read_text())
    return result


def test_relays_forward_on_paths_of_their_own(run_sh: Call, tmp_path: Path) -> None:
    folder = run_to_a_pass(run_sh, tmp_path, "relays")
    with (folder / "links.csv").open() as file:
        measured = {row["link"] for row in csv.DictReader(file)}
    assert measured == {"fast-1", "fast-2", "slow-1", "slow-2"}
    provenance = json.loads((folder / "provenance.json").read_text())
    sent = {(q["host"], q["dev"]): q["packets"] for q in provenance["qdiscs_after"] if q["kind"] == "htb"}
    for number, connection in enumerate(agent(folder, "s1-sender")["connections"], start=1):
        # Its own relay passed on what a connection sent; beside that there is only the calibration.
        forwarded = sent[f"r{number}", f"r{number}-eth{2 * number}"]
        assert connection["acked"] <= forwarded <= 1.3 * connection["sent"]


def test_sessions_share_a_bottleneck_with_tcp(run_sh: Call, tmp_path: Path) -> None:
    folder = run_to_a_pass(run_sh, tmp_path, "dumbbell")
    plan = json.loads((folder / "plan.json").read_text())
    starts = {
        e.session: e.t_ns for e in FromFile(folder / "telemetry.lp").events() if e.kind == "transfer_start"
    }
    assert 1.5 < (starts["second"] - starts["first"]) / 1e9 < 3.5, "asked for 2 s"
    first, second = (
        [agent(folder, f"{session}-{role}") for role in ("sender", "receiver")]
        for session in ("first", "second")
    )
    assert first[0]["sha256"] == first[1]["sha256"] != second[0]["sha256"] == second[1]["sha256"]

    # The flow really ran, and what it got is less than the bottleneck gives.
    iperf3 = json.loads((folder / "iperf3-1.json").read_text())
    bottleneck = plan["links"][0]
    assert 0 < iperf3["end"]["sum_received"]["bits_per_second"] < bottleneck["rate_bps"]
    goodput = FromFile(folder / "telemetry.lp").read(named("iperf3_goodput_bps"))["1"]
    assert goodput.t_ns.size >= 10
    assert (goodput.t_ns >= starts["first"]).all()
    # The kernel's own view of that flow: its congestion control, and that it lost and sent again.
    info = [p for p in points_of(folder) if p["measurement"] == "tcp_info" and p["tags"]["role"] == "sender"]
    assert {p["tags"]["flow"] for p in info} == {"iperf3-1"}
    assert info[-1]["tags"]["congestion_control"] == "cubic"  # at first it may be the machine's default
    assert max(p["fields"]["resent"] for p in info) == pytest.approx(
        iperf3["end"]["sum_sent"]["retransmits"], abs=5
    )
    # The queue is where the routers meet, and it did drop.
    if plan["middle"] == "relay":
        relay = json.loads((folder / "relay.json").read_text())
        drops = {(link["link"], link["direction"]): link["queue_drops"] for link in relay["links"]}
        assert drops.pop(("core", "ab")) > sum(c["lost"] for c in first[0]["connections"]) / 2 > 0
        assert {link for link, dropped in drops.items() if dropped} <= {("core", "ba")}


def test_ncp_and_tcp_meet_at_a_stars_receiver(run_sh: Call, tmp_path: Path) -> None:
    folder = run_to_a_pass(run_sh, tmp_path, "star")
    goodput = FromFile(folder / "telemetry.lp").read(named("iperf3_goodput_bps"))["1"]
    assert goodput.values.mean() > 0
    assert json.loads((folder / "iperf3-1.json").read_text())["end"]["sum_received"]["bytes"] > 0


def test_agents_of_one_host_share_its_network_in_containers(run_sh: Call, tmp_path: Path) -> None:
    done = run_sh("incast", "--runtime", "docker", *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "incast")
    receivers = [agent(folder, f"s{number}-receiver") for number in (1, 2, 3)]
    assert [receiver["bytes"] for receiver in receivers] == [2 << 20] * 3
    assert len({receiver["sha256"] for receiver in receivers}) == 3, "each session has a payload of its own"
    # All of it came over the one link of the host that they share.
    if json.loads((folder / "plan.json").read_text())["middle"] == "relay":
        relay = json.loads((folder / "relay.json").read_text())["links"]
        crossed = next(link["sent"] for link in relay if (link["link"], link["direction"]) == ("sink", "ba"))
        assert crossed >= 3 * 2048


def test_paths_of_ones_own_topology_share_a_link(run_sh: Call, tmp_path: Path) -> None:
    folder = run_to_a_pass(run_sh, tmp_path, "shared-edge")
    assert "class SharedEdge(Topo)" in (folder / "topology.py").read_text()
    plan = json.loads((folder / "plan.json").read_text())
    acked = [connection["acked"] for connection in agent(folder, "s1-sender")["connections"]]
    assert acked[0] == pytest.approx(acked[1] + acked[2], rel=0.15)
    if plan["middle"] == "relay":
        relay = json.loads((folder / "relay.json").read_text())["links"]
        sent = {link["link"]: link["sent"] for link in relay if link["direction"] == "ab"}
        # What went in by two links went through the one, beside what the calibration sent.
        assert sent["shared"] > acked[1] + acked[2]
        assert sent["alone-2"] > acked[0]
