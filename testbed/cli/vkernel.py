"""A run in a guest kernel, for those who make several."""

from __future__ import annotations

from pathlib import Path

from testbed import engines
from testbed.engines.vkernel import ENGINE
from testbed.runner.progress import Progress
from testbed.scenario.load import LoadedScenario
from testbed.vkernel.run import GuestRun


def prepare(
    loaded: LoadedScenario, progress: Progress, *, seed: int | None, quick: bool, results: Path | None = None
) -> GuestRun:
    """Built and not yet executed; ``results`` is where its folder goes, if not to the scenario's results. Raises
    :class:`CannotRun` where the guest can't carry it."""
    run = ENGINE.ready_run(loaded, engines.Options(seed=seed, quick=quick), progress, results)
    assert isinstance(run, GuestRun)
    return run
