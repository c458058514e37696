"""The engines that make runs: on real packets, in a simulator, in a kernel of their own.

Other packages use an engine by this interface, whichever it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from testbed.engines.engine import Engine, Options, Programs, Run
from testbed.plan import engines as facts

__all__ = ["Engine", "Options", "Programs", "Run", "every", "named", "of"]


def named(name: str) -> Engine:
    """The engine in the folder of that name; raises :class:`BadInput` where there is none.

    Each is loaded on demand: it loads all that makes its runs, and most commands need one engine, or none.
    """
    engine: Engine = importlib.import_module(f"testbed.engines.{facts.named(name).name}.engine").ENGINE
    return engine


def of(plan: Mapping[str, Any]) -> Engine:
    """The engine that a plan is for."""
    return named(facts.engine_of(plan).name)


def every() -> list[Engine]:
    """All engines, in the order of their facts."""
    return [named(name) for name in facts.ENGINES]
