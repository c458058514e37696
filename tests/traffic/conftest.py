"""Two hosts with a cable for each link of a plan, and a program between them: no rates, no relay, no guest."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from testbed import traffic
from testbed.engines.emulation import telemetry
from testbed.judge.checks.result import Trust, Verdict
from testbed.judge.judge import judge
from testbed.planning.resolve import Choices, resolve
from testbed.runtime.progress import QuietProgress, Step
from testbed.scenario.load import load
from testbed.series import FromFile
from testbed.traffic.program.conform import Cables
from topologies.commands import run

SCENARIO = """\
name: mine
title: A program of mine
links:
  - {name: fast, rate: 100mbit, delay: 0}
  - {name: slow, rate: 100mbit, delay: 0}
program:
  command: python3 mine.py
  transport: tcp
  transfer: 256KiB
checks:
  - {name: payload, judge: payload_intact}
limits: {transfer_time: 20s}
"""


def planned(folder: Path, *changed: str, text: str = SCENARIO) -> Any:
    """The plan of a scenario in a folder, in which its program is."""
    (folder / "mine.yaml").write_text(text)
    loaded = load(str(folder / "mine.yaml"), changed)
    return resolve(loaded, {}, Choices(runtime="process"), f"20261123-000000-{os.getpid() & 0xFFFF:04x}")


@pytest.fixture
def cabled() -> Iterator[Callable[[Any], Cables]]:
    """Builds what a plan's parallel links stand for."""
    with ExitStack() as parts:
        yield lambda plan: Cables(plan, lambda name: parts.callback(run, ["ip", "netns", "delete", name]))


@pytest.fixture
def live_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where programs find their folders. Not pytest's own folder: that one is closed to who they run as."""
    folder = Path(tempfile.mkdtemp(prefix="ncp-testbed-test-"))
    folder.chmod(0o755)
    monkeypatch.setenv("NCP_TESTBED_RUN", str(folder))
    yield folder
    shutil.rmtree(folder)


class Made:
    """A transfer that is over, and its folder."""

    def __init__(self, plan: Any, folder: Path, note: str, provenance: Any) -> None:
        self.plan, self.folder, self.note, self.provenance = plan, folder, note, provenance

    def said(self, role: str) -> Any:
        return json.loads((self.folder / "agents" / f"s1-{role}.json").read_text())

    def verdict(self) -> Verdict:
        reader = FromFile(self.folder / "telemetry.lp")
        return judge(self.plan, reader, self.folder / "agents", Trust(trusted=True))


@pytest.fixture
def carry_out(cabled: Callable[[Any], Cables], live_runs: Path, tmp_path: Path) -> Callable[..., Made]:
    """Carries a plan's transfer out; raises what the run would break down with."""

    def carry(plan: Any) -> Made:
        folder = tmp_path / "results"
        provenance: dict[str, Any] = {}
        for name in ("agents", "logs", "spools"):
            (folder / name).mkdir(parents=True)
        network: Any = cabled(plan)
        (live_runs / plan["run"]).mkdir()
        os.environ["NCP_TESTBED_PROCESS_OF"] = plan["run"]
        sent = traffic.of(plan)(traffic.Site(plan, folder, {}, QuietProgress(), provenance))
        step = Step("transfer")
        try:
            sent.set_hosts(network, ExitStack())
            sent.transfer(network, [], [], step)
        finally:
            del os.environ["NCP_TESTBED_PROCESS_OF"]
            sent.keep_results([])
        telemetry.merge_spools(sorted((folder / "spools").glob("**/*.lp")), folder / "telemetry.lp")
        return Made(plan, folder, step.note, provenance)

    return carry
