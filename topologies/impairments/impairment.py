"""What an impairment of a link is: its keys with their bounds, how it is written, netem's words for it, and what it
does to what is measured. What it does to frames is in ``internal/linkmodel``.

Standard library only, for ``mn --custom``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_type_hints

from topologies import units
from topologies.typed_dict import is_typeddict

Asked = Mapping[str, Any]
"""What is asked of a link's line, by the plan's keys: its delay, and what is set of its impairments."""

Effect = Literal["drops", "spoils", "copies", "hastens", "varies"]
"""What a frame may meet: it is dropped in the middle, or by the host that receives it; it arrives twice; it takes less
than the delay. ``varies``: means over a run say little of what was asked."""


@dataclass(frozen=True)
class Bounds:
    """From 0, which takes an impairment away, to the most that a number may be; as ``internal/linkmodel`` has them."""

    most: float

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """For the plan's schema, with which Go's bounds are compared."""
        return {**handler(schema), "minimum": 0, "maximum": self.most}


Share = Annotated[float, Bounds(1)]
DelayMs = Annotated[float, Bounds(units.LONGEST_DELAY_MS)]


@dataclass(frozen=True)
class Quantity:
    """How a scenario writes a number."""

    parse: Callable[[object], float]
    """Raises :class:`~topologies.units.UnitError`."""
    description: str
    examples: tuple[str | float, ...]


SHARE = Quantity(units.parse_fraction, "a fraction, in percent or from 0 to 1", ("1%", 0.01))


def _nothing(_asked: Asked) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True)
class Impairment:
    """One thing that a link's middle does to frames beside delaying them."""

    keys: type
    """A ``TypedDict`` of the plan's keys for it, which are ``internal/linkmodel``'s; a number has its
    :class:`Bounds`. One with a single number is written by this key in a scenario and its timeline; others have
    a form of their own there."""
    effects: Mapping[str, tuple[Effect, ...]]
    """What each key that is set may do to a frame."""
    written: Quantity | None = None
    """How its number is written, if not just as a number."""
    netem: Callable[[Asked], list[str]] | None = None
    """netem's options for it, also if it is not asked for, since netem keeps what is not named; None: it can't."""
    netem_refuses: Callable[[Asked], Iterator[str]] = field(default=_nothing)
    """What netem can't do of what is asked, a reason each."""
    fixed: tuple[str, ...] = ()
    """Keys that netem can't change on a live link."""
    files: tuple[str, ...] = ()
    """Keys that name a file of the machine."""

    def types(self) -> dict[str, Any]:
        """The type of each key's value."""
        return get_type_hints(self.keys, include_extras=True)

    @property
    def number(self) -> str | None:
        """Its one key, if that is a number."""
        (key, kind), *others = self.types().items()
        return None if others or not bounds(kind) else key


def bounds(kind: Any) -> Bounds | None:
    """A number's, by its type."""
    return next((each for each in getattr(kind, "__metadata__", ()) if isinstance(each, Bounds)), None)


def check(name: str, kind: Any, value: Any) -> None:
    """Raises :class:`ValueError`, with its name, for a value that is not of a type of the plan's keys."""
    if within := bounds(kind):
        if not 0 <= value <= within.most:
            raise ValueError(f"{name}: {value}, want a number from 0 to {within.most:g}")
    elif is_typeddict(kind):
        parts = get_type_hints(kind, include_extras=True)
        for key, part in value.items():
            if key not in parts:
                raise ValueError(f"{name}.{key}: want {', '.join(parts)}")
            check(f"{name}.{key}", parts[key], part)


def percent(share: float) -> str:
    """A fraction as ``tc`` reads it, as fine as netem's 32 bits."""
    return f"{share * 100:.9f}%"
