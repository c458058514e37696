"""Whole runs over netem, in a guest: hosts, links, calibration, agents, collectors, verdict."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.engines.vkernel.run import GuestRun
from tests.emulation.points import points_of

Run = Callable[..., GuestRun]


def document(folder: Path, name: str) -> dict[str, Any]:
    """One of a result folder's JSON files."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def checks(folder: Path) -> dict[str, dict[str, Any]]:
    """What became of each check."""
    return {check["name"]: check for check in document(folder, "verdict")["checks"]}


def test_a_run_over_netem(guest_run: Run) -> None:
    folder = guest_run("startup", quick=True).folder
    provenance = document(folder, "provenance")
    inside = provenance["guest"]
    assert inside["middle"]["middle"] == "netem"
    assert inside["kernel"]["netem"] is True
    assert {q["dev"] for q in inside["qdiscs_after"] if q["kind"] == "netem"} == {"l1a", "l1b", "l2a", "l2b"}
    assert len(inside["calibration"]) == 4
    for reading in inside["calibration"]:
        assert reading["delay_ms"] == pytest.approx(50, abs=0.05), reading
        assert reading["rate_bps"] == pytest.approx(reading["rate_bps_asked"], rel=1e-3), reading
    assert document(folder, "verdict")["verdict"] == "pass", document(folder, "verdict")
    status = {name: check["status"] for name, check in checks(folder).items()}
    assert (status["payload"], status["database"]) == ("pass", "skipped")

    # Netem's links are told of as the relay's are, by what the kernel counts.
    told = [p for p in points_of(folder) if p["measurement"] == "link"]
    assert {(p["tags"]["link"], p["tags"]["direction"], p["tags"]["middle"]) for p in told} == {
        (link, direction, "netem") for link in ("fast", "slow") for direction in ("ab", "ba")
    }
    assert {p["fields"]["delay_ms"] for p in told} == {50.0}
    fast = sorted(
        p["fields"]["achieved_bps"]
        for p in told
        if p["tags"]["link"] == "fast" and p["tags"]["direction"] == "ab" and p["fields"]["achieved_bps"] > 0
    )
    asked = next(r["rate_bps_asked"] for r in inside["calibration"] if r["link"] == "fast")
    assert fast[len(fast) // 2] == pytest.approx(asked, rel=0.02)


def test_the_previous_policy_fails_and_says_why(guest_run: Run) -> None:
    folder = guest_run("startup", "policy=previous", quick=True).folder
    verdict = document(folder, "verdict")
    assert (verdict["verdict"], verdict["policy"]) == ("fail", "previous")
    found = checks(folder)
    assert found["windows follow the law"]["status"] == "skipped"
    assert found["windows in the ratio of the links"]["status"] == "fail"
    ratio = found["final window ratio"]
    assert ratio["status"] == "fail"
    assert ratio["measured"] == pytest.approx(1.0, abs=0.01)
    assert "256" in ratio["reason"]
    assert found["payload"]["status"] == "pass"


def test_a_transfer_over_tcp(guest_run: Run) -> None:
    # Not the guest's default, which is CUBIC as every Linux has it, so that it is seen to be asked for.
    asked = ("ncp.transport=tcp", "ncp.congestion_control=reno", "transfer=2MiB")
    folder = guest_run("startup", *asked, quick=True).folder
    inside = document(folder, "provenance")["guest"]
    assert inside["congestion_control_of_the_sockets"] == {"s1": ["reno"]}
    for host in ("h1", "h2"):
        assert inside["sysctls"][host]["net.ipv4.tcp_rmem"].split() == ["4096", "8388608", "8388608"]
    # So little is too short for the judgements of its windows; what concerns TCP is that all of it arrives.
    assert checks(folder)["payload"]["status"] == "pass"
    sender = document(folder / "agents", "s1-sender")
    assert [connection["resent"] for connection in sender["connections"]] == [0, 0]
    info = [p for p in points_of(folder) if p["measurement"] == "tcp_info"]
    assert {(p["tags"]["flow"], p["tags"]["role"]) for p in info} == {
        (f"s1-{number}", role) for number in (1, 2) for role in ("sender", "receiver")
    }
    senders = [p["fields"] for p in info if p["tags"]["role"] == "sender"]
    assert max(fields["acked_bytes"] for fields in senders) > 1 << 20
    fastest_ms = min(fields["rtt_ms"] for fields in senders if "rtt_ms" in fields)
    assert 100 <= fastest_ms < 110, "there and back, 50 ms each"
