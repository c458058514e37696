"""A third of the saboteurs that change programs, on real packets: relay and agents are built with the defect, and a run
is made with them, in a process of its own as a user's is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import paths
from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import Entry
from tests.sabotage.lab import SCENARIOS, overlay_of

ON_REAL_LINKS = (
    *("control", "delay-plus-1.5-ms", "loss-one-way", "two-per-ack", "no-normalisation", "half-per-ack"),
    *("delivered-twice", "third-not-counted", "in-flight-halved", "rto-in-seconds", "goodput-in-bytes"),
    *("acked-twice", "sent-halved", "window-used-twice", "reorder-halved", "carried-halved"),
    *("floor-of-4", "three-quarters", "no-losses"),
)
"""Whose defects are in code that the relay or the agents have as well."""
LOSSY = ("table", "speed-table", "--rows", "7", "--columns", "nkp24", "--quick")
SHOWN_BY_LOSS = ("three-quarters",)
"""Those that need timeouts one by one: in ``blackhole`` a hundred come between two samples, and 0.75 to the power of a
hundred is as little as 0.5 is."""
BY_NUMBERS = ("counts.", "telemetry.", "policy.")
"""How codes begin of numbers that contradict each other."""
PROGRAM = """
import sys
from pathlib import Path
from testbed.cli import app
from testbed.machine import build
real, into = build.build_programs, Path(sys.argv.pop(1))
build.build_programs = lambda *names, **_: real(*names, into=into)
app.main()
"""


@pytest.mark.nightly
@pytest.mark.packets
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name in ON_REAL_LINKS], ids=lambda e: e.name)
def test_caught_on_real_packets(entry: Entry, tmp_path: Path) -> None:
    """By calibration where the link is off, by the checks where the policy is."""
    environment = os.environ | {"NCP_TESTBED_RESULTS": str(tmp_path / "results")}
    if entry.swaps:
        environment["GOFLAGS"] = f"-overlay={overlay_of(tuple(entry.swaps), tmp_path)}"
    own = ("run", str(SCENARIOS / f"{entry.scenario}.yaml"), "--runtime", "process", "--link", "relay")
    command = LOSSY if entry.name in SHOWN_BY_LOSS else own
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "bin"), *command]
    made = subprocess.run(program, env=environment, cwd=paths.CHECKOUT, capture_output=True, text=True, check=False)
    assert made.returncode == {"pass": 0, "fail": 1, "untrusted": 3}[entry.expected], made.stdout + made.stderr
    if entry.of == "fields":
        runs = [path.parent for path in (tmp_path / "results").rglob("telemetry.lp")]
        assert runs
        for run in runs:
            codes = json.loads((run / "verdict.json").read_text())["trust"]["codes"]
            assert any(code.startswith(BY_NUMBERS) for code in codes), codes
