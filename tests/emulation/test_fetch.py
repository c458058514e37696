"""Web objects over real packets: server and client in two hosts, the window that the route asked for."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = [pytest.mark.packets, pytest.mark.nightly]

SCENARIO = """\
name: fetched
title: Two objects with a window of 3
topology: relays
links:
  - {name: path, rate: 20mbit, delay: 20ms}
tcp:
  kind: fetch
  congestion_control: reno
  objects: [30000B, 500B]
  header_apart: true
  rounds: 3
  routes:
    sender: {initcwnd: 3}
checks:
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""


def test_objects_are_fetched_each_on_its_own_connection(
    run_sh: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    path = tmp_path / "fetched.yaml"
    path.write_text(SCENARIO)
    done = run_sh(str(path), *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "fetched")
    figures = json.loads((folder / "verdict.json").read_text())["figures"]
    assert figures["rounds"] == 3
    assert figures["initial_window_segments"] == 3
    # 21 segments and a header take 3 + 6 + 12 + 1 of them: two round trips more than with a window of 10. However
    # slow the machine, no page is faster than that (but for what the links are off).
    assert figures["page_lowest_ms"] > 0.97 * figures["slow_start_ms"]
    connections = [json.loads(line) for line in (folder / "web-server.jsonl").read_text().splitlines()]
    connections = [one for one in connections if "client" in one]
    assert len(connections) == 6
    assert {one["congestion_control"] for one in connections} == {"reno"}
    receiver = json.loads((folder / "agents" / "s1-receiver.json").read_text())
    assert [one["bytes"] for one in receiver["objects"]] == [30000, 500]
    assert all(len(one["ms"]) == 3 for one in receiver["objects"])
