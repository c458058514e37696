"""Events on live links show in the data where the timeline put them."""

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from testbed.series import FromFile, named
from testbed.series.reader import start_of
from tests.emulation.conftest import ON_ANY_MACHINE, result_folder

pytestmark = pytest.mark.emulation

SCENARIO = """
name: live-changes
title: A rate change and a link break in mid-transfer
links:
  - {name: fast, rate: 1024pps, delay: 50ms}
  - {name: slow, rate: 128pps, delay: 50ms}
ncp: {policy: nkp24, transfer: 9MiB}
timeline:
  - {at: 3s, do: set, link: fast, rate: 512pps}
  - {at: 4s, do: blackhole, link: slow, for: 1500ms}
  - {at: 6s, do: set, link: fast, rate: 1024pps}
  - {at: 6500ms, do: down, link: slow}
  - {at: 7s, do: up, link: slow}
checks:
  - {name: payload, judge: payload_intact}
  - {name: database, judge: points_stored}
"""


def test_events_show_in_the_data(
    run_sh: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    scenario = tmp_path / "live-changes.yaml"
    scenario.write_text(SCENARIO)
    done = run_sh(str(scenario), "--runtime", "process", *ON_ANY_MACHINE)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = result_folder(tmp_path, "live-changes")

    with (folder / "events.csv").open() as file:
        events = list(csv.DictReader(file))
    assert [(float(e["asked_s"]), e["kind"]) for e in events] == [
        (3.0, "set"), (4.0, "set"), (5.5, "set"), (6.0, "set"), (6.5, "carrier"), (7.0, "carrier"),
    ]  # fmt: skip
    assert all(float(e["at_s"]) >= float(e["asked_s"]) for e in events)

    telemetry = FromFile(folder / "telemetry.lp")
    assert {e.kind for e in telemetry.events()} >= {"transfer_start", "transfer_end", "set", "carrier"}
    start_ns = start_of(telemetry.events())
    assert start_ns is not None
    delivered = telemetry.read(named("delivered_pps"))

    def median_pps(connection: str, from_s: float, to_s: float) -> float:
        # Each sample is the rate over the second before it.
        samples = delivered[connection]
        t_s = samples.since(start_ns)
        return float(np.median(samples.values[(t_s >= from_s + 1) & (t_s <= to_s)]))

    before, during = median_pps("1", 1.0, 3.0), median_pps("1", 3.5, 6.0)
    assert 0.4 < during / before < 0.6, "half the rate delivers half the packets"
    assert median_pps("2", 4.2, 5.5) < 0.1 * median_pps("2", 1.0, 3.0), "nothing arrives through a black hole"
