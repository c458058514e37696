"""The engine where none is named: of a document, a verb, or a scenario on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

DEFAULT = "mininet"
"""Engine of verbs, and of documents that name none."""
SWEEP = "sim"
"""A sweep's only one."""
COMPARE = "sim"
REPEATABLE = "vkernel"
"""The only engine of ``repeatable``, whose runs are repeated to be compared byte for byte."""


class Candidate(Protocol):
    """An engine, as far as the choice depends on it."""

    def for_this_user(self) -> bool: ...
    def is_available(self) -> bool: ...
    def supports(self, scenario: Any) -> bool: ...


One = TypeVar("One", bound=Candidate)


def default_engine(scenario: object, engines: Iterable[One]) -> One:
    """The first that this user may use, that needs no building first and carries the scenario, as far as that shows;
    else the first that could be. Of ``engines`` no more are taken than it needs."""
    able: list[One] = []
    for engine in engines:
        if engine.for_this_user() and engine.supports(scenario):
            able.append(engine)
            if engine.is_available():
                return engine
    return able[0]
