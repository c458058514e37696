"""The engine of virtual time through the command line, as a user without root has it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import paths
from testbed.engines.sim.run import simulate
from testbed.errors import CannotRun, RunFailed
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from tests.raises import Containing, raises
from tests.ready import simulated as prepare


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of its own, and no database: neither this machine's nor one of the user's."""
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NCP_TESTBED_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "testbed", *arguments]
    return subprocess.run(command, cwd=paths.CHECKOUT, capture_output=True, text=True, check=False)


def execute(name: str, *assignments: str, seed: int | None = None, quick: bool = False):
    simulation = prepare(load(name, assignments, quick=quick), Progress(), seed=seed, quick=quick)
    return simulation, simulation.execute()


def test_startup_passes_without_mininet_or_a_database(own_place: Path) -> None:
    done = run("startup", "--engine", "sim")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1].startswith("PASS startup sim-")
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if "import time:" in line}
    assert "mininet" not in imported
    folder = (own_place / "results" / "startup" / "latest").resolve()
    assert {f.name for f in folder.iterdir()} >= {
        "verdict.json",
        "telemetry.lp",
        "windows.csv",
        "events.csv",
        "report.html",
        "provenance.json",
        "plan.json",
    }
    verify = run("verify", str(folder))
    assert verify.returncode == 0
    assert "CONFIRMED PASS" in verify.stdout


@pytest.mark.parametrize("name", ["extreme", "extreme-reversed", "link-break", "relays", "incast", "shared-edge"])
def test_scenarios_of_ncp_have_the_verdict_of_real_packets(name: str) -> None:
    _, verdict = execute(name)
    assert verdict.verdict == "pass", verdict.summary


def test_the_same_question_has_the_same_answer_byte_for_byte() -> None:
    lossy = ("links.fast.loss=2%", "ncp.transfer=4MiB")
    first, _ = execute("startup", *lossy)
    telemetry = (first.folder / "telemetry.lp").read_bytes()
    second, _ = execute("startup", *lossy)
    assert second.folder == first.folder
    assert (second.folder / "telemetry.lp").read_bytes() == telemetry
    other, _ = execute("startup", *lossy, seed=2)
    assert other.folder != first.folder
    fields = [line.split(" ")[1:] for line in telemetry.decode().splitlines()]
    others = [line.split(" ")[1:] for line in (other.folder / "telemetry.lp").read_text().splitlines()]
    assert fields != others, "another seed loses other packets"


def test_timeline_events_are_exact(own_place: Path) -> None:
    simulation, verdict = execute("link-break-carrier", "policy=delivery-rate")
    rows = (simulation.folder / "events.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [row.split(",")[1] for row in rows]
    assert verdict.trust.trusted


def test_events_at_once_are_all_told_at_their_time(own_place: Path) -> None:
    each = "".join(
        f"  - {{at: {at}s, do: set, link: {link}, delay: 60ms}}\n" for at in (0, 2) for link in ("fast", "slow")
    )
    file = own_place / "at-once.yaml"
    file.write_text(f"name: at-once\nextends: startup\ntimeline:\n{each}")
    simulation, verdict = execute(str(file), "transfer=4MiB")
    assert verdict.trust.trusted, verdict.trust.reasons
    rows = [row.split(",") for row in (simulation.folder / "events.csv").read_text().splitlines()[1:]]
    assert [(asked, at) for asked, at, *_ in rows] == [("0.000000", "0.000000")] * 2 + [("2.000000", "2.000000")] * 2


CHANGED = """
name: changed
title: A link with another rate from 2 s on
topology: parallel
links:
  - {name: core, rate: FIRST, delay: 20ms}
ncp: {policy: delivery-rate, transfer: 3MiB}
timeline:
  - {at: 2s, do: set, link: core, rate: THEN}
checks:
  - {name: goodput, judge: goodput, min: 0.8}
  - {name: payload, judge: payload_intact}
"""


@pytest.mark.parametrize(("first", "then"), [("1mbit", "8mbit"), ("8mbit", "1mbit")])
def test_goodput_is_of_what_a_changed_link_carries(own_place: Path, first: str, then: str) -> None:
    """Of the first rate alone it is 450% and more, or 27%."""
    file = own_place / "changed.yaml"
    file.write_text(CHANGED.replace("FIRST", first).replace("THEN", then))
    _, verdict = execute(str(file))
    assert verdict.trust.trusted, verdict.trust.reasons
    (share,) = [check.measured for check in verdict.checks if check.name == "goodput"]
    assert (verdict.verdict, 0.8 <= share <= 1.0) == ("pass", True), verdict.checks


def test_what_needs_a_kernel_is_refused_by_name(own_place: Path) -> None:
    with raises(CannotRun, "engine.refuses", reasons=Containing("cross_traffic.1: iperf3 needs a kernel's TCP")):
        prepare(load("dumbbell", []), Progress(), seed=None, quick=False)
    with raises(
        CannotRun,
        "engine.refuses",
        reasons=Containing("sessions.s1: transport tcp needs a kernel's TCP where link fast has loss"),
    ):
        prepare(load("startup", ["ncp.transport=tcp", "links.fast.loss=1%"]), Progress(), seed=None, quick=False)
    done = run("dumbbell", "--engine", "sim")
    assert done.returncode == 4
    assert not (own_place / "results").exists()


def test_a_transfer_without_end_fails_and_keeps_its_data() -> None:
    simulation = prepare(load("startup", ["limits.transfer_time=20s"]), Progress(), seed=None, quick=False)
    with raises(Exception, "sim.ended", said=Containing("arrived within 20.0 s")):
        simulation.execute()
    verdict = json.loads((simulation.folder / "verdict.json").read_text())
    assert verdict["verdict"] == "fail"
    assert "of 50331648 bytes" in verdict["broken"]
    assert (simulation.folder / "telemetry.lp").exists()


@pytest.mark.parametrize(
    ("does", "error"),
    [
        ("echo write telemetry.lp: the disk is full; exit 4", CannotRun),
        ("kill -KILL $$", CannotRun),
        ("echo 5 of 10 bytes arrived within 20.0 s; exit 1", RunFailed),
        ("echo no space left on device; exit 1", RunFailed),
    ],
)
def test_what_the_machine_did_is_no_result_of_the_run(own_place: Path, does: str, error: type[Exception]) -> None:
    simulator = own_place / "ncp-sim"
    simulator.write_text(f"#!/bin/sh\n{does}\n")
    simulator.chmod(0o755)
    (own_place / "logs").mkdir()
    with raises(error, "sim.ended") as raised:
        simulate(own_place, simulator)
    assert type(raised.value) is error


def test_a_full_disk_is_told_by_the_simulator() -> None:
    simulation = prepare(load("startup", ["ncp.transfer=1MiB"]), Progress(), seed=None, quick=True)
    simulation.folder.mkdir(parents=True)
    (simulation.folder / "telemetry.lp").symlink_to("/dev/full")
    (simulation.folder / "logs").mkdir()
    (simulation.folder / "plan.json").write_text(json.dumps(simulation.plan))
    with raises(CannotRun, "sim.ended", said=Containing("no space left on device")):
        simulate(simulation.folder, simulation.binaries["ncp-sim"])
