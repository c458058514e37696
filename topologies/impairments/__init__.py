"""All impairments of links, a line each.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from topologies.impairments.impairment import Effect, Impairment

NAMES = ("jitter", "loss", "duplicate", "corrupt", "reorder")
"""Each is a file of that name here, with an ``IMPAIRMENT``."""

IMPAIRMENTS: tuple[Impairment, ...] = tuple(
    import_module(f"topologies.impairments.{name}").IMPAIRMENT for name in NAMES
)
KEYS: Mapping[str, Any] = {key: kind for impairment in IMPAIRMENTS for key, kind in impairment.types().items()}
"""The plan's keys of all impairments, each with the type of its value."""
NUMBERS: Mapping[str, Impairment] = {key: impairment for impairment in IMPAIRMENTS if (key := impairment.number)}
"""Impairments of a single number, by its key."""
FIXED: tuple[str, ...] = tuple(key for impairment in IMPAIRMENTS for key in impairment.fixed)
"""Keys that netem can't change on a live link."""


def keys_that(*effects: Effect) -> tuple[str, ...]:
    """Keys of what has one of these effects on a frame; without effects of what has any."""
    return tuple(
        key
        for impairment in IMPAIRMENTS
        for key, has in impairment.effects.items()
        if not effects or set(effects) & set(has)
    )
