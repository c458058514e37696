"""A few of the saboteurs on real packets: the relay itself is built with the defect, and a run is made over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.machine import build
from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import Entry
from tests.sabotage.lab import SCENARIOS, Lab, overlay_of

ON_REAL_LINKS = ("control", "delay-plus-1.5-ms", "loss-one-way", "two-per-ack")
"""Whose defects are in code that the relay or the agents have as well."""


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
    said = at_work.ask("run", str(SCENARIOS / "lab-startup.yaml"), "--runtime", "process", "--link", "relay")
    assert said.code == {"pass": 0, "fail": 1, "untrusted": 3}[entry.expected], said.text
