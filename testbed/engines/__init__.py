"""How runs are made: on real packets, in a simulator, in a kernel of their own.

Others ask an engine; nobody asks which one it is.
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

    Loaded when it is asked for: an engine loads what makes its runs, and most commands need one engine, or none.
    """
    engine: Engine = importlib.import_module(f"testbed.engines.{facts.named(name).name}.engine").ENGINE
    return engine


def of(plan: Mapping[str, Any]) -> Engine:
    """The engine that a plan is for."""
    return named(facts.engine_of(plan).name)


def every() -> list[Engine]:
    """In the order of their facts."""
    return [named(name) for name in facts.ENGINES]
