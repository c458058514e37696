"""A run with every trace, made once; and tshark."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import engines, paths
from testbed.engines.engine import Options
from testbed.plan.model import Traces
from testbed.runtime.progress import QuietProgress
from testbed.scenario.load import load

SCENARIO = """\
name: traced
title: Two links, one of which loses packets and gets slower
source: tests
topology: parallel
links:
  - {name: fast, rate: 1024pps, delay: 20ms}
  - {name: slow, rate: 256pps, delay: 40ms, loss: 2%}
ncp: {policy: delivery-rate, transfer: 1MiB, send_window: 512KiB, mtu: 1024}
timeline:
  - {at: 500ms, do: set, link: slow, rate: 128pps}
checks:
  - {name: payload, judge: payload_intact}
"""
ALL: Traces = {"qlog": True, "pcap": ["all"]}


def made(place: Path, traces: Traces | None) -> Path:
    """The result folder of a run of the scenario in the simulator."""
    file = place / "traced.yaml"
    file.write_text(SCENARIO)
    run = engines.named("sim").ready_run(load(str(file)), Options(traces=traces), QuietProgress(), place)
    assert run.without_database(None).verdict == "pass"
    return run.folder


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed."""
    return made(tmp_path_factory.mktemp("traced"), ALL)


@pytest.fixture
def traced(honest: Path, tmp_path: Path) -> Path:
    """A copy of one's own."""
    return Path(shutil.copytree(honest, tmp_path / "traced"))


Tshark = Callable[..., list[list[str]]]


@pytest.fixture(scope="session")
def tshark() -> Tshark:
    """Reads a capture by the dissector: the rows of some fields, of the packets that a display filter leaves."""
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed")

    def read(file: Path, filter_: str, *fields: str) -> list[list[str]]:
        chosen = [argument for name in fields for argument in ("-e", name)]
        command = [program, "-X", f"lua_script:{paths.CHECKOUT / 'tools' / 'wireshark' / 'ncp.lua'}", "-r", str(file)]
        done = subprocess.run([*command, "-Y", filter_, "-T", "fields", *chosen], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "Lua" not in done.stderr, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    return read
