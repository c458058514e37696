"""All topologies that a scenario names, a line each.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Mapping
from importlib import import_module

from topologies.shapes.shape import Shape

NAMES = ("parallel", "relays", "dumbbell", "star", "chain")
"""Each is a file of that name here, with a ``SHAPE``."""

SHAPES: Mapping[str, Shape] = {name: import_module(f"topologies.shapes.{name}").SHAPE for name in NAMES}
