"""npm's package as the code under test in a guest: the same bytes each time, and a verdict that what it reports can
lose."""

import json
import re
from collections.abc import Callable

import pytest

from testbed.engines.vkernel.run import GuestRun
from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.trust.telemetry import violations
from testbed.series import FromFile

SHORT = ("startup", "ncp.code=npm-1.1.2", "ncp.transfer=4MiB")


def codes_of(run: GuestRun, telemetry: str, results: Callable[[dict[str, object]], object] = len) -> set[str]:
    """What contradicts a run with this telemetry, and its ends' results changed."""
    file = run.folder / "forged.lp"
    file.write_text(telemetry)
    ends = agent_results(run.folder / "agents")
    for end in ends:
        results(end)
    return {said.code for said in violations(Evidence(run.plan, FromFile(file), ends))}


def of_sender(telemetry: str, field: str, change: Callable[[float], float], connection: int = 1) -> str:
    """The telemetry with another value of a field of a sender's connection."""
    place = re.compile(
        rf"^(ncp_connection,connection={connection},[^ ]*role=sender[^\n]*[ ,]{field}=)([\d.e-]+)(i?)", re.M
    )
    found, times = place.subn(lambda of: f"{of[1]}{change(float(of[2])):.12g}{of[3]}", telemetry)
    assert times, field
    return found


def test_a_package_is_judged_as_the_agent_is(guest_run: Callable[..., GuestRun]) -> None:
    first, second = (guest_run(*SHORT, quick=True, results=name) for name in ("first", "second"))
    telemetry = (first.folder / "telemetry.lp").read_text()
    assert telemetry == (second.folder / "telemetry.lp").read_text()
    verdict = json.loads((first.folder / "verdict.json").read_text())
    assert verdict["trust"]["reasons"] == []
    assert verdict["policy"] == "npm-1.1.2"
    law = next(check for check in verdict["checks"] if check["judge"] == "follows_law")
    assert law["status"] in ("pass", "insufficient-data"), law
    assert codes_of(first, telemetry) == set()

    # Windows that it does not have: a half of the first one, and one that grows by more than what is acknowledged.
    def half(value: float) -> float:
        return value / 2

    assert "policy.window-off" in codes_of(first, of_sender(telemetry, "window_packets", half))
    assert "counts.in-flight-off" in codes_of(
        first, of_sender(telemetry, "in_flight_packets", lambda value: value // 2)
    )
    assert "counts.not-its-result" in codes_of(first, of_sender(telemetry, "sent", lambda value: value // 2))
    # Another version, and an event loop that stood still.
    assert codes_of(first, telemetry, lambda end: end.update(implementation="@nkn/ncp 1.0.9")) == {"code.another"}
    late = re.sub(r"^(event_loop,[^\n]*role=sender[^\n]*max_ms=)[\d.e-]+", r"\g<1>150", telemetry, count=1, flags=re.M)
    assert codes_of(first, late) == {"code.event-loop-late"}
    silent = re.sub(r"^event_loop,[^\n]*role=sender[^\n]*\n", "", telemetry, flags=re.M)
    assert codes_of(first, silent) == {"code.event-loop-unknown"}


OVER_TCP = ("ncp.transport=tcp", "ncp.transfer=1MiB", "ncp.send_window=768KiB", "ncp.mtu=1000", "initial_windows=null")
CHECKS = "checks=[{name: payload, judge: payload_intact}, {name: protocol, judge: protocol_kept}]"


@pytest.mark.parametrize("codes", ["{sender: npm-1.1.2}", "{receiver: npm-1.1.2}"])
def test_ends_of_both_kinds_agree_on_the_smaller_offer(guest_run: Callable[..., GuestRun], codes: str) -> None:
    offers = "ncp.offers={sender: {send_window: 1MiB, mtu: 1024}}"
    run = guest_run("startup", *OVER_TCP, f"ncp.code={codes}", offers, CHECKS)
    verdict = json.loads((run.folder / "verdict.json").read_text())
    assert verdict["verdict"] == "pass", verdict
    for end in agent_results(run.folder / "agents"):
        packets = end["captured"]
        assert (packets["sender"]["window_bytes"], packets["sender"]["mtu_bytes"]) == (1 << 20, 1024)
        assert (packets["receiver"]["window_bytes"], packets["receiver"]["mtu_bytes"]) == (768 << 10, 1000)
        assert (packets["window_bytes"], packets["mtu_bytes"]) == (768 << 10, 1000)
        assert packets["max_outstanding_bytes"] <= 768 << 10 < packets["payload_bytes"] == 1 << 20
        assert (run.folder / f"capture-s1-{end['role']}.pcap").stat().st_size > 1 << 20
