"""What a topology is: who is linked with whom, and what a scenario may say of it.

Standard library only, for ``mn --custom``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topologies.layout import Layout


@dataclass(frozen=True)
class Shape:
    """A topology that a scenario names."""

    layout: Callable[[Sequence[str]], Layout] | None = None
    """Of the names of the scenario's links, an edge for each in their order. All paths are those of one session, a
    connection each. None: what is made of the links takes more than their names (``testbed/planning/topology.py``)."""
    keys: tuple[str, ...] = ()
    """Those of ``sessions``, ``access`` and ``cross_traffic`` that a scenario may have with it."""
    hosts_are_named: bool = False
    """Whether sessions say who their sender and receiver are."""
    agents_everywhere: bool = False
    """Whether each of its hosts has an agent, as NDN needs it, and nothing else can use."""
    least_links: int = 1
    most_links: int | None = None
    links_are: str = ""
    """What its links are, for a scenario that has too few or too many."""
