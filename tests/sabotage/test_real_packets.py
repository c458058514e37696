"""A third of the saboteurs that change programs, on real packets: relay and agents are built with the defect, and a run
is made with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.machine import build
from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import Entry
from tests.sabotage.lab import SCENARIOS, Lab, overlay_of

ON_REAL_LINKS = (
    *("control", "delay-plus-1.5-ms", "loss-one-way", "two-per-ack", "no-normalisation", "half-per-ack"),
    *("delivered-twice", "third-not-counted", "in-flight-halved", "rto-in-seconds", "goodput-in-bytes"),
    *("acked-twice", "sent-halved", "window-used-twice", "reorder-halved", "carried-halved"),
    *("floor-of-4", "three-quarters", "no-losses"),
)
"""Whose defects are in code that the relay or the agents have as well."""
BY_NUMBERS = ("counts.", "telemetry.", "policy.")
"""How codes begin of numbers that contradict each other."""


@pytest.mark.nightly
@pytest.mark.packets
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name in ON_REAL_LINKS], ids=lambda e: e.name)
def test_caught_on_real_packets(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By calibration where the link is off, by the checks where the policy is."""
    real = build.build_programs
    if entry.swaps:
        monkeypatch.setenv("GOFLAGS", f"-overlay={overlay_of(tuple(entry.swaps), tmp_path)}")
    monkeypatch.setattr(build, "build_programs", lambda *names, **_: real(*names, into=tmp_path / "bin"))
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    at_work = Lab(tmp_path, entry, monkeypatch)
    scenario = str(SCENARIOS / f"{entry.scenario}.yaml")
    said = at_work.ask("run", scenario, "--runtime", "process", "--link", "relay")
    assert said.code == {"pass": 0, "fail": 1, "untrusted": 3}[entry.expected], said.text
    if entry.of == "fields":
        (verdict,) = (tmp_path / "results").glob("*/2*/verdict.json")
        codes = json.loads(verdict.read_text())["trust"]["codes"]
        assert any(code.startswith(BY_NUMBERS) for code in codes), codes
