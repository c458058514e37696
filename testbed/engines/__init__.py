"""The engines that make runs: on real packets, in a simulator, in a kernel of their own.

Other packages use an engine by this interface, whichever it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from testbed.plan import engines as facts

if TYPE_CHECKING:  # a guest loads this package, and none of these
    from testbed.engines.engine import Engine
    from testbed.scenario.load import LoadedScenario


def named(name: str) -> Engine:
    """The engine in the folder of that name; raises :class:`BadInput` where there is none.

    Each is loaded on demand: it loads all that makes its runs, and most commands need one engine, or none.
    """
    engine: Engine = importlib.import_module(f"testbed.engines.{facts.named(name).name}.engine").ENGINE
    return engine


def default_for(scenario: LoadedScenario) -> Engine:
    """The engine for a user who names none: the first that this user may use, that needs no building first and supports
    the scenario; else the first that could be built. Engines after it are not loaded."""
    able: list[Engine] = []
    for engine in map(named, facts.ENGINES):
        if engine.for_this_user() and engine.supports(scenario):
            able.append(engine)
            if engine.is_available():
                return engine
    return able[0]


def of(plan: Mapping[str, Any]) -> Engine:
    """The engine that a plan is for."""
    return named(facts.engine_of(plan).name)


def every() -> list[Engine]:
    """All engines, in the order of their facts."""
    return [named(name) for name in facts.ENGINES]
