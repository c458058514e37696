"""A download over the kernel's TCP, with the receiver's window limited by its route."""

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

SCENARIO = """\
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


def test_a_download_is_run_and_its_edges_are_told(
    run_sh: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    path = tmp_path / "limited-download.yaml"
    path.write_text(SCENARIO)
    ended = run_sh(str(path), *ON_ANY_MACHINE)
    folder = result_folder(tmp_path, "limited-download")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    figures = json.loads((folder / "verdict.json").read_text())["figures"]
    # 44 segments of 1460 bytes, in the units of the window's shift.
    assert 64_240 <= figures["initial_window_bytes"] <= 66_000
    assert figures["first_flight_bytes"] <= figures["initial_window_bytes"]
    assert figures["rtts"] >= 2, "the object is four times the window"
    sender = json.loads((folder / "agents" / "s1-sender.json").read_text())
    assert sender["congestion_control"] == "cubic"
    assert sender["edges_met_bytes"][0] == figures["initial_window_bytes"]
    with (folder / "edges.csv").open() as file:
        edges = [int(row["right_edge_bytes"]) for row in csv.DictReader(file)]
    assert edges[0] == figures["initial_window_bytes"]
    assert max(edges) > 256 << 10
    assert (folder / "plots" / "time-sequence.svg").exists()
    provenance = json.loads((folder / "provenance.json").read_text())
    assert "initrwnd 44" in provenance["hosts"]["h2"]["route"]
    assert provenance["frames_not_captured"] == {"sender": 0}
