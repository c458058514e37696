"""A run in the simulator, for those who make several."""

from __future__ import annotations

from testbed import engines
from testbed.engines.sim import ENGINE
from testbed.runner.progress import Progress
from testbed.scenario.load import LoadedScenario
from testbed.simulator.run import SimulatedRun


def prepare(loaded: LoadedScenario, progress: Progress, *, seed: int | None, quick: bool) -> SimulatedRun:
    """Built and not yet executed; raises :class:`CannotRun` where virtual time can't carry it."""
    run = ENGINE.ready_run(loaded, engines.Options(seed=seed, quick=quick), progress)
    assert isinstance(run, SimulatedRun)
    return run
