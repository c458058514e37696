"""The simulator and the guest kernel behind long queues and a paused reader, where they had different code: what they
measure is the same, and is not where the simulator is given a defect of that kind."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed.engines.sim.run import simulate
from testbed.engines.vkernel.run import GuestRun
from testbed.judge.checks.evidence import Evidence
from testbed.results.report.folder import ResultFolder
from testbed.runtime.progress import Progress
from testbed.scenario.load import load
from testbed.study.checks.agrees import compare_runs
from tests.ready import simulated as prepare
from tests.sabotage.entry import Swap
from tests.sabotage.lab import simulator_of


class Case(NamedTuple):
    """What is added to ``startup``, and defects of the simulator that it has to show."""

    scenario: str
    defects: dict[str, Swap]


_BATCH = "t.waiting = append(t.waiting[:0], t.waiting[1:]...)"
_QUEUE = "q := &both[direction].Queue; q.Mode == linkmodel.QueueBackPressure"
CASES = {
    "queues that hold the whole window": Case(
        """
        extends: startup
        name: long-queues
        links:
          - {name: fast, rate: 1024pps, delay: 50ms, queue: 4096 packets}
          - {name: slow, rate: 128pps, delay: 500ms, queue: 4096 packets}
        ncp: {transfer: 8MiB}
        """,
        {
            "a connection keeps its turn": Swap("ncp-agent/session/turns.go", _BATCH, f"if taken == 0 {{ {_BATCH} }}"),
            "queues of a quarter": Swap(
                "ncp-agent/simrun/network.go",
                _QUEUE,
                _QUEUE.replace("Queue;", "Queue; func() bool { q.Packets /= 4; return true }() &&"),
            ),
        },
    ),
    "a paused reader": Case(
        """
        extends: startup
        name: paused-reader
        ncp: {transfer: 8MiB}
        links:
          - {name: fast, rate: 1024pps, delay: 50ms, queue: 4096 packets}
          - {name: slow, rate: 128pps, delay: 50ms}
        timeline:
          - {at: 2s, do: pause_read, connection: 1, for: 2s}
        """,
        {
            "a quarter of the receive buffer": Swap(
                "ncp-agent/config/plan.go", "= 2 * ReceiveBufferBytes /", "= ReceiveBufferBytes / 2 /"
            )
        },
    ),
}


NOT_WITHIN_3_PERCENT_EACH_TIME = ("queues that hold the whole window",)
"""Cases in which a guest's goodput moves by some percent with what it has loaded: looked at by night."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.nightly if name in NOT_WITHIN_3_PERCENT_EACH_TIME else (), id=name)
        for name, case in CASES.items()
    ],
)
def test_they_measure_the_same(guest_run: Callable[..., GuestRun], case: Case, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(textwrap.dedent(case.scenario))
    guest = evidence_of(guest_run(str(file)).folder)
    run = prepare(load(str(file), [], quick=False), Progress(), seed=None, quick=False)
    run.execute()
    assert [d.text for d in compare_runs(evidence_of(run.folder), guest) if not d.same] == []
    for number, (defect, swap) in enumerate(case.defects.items()):
        simulate(run.folder, simulator_of((swap,), tmp_path / str(number)))
        found = compare_runs(evidence_of(run.folder), guest)
        assert not all(d.same for d in found), f"{defect}: nothing differs"


def evidence_of(folder: Path) -> Evidence:
    found = ResultFolder(folder).evidence
    assert found is not None
    return found
