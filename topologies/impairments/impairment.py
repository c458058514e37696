"""An impairment of a link: its keys with their bounds, its text, netem's options for it, and its effect on
measurements. ``internal/linkmodel`` has its effect on frames.

Standard library only, for ``mn --custom``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_type_hints

from topologies import units
from topologies.typed_dict import is_typeddict

Asked = Mapping[str, Any]
"""The configuration of a link's line, by the plan's keys: its delay, and its impairments."""

Effect = Literal["drops", "spoils", "copies", "hastens", "varies"]
"""Effects on a frame: it is dropped by the link emulator, or by the host that receives it; it arrives twice; it takes
less than the delay. ``varies``: a mean over a run says little of the configured value."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, from 0, which removes an impairment; as in ``internal/linkmodel``."""

    most: float

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """The bounds in the plan's schema, with which Go's bounds are compared."""
        return {**handler(schema), "minimum": 0, "maximum": self.most}


Share = Annotated[float, Bounds(1)]
DelayMs = Annotated[float, Bounds(units.LONGEST_DELAY_MS)]


@dataclass(frozen=True)
class Quantity:
    """The notation of a number in a scenario."""

    parse: Callable[[object], float]
    """Raises :class:`~topologies.units.UnitError`."""
    description: str
    examples: tuple[str | float, ...]


SHARE = Quantity(units.parse_fraction, "a share in percent, or 0", ("1%", 0))


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
    """Effects of each key on a frame."""
    written: Quantity | None = None
    """Notation of its number, if not just a number."""
    netem: Callable[[Asked], list[str]] | None = None
    """netem's options for it, also where it is not configured, since netem keeps options that are not named; None:
    netem can't do it."""
    netem_refuses: Callable[[Asked], Iterator[str]] = field(default=_nothing)
    """Parts of the configuration that netem can't do, a reason each."""
    fixed: tuple[str, ...] = ()
    """Keys that netem can't change on a live link."""
    files: tuple[str, ...] = ()
    """Keys that name a file of the machine."""

    def types(self) -> dict[str, Any]:
        """The type of each key's value."""
        return get_type_hints(self.keys, include_extras=True)

    @property
    def number(self) -> str | None:
        """The only key, if it is a number."""
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
