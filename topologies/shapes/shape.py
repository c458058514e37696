"""A topology: its edges, and the sections that a scenario may have with it.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from topologies.layout import Layout


@dataclass(frozen=True)
class Shape:
    """A topology that a scenario names."""

    layout: Callable[[Sequence[str]], Layout] | None = None
    """Edges by the names of the scenario's links, one each in their order. All paths are those of one session, a
    connection each. None: the links need more than their names (``testbed/planning/topology.py``)."""
    keys: tuple[str, ...] = ()
    """Sections of ``sessions``, ``access`` and ``cross_traffic`` that a scenario may have with it."""
    hosts_are_named: bool = False
    """Whether sessions say who their sender and receiver are."""
    agents_everywhere: bool = False
    """Whether each of its hosts has an agent, as NDN needs it, and nothing else can use."""
    least_links: int = 1
    most_links: int | None = None
    links_are: str = ""
    """A description of its links, for a scenario that has too few or too many."""
