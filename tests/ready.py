"""Runs in virtual time that are ready to be made, for tests that look at more than their verdicts."""

from pathlib import Path

from testbed import engines
from testbed.engines.engine import Options
from testbed.engines.sim.run import SimulatedRun
from testbed.engines.vkernel.run import GuestRun
from testbed.plan.model import Traces
from testbed.runtime.progress import Progress
from testbed.scenario.load import LoadedScenario


def simulated(loaded: LoadedScenario, progress: Progress, *, seed: int | None, quick: bool) -> SimulatedRun:
    """In the simulator; raises CannotRun where that can't carry it."""
    run = engines.named("sim").ready_run(loaded, Options(seed=seed, quick=quick), progress)
    assert isinstance(run, SimulatedRun)
    return run


def in_a_guest(
    loaded: LoadedScenario,
    progress: Progress,
    *,
    seed: int | None,
    quick: bool,
    results: Path | None = None,
    traces: Traces | None = None,
) -> GuestRun:
    """In a guest kernel; ``results`` is where its folder goes, if not to the scenario's results."""
    options = Options(seed=seed, quick=quick, traces=traces)
    run = engines.named("vkernel").ready_run(loaded, options, progress, results)
    assert isinstance(run, GuestRun)
    return run
