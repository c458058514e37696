"""A whole run of NDN: an agent in a container on each host of the chain, marks from the forwarder's socket."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.series import FromFile, named
from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_a_consumer_reacts_to_the_backlog_of_a_forwarders_socket(run_sh: Call, tmp_path: Path) -> None:
    small = ("--set", "links.near.rate=10mbit", "--set", "ndn.object=2MiB")
    done = run_sh("ndn", *small, *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "ndn")
    assert done.stdout.splitlines()[-1] == f"PASS ndn {folder.name}"

    figures = json.loads((folder / "verdict.json").read_text())["figures"]
    # The link is ten times slower than the one before it, so the window grows until the socket holds too much.
    assert figures["backlog_max_bytes"] > 50_000
    assert figures["marks"] > 0
    assert 0 < figures["goodput_mbps"] < 10
    consumer, producer, forwarder = (
        json.loads((folder / "agents" / f"s1-{name}.json").read_text()) for name in ("receiver", "sender", "h2")
    )
    assert consumer["sha256"] == producer["sha256"]
    assert consumer["cwnd_cuts"] > 0
    assert figures["marks"] <= sum(face["marks_set"] for face in forwarder["faces"])

    with (folder / "segments.csv").open(newline="") as log:
        assert {int(row["segment"]) for row in csv.DictReader(log)} == set(range(477))
    names = {path.stem for path in (folder / "plots").glob("*.svg")}
    assert names >= {"ndn-rtt", "ndn-window", "ndn-backlog", "ndn-goodput"}
    reader = FromFile(folder / "telemetry.lp")
    assert set(reader.read(named("ndn_backlog_bytes"))) == {"h2-h1", "h2-h3"}
    # The kernel's own figure of the same socket, taken from outside.
    assert "h2-h1" in reader.read(named("socket_send_queue_bytes"))
