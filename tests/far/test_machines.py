"""Hosts on two other machines, each with an address, a file system, an SSH daemon and a Docker engine of its own: a run
is what it is here, and whatever becomes of a machine there is an end, an honest word and nothing left."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from line_protocol_parser import parse_line

from testbed import paths
from tests.cluster.machines import Machines
from tests.far import engines

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

SCENARIO = """\
name: elsewhere
title: A transfer between machines
links:
  - {name: fast, rate: 1024pps, delay: 50ms}
  - {name: slow, rate: 128pps, delay: 50ms}
ncp: {policy: nkp24, transfer: 12MiB, send_window: 4MiB, mtu: 1024}
timeline:
  - {at: 3s, do: set, link: slow, delay: 60ms}
checks:
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
limits: {cpu_idle: 0, cpu_busy: 60min, lateness_p99: 50ms, lateness_max: 10s, rate_error: 10%, delay_error: 5ms}
"""

CROSS_TRAFFIC = (
    SCENARIO.split("links:")[0]
    + """\
topology: star
links:
  - {name: one, rate: 1024pps, delay: 10ms, queue: 100 packets}
  - {name: two, rate: 512pps, delay: 10ms, queue: 60 packets}
  - {name: three, rate: 1024pps, delay: 10ms, queue: 100 packets}
place: {h1: m1, h2: m2, h3: m1}
ncp: {policy: nkp24, transfer: 2MiB, send_window: 64KiB}
sessions:
  - {name: s1, sender: h1, receiver: h2}
cross_traffic:
  - {tool: iperf3, sender: h3, receiver: h2, from: 1s, for: 4s}
"""
    + "checks:"
    + SCENARIO.split("checks:")[1]
)


def points(telemetry: str, measurement: str, **tags: str) -> list[Any]:
    """Those of a measurement with these tags, in their order."""
    found = [parse_line(line) for line in telemetry.splitlines() if line.startswith(f"{measurement},")]
    return [point for point in found if tags.items() <= point["tags"].items()]


@dataclass
class Rig:
    """Two machines, the second of which is 5 ms away."""

    folder: Path
    made: Machines
    inventory: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """A command of the testbed's about them."""
        return subprocess.Popen(
            [sys.executable, "-m", "testbed", *arguments, "--hosts", str(self.inventory)],
            cwd=paths.CHECKOUT,
            env={
                **os.environ,
                "PYTHONPATH": str(paths.CHECKOUT),
                "PYTHONUNBUFFERED": "1",
                "NCP_TESTBED_RESULTS": str(self.folder / "results"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *changes: str, scenario: str = SCENARIO) -> tuple[int, str]:
        """The scenario, to its end: exit code, and what it said."""
        process = self.start(str(self.scenario(scenario)), *(word for change in changes for word in ("--set", change)))
        said, _ = process.communicate(timeout=200)
        return process.returncode, said

    def begun(self) -> subprocess.Popen[str]:
        """The scenario, when its transfer is on."""
        process = self.start(str(self.scenario()))
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if "agents ready" in line:
                time.sleep(3)
                return process
        raise AssertionError("".join(said))

    def scenario(self, text: str = SCENARIO) -> Path:
        """Its file."""
        file = self.folder / "elsewhere.yaml"
        file.write_text(text)
        return file

    def latest(self, name: str) -> Any:
        """A document of the last run's folder."""
        return json.loads((self.folder / "results" / "elsewhere" / "latest" / name).read_text())

    def left(self) -> list[str]:
        """What there is on the machines that a run makes."""
        look = "docker ps -aq; ls /run/ncp-testbed-far 2>/dev/null; ip -o link | grep -v -e ' lo:' -e ' eth0@'"
        return [self.made.ssh(one, look).stdout for one in self.made.each]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    if why := engines.why_not():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("far")
    with engines.machines(2, folder) as (made, inventory), engines.longer(made, made.each[1], 5.0):
        yield Rig(folder, made, inventory)


def test_a_run_over_two_machines_passes_and_can_be_checked(rig: Rig) -> None:
    code, said = rig.run()
    assert code == 0, said
    assert "PASS elsewhere" in said
    ways = {one["machine"]: one for one in rig.latest("provenance.json")["machines"]}
    assert [ways[name]["hosts"] for name in ("m1", "m2")] == [["h1"], ["h2"]]
    assert ways["m2"]["one_way_ms"] > 5 > ways["m1"]["one_way_ms"]
    assert rig.latest("plan.json")["middles"] == {"fast": "m1", "slow": "m2"}
    (between,) = ways["m1"]["ways"]
    assert between["machine"] == "m2"
    assert between["one_way_ms"] > 5
    for link in rig.latest("relay-plan.json")["links"]:
        assert link["delay_ms"] == pytest.approx(50 - between["one_way_ms"]), "frames don't come here"
    relays = rig.latest("relay.json")
    assert {name: one["links"] for name, one in relays["machines"].items()} == {"m1": ["fast"], "m2": ["slow"]}
    assert all(link["frames"] > 100 for link in relays["links"])
    (changed,) = rig.latest("relay.json")["changes"]
    assert changed["link"] == "slow"
    assert changed["set"]["delay_ms"] == pytest.approx(60 - between["one_way_ms"])
    with (rig.folder / "results" / "elsewhere" / "latest" / "events.csv").open() as file:
        (event,) = csv.DictReader(file)
    assert float(event["at_s"]) == pytest.approx(3.0, abs=0.005), "told by the relay, which keeps the time itself"
    telemetry = (rig.folder / "results" / "elsewhere" / "latest" / "telemetry.lp").read_text()
    for part in ("ncp_connection,", "socket_queue,", "interface,", "link,"):
        assert f"\n{part}" in telemetry, "sampled on the machines"
    assert rig.left() == ["", ""]
    folder = rig.folder / "results" / "elsewhere" / "latest"
    verified = subprocess.run(
        [sys.executable, "-m", "testbed", "verify", str(folder.resolve())],
        cwd=paths.CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "CONFIRMED PASS" in verified.stdout, verified.stdout + verified.stderr


UNCHANGED = "".join(f"{line}\n" for line in SCENARIO.splitlines() if not line.startswith(("timeline:", "  - {at:")))
CHANGES = """\
timeline:
  - {at: 2s, do: set, link: fast, rate: 512pps}
  - {at: 3s, do: down, link: slow}
  - {at: 5s, do: up, link: slow}
"""


def test_rates_and_plugs_change_there_as_they_do_here(rig: Rig) -> None:
    code, said = rig.run(scenario=UNCHANGED + CHANGES)
    assert code == 0, said
    with (rig.folder / "results" / "elsewhere" / "latest" / "events.csv").open() as file:
        events = list(csv.DictReader(file))
    assert [event["kind"] for event in events] == ["set", "carrier", "carrier"]
    assert all(float(event["at_s"]) >= float(event["asked_s"]) for event in events)
    telemetry = (rig.folder / "results" / "elsewhere" / "latest" / "telemetry.lp").read_text()
    sent = points(telemetry, "interface", host="h1", link="fast")
    start_ns = points(telemetry, "event", kind="transfer_start")[0]["time"]
    at_s = {(point["time"] - start_ns) / 1e9: point["fields"]["sent_bytes"] for point in sent}
    for since_s, until_s, pps in ((0.5, 1.9, 1024), (2.5, 4.9, 512)):
        window = [(time_s, bytes_) for time_s, bytes_ in at_s.items() if since_s <= time_s <= until_s]
        rate_pps = (window[-1][1] - window[0][1]) / 1073 / (window[-1][0] - window[0][0])
        assert rate_pps == pytest.approx(pps, rel=0.1)
    out = [point["time"] for point in points(telemetry, "interface", host="h1", link="slow")]
    sent_slow = [point["fields"]["sent_packets"] for point in points(telemetry, "interface", host="h1", link="slow")]
    unplugged = [n for at, n in zip(out, sent_slow, strict=True) if 4.1 < (at - start_ns) / 1e9 < 4.9]
    assert len(set(unplugged)) == 1, "nothing leaves while the plug is out, once the kernel has told (within 1 s)"
    assert sent_slow[-1] > unplugged[0], "and does again"
    assert rig.left() == ["", ""]


def test_cross_traffic_between_the_machines(rig: Rig) -> None:
    code, said = rig.run(scenario=CROSS_TRAFFIC)
    assert code == 0, said
    folder = rig.folder / "results" / "elsewhere" / "latest"
    flow = points((folder / "telemetry.lp").read_text(), "iperf3")
    whole = json.loads((folder / "iperf3-1.json").read_text())["end"]["sum_received"]
    assert flow[-1]["fields"]["received_bytes"] == whole["bytes"] > 500_000
    told = [point["time"] for point in flow[:-1]]
    start_ns = points((folder / "telemetry.lp").read_text(), "event", kind="transfer_start")[0]["time"]
    assert 1.4 < (told[0] - start_ns) / 1e9 < 3, "the end of the first half second, at the time of this machine"
    assert points((folder / "telemetry.lp").read_text(), "tcp_info", host="h3")
    assert rig.left() == ["", ""]


def test_a_link_that_is_shorter_than_what_is_below_it_is_refused_by_name(rig: Rig) -> None:
    code, said = rig.run("links.slow.delay=2ms")
    assert code == 4, said
    assert "link slow: delay 2 ms is shorter than the way between m1 and m2 below it" in said
    assert rig.left() == ["", ""]


def test_what_a_killed_run_left_is_cleaned_up(rig: Rig) -> None:
    process = rig.begun()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all(rig.left())
    removed = rig.made.ssh(rig.made.each[1], "docker rm -f $(docker ps -aq --filter name=ncp-far-)")
    assert removed.returncode == 0, "somebody who knows of containers alone, and leaves the run's folder"
    cleaned = rig.start("clean")
    said, _ = cleaned.communicate(timeout=60)
    assert cleaned.returncode == 0, said
    assert "on m1" in said
    assert "on m2" in said
    assert rig.left() == ["", ""]
    assert "nothing to remove" in rig.start("clean").communicate(timeout=60)[0]
    here = [sys.executable, "-m", "testbed", "clean"]
    subprocess.run(here, cwd=paths.CHECKOUT, capture_output=True, check=True)


def test_a_network_that_is_gone_for_two_seconds_takes_trust(rig: Rig) -> None:
    process = rig.begun()
    rig.made.each[0].unplug()
    time.sleep(2)
    rig.made.each[0].unplug(out=False)
    said, _ = process.communicate(timeout=200)
    assert process.returncode == 3, said
    assert "underlay between m1 and m2: it lost" in said
    assert rig.left() == ["", ""]


@pytest.mark.parametrize(
    ("loss", "jitter_ms", "words"), [(0.02, 0.0, "it lost"), (0.0, 8.0, "1% of the packets came more than")]
)
def test_loss_and_jitter_of_the_network_between_take_trust(rig: Rig, loss: float, jitter_ms: float, words: str) -> None:
    with engines.longer(rig.made, rig.made.each[0], 8.0, loss=loss, jitter_ms=jitter_ms):
        code, said = rig.run("limits.lateness_p99=2ms", "limits.delay_error=20ms")
    assert code == 3, said
    assert f"underlay between m1 and m2: {words}" in said
    assert rig.left() == ["", ""]


def test_a_relay_that_ends_there_ends_the_run(rig: Rig) -> None:
    process = rig.begun()
    killed = rig.made.ssh(rig.made.each[1], "docker kill $(docker ps -q --filter name=ncp-middles-)")
    assert killed.returncode == 0, killed.stderr
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the link relay on m2 ended" in said
    assert rig.left() == ["", ""]


def cleaned(rig: Rig) -> None:
    said, _ = rig.start("clean").communicate(timeout=60)
    assert rig.left() == ["", ""], said


def test_a_connection_that_is_gone_ends_the_run_and_what_it_left_is_cleaned_up(rig: Rig) -> None:
    process = rig.begun()
    ssh = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "-N" in child.cmdline() and rig.made.each[0].address in child.cmdline()
    ]
    ssh[0].kill()
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the connection to m1 is gone" in said
    assert rig.left()[0], "it can't be reached, so it keeps what it has"
    assert rig.left()[1] == ""
    cleaned(rig)


def test_a_machine_that_was_booted_anew_ends_the_run_and_is_cleaned_up(rig: Rig) -> None:
    process = rig.begun()
    engines.reboot(rig.made, rig.made.each[0])
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the connection to m1 is gone" in said
    kept = (rig.folder / "results" / "elsewhere" / "latest" / "telemetry.lp").read_text()
    assert "\nncp_connection," in kept
    cleaned(rig)
    code, said = rig.run()
    assert code == 0, said


def test_a_machine_whose_disk_is_full_has_no_run_that_passes(rig: Rig) -> None:
    process = rig.begun()
    with engines.full(rig.made, rig.made.each[0]):
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "no space left on device" in said
    kept = (rig.folder / "results" / "elsewhere" / "latest" / "telemetry.lp").read_text()
    assert "\nncp_connection," in kept
    cleaned(rig)  # the engine there may have had no room to remove it


def test_a_run_does_not_begin_where_the_disk_is_full(rig: Rig) -> None:
    with engines.full(rig.made, rig.made.each[0]):
        code, said = rig.run()
    assert code in (1, 4), said
    assert "no space left on device" in said
    cleaned(rig)  # the engine there may have had no room to remove it


def test_a_machine_that_is_gone_ends_the_run_and_its_data_is_kept(rig: Rig) -> None:
    process = rig.begun()
    rig.made.each[0].off()
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the connection to m1 is gone" in said
    assert "FAIL elsewhere" in said
    kept = (rig.folder / "results" / "elsewhere" / "latest" / "telemetry.lp").read_text()
    assert "\nncp_connection," in kept
    assert rig.made.ssh(rig.made.each[1], "docker ps -aq").stdout == ""
