"""The page's new window policy, put in place from the page: one file and one line; a scenario asks for it by name."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testbed import engines
from testbed.engines.engine import Options
from testbed.errors import BadInput
from testbed.machine import build
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load
from testbed.series import FromFile
from testbed.series.catalogue import CATALOGUE
from tests import worked_example
from tests.raises import raises

SCENARIO = """
name: mine
title: Windows that never change
links:
  - {name: fast, rate: 1024pps, delay: 10ms}
  - {name: slow, rate: 128pps, delay: 10ms}
ncp: {policy: fixed, transfer: 1MiB, send_window: 256KiB}
checks:
  - {name: payload, judge: payload_intact}
"""


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    part = worked_example.section("architecture.md", "Add a policy")
    (file,) = worked_example.code(part, "go")
    (place,) = re.findall(r"This one, `(.*?\.go)`", part)
    (known, entry) = re.findall(r"in `registry` of `(.*?)` its entry, `(.*?)`", part)[0]
    changed = {place: file, known: worked_example.with_line(known, "var registry = []entry{", f"{entry}, ")}
    return worked_example.built("ncp-sim", changed, tmp_path, monkeypatch)


def test_a_scenario_asks_for_it_and_gets_it(simulator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RESULTS": tmp_path / "results", "STATE": tmp_path / "state", "INFLUX_PORT": 18086}.items():
        monkeypatch.setenv(f"NCP_TESTBED_{name}", str(value))
    (tmp_path / "mine.yaml").write_text(SCENARIO)
    loaded = load(str(tmp_path / "mine.yaml"))

    def programs(*_: Any, **__: Any) -> dict[str, Path]:
        return {"ncp-sim": simulator}

    with raises(BadInput, "scenario.no-such-policy", name="fixed"):
        engines.named("sim").ready_run(loaded, Options(), QuietProgress())
    monkeypatch.setattr(build, "build_programs", programs)
    run = engines.named("sim").ready_run(loaded, Options(), QuietProgress())
    assert run.without_database(None).verdict == "pass"
    assert run.plan["sessions"][0]["policy_facts"]["rule"] == "never changes"
    windows = FromFile(run.folder / "telemetry.lp").read(CATALOGUE["window_packets"])
    assert {connection: set(np.unique(samples.values)) for connection, samples in windows.items()} == {
        "1": {128.0},
        "2": {128.0},
    }
