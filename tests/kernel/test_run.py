"""Whole runs over netem, in the guest: hosts, links, calibration, agents, InfluxDB, verdict."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from testbed import build, paths
from testbed.series import FromFile, named
from tests.emulation.conftest import ON_ANY_MACHINE
from tests.emulation.live_changes import SCENARIO, assert_events_show_in_the_data
from tests.emulation.points import points_of
from tests.kernel.guest import Ended, run_in_guest

pytestmark = [pytest.mark.slow, pytest.mark.emulation, pytest.mark.usefixtures("guest_available")]

UNTRUSTED = 3
STATE_MEMORY = "5G"
"""The guest's files are in its memory, of which half may be files, and a run wants 2 GiB free for the database.
Memory that is not used is not taken."""


def run_over_netem(shared: Path, scenario: str, *more: str) -> Ended:
    """A run in the guest; its results are in ``shared``."""
    shared.mkdir(exist_ok=True)
    return run_in_guest(
        shared,
        "env", "--chdir", str(paths.CHECKOUT), "NCP_TESTBED_STATE=/tmp/state", "NCP_TESTBED_RUN=/run/ncp-testbed",
        f"NCP_TESTBED_RESULTS={shared / 'results'}",
        "./run.sh", scenario, "--link", "netem", "--runtime", "process", *more,
        writable=True, memory=STATE_MEMORY, limit_s=140,
    )  # fmt: skip


def folder_of(shared: Path, scenario: str, ended: Ended) -> Path:
    """The result folder of a run that got as far as its verdict, over netem."""
    folder = shared / "results" / scenario / "latest"
    assert (folder / "verdict.json").exists(), ended.stdout + ended.stderr
    assert document(folder, "provenance")["run"]["middle"] == "netem"
    return folder


def document(folder: Path, name: str) -> dict[str, Any]:
    """One of a result folder's JSON files."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def statuses(folder: Path) -> dict[str, str]:
    """The outcome of each check."""
    return {check["name"]: check["status"] for check in document(folder, "verdict")["checks"]}


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    """Here they are built more quickly than there."""
    build.build_programs()


def test_a_run_over_netem(tmp_path: Path) -> None:
    for attempt in ("first", "second"):
        shared = tmp_path / attempt
        ended = run_over_netem(shared, "startup", "--quick", "--set", "ncp.transfer=8MiB")
        if ended.code != UNTRUSTED:  # this machine was busy with something else just then
            break
    folder = folder_of(shared, "startup", ended)
    provenance = document(folder, "provenance")
    assert provenance["kernel"]["netem"] is True
    assert {q["dev"] for q in provenance["qdiscs_after"] if q["kind"] == "netem"} == {
        "l1a",
        "l1b",
        "l2a",
        "l2b",
    }
    for reading in provenance["calibration"]:
        assert reading["delay_ms"] == pytest.approx(50, abs=1), reading
        assert reading["rate_bps"] == pytest.approx(reading["rate_bps_asked"], rel=0.02), reading
    status = statuses(folder)
    for name in ("delivered ratio", "payload", "database"):
        assert status[name] == "pass", document(folder, "verdict")

    # Netem's links are told of as the relay's are, by what the kernel counts.
    told = [p for p in points_of(folder) if p["measurement"] == "link"]
    assert {(p["tags"]["link"], p["tags"]["direction"], p["tags"]["middle"]) for p in told} == {
        (link, direction, "netem") for link in ("fast", "slow") for direction in ("ab", "ba")
    }
    assert {p["fields"]["delay_ms"] for p in told} == {50.0}
    fast = [
        p["fields"]["achieved_bps"]
        for p in told
        if p["tags"]["link"] == "fast" and p["tags"]["direction"] == "ab"
    ]
    asked = next(r["rate_bps_asked"] for r in provenance["calibration"] if r["link"] == "fast")
    # An interval may be told a little late, and is then followed by a shorter one.
    assert statistics.median(bps for bps in fast if bps > 0) == pytest.approx(asked, rel=0.1)


FEWER_PACKETS = ("--set", "links.core.rate=256pps", "--set", "transfer=1MiB")
"""A guest has one core, on which each packet costs a lot."""


def test_a_bottleneck_that_drops_over_netem(tmp_path: Path) -> None:
    # Its queue is in the middle: HTB with a short FIFO before netem. How exact the links are is not judged here:
    # to measure all seven at once takes more packets a second than a guest passes on.
    ended = run_over_netem(tmp_path, "dumbbell", *FEWER_PACKETS, *ON_ANY_MACHINE)
    folder = folder_of(tmp_path, "dumbbell", ended)
    plan, provenance = document(folder, "plan"), document(folder, "provenance")
    # How fair the flows are to each other over a few seconds is not the links' matter.
    of_links = {check["name"] for check in plan["checks"] if check["judge"] != "fair_share"}
    status = statuses(folder)
    assert {name: status[name] for name in of_links} == dict.fromkeys(of_links, "pass"), ended.stdout
    dropped = {q["dev"] for q in provenance["qdiscs_after"] if q["kind"] == "htb" and q["drops"]}
    assert "l1x" in dropped, "from r1 to r2"
    assert dropped <= {"l1x", "l1y"}, "and nowhere else"
    goodput = FromFile(folder / "telemetry.lp").read(named("iperf3_goodput_bps"))["1"]
    assert 0 < goodput.values.mean() < plan["links"][0]["rate_bps"]


def test_events_show_in_the_data_over_netem(tmp_path: Path) -> None:
    scenario = tmp_path / "live-changes.yaml"
    scenario.write_text(SCENARIO)
    ended = run_over_netem(tmp_path, str(scenario), *ON_ANY_MACHINE)
    folder = folder_of(tmp_path, "live-changes", ended)
    assert ended.code == 0, ended.stdout + ended.stderr
    assert_events_show_in_the_data(folder)
