"""Quantities with units, as users write them: ``1024pps``, ``8mbit``, ``50ms``, ``48MiB``, ``1%``, ``1x bdp``.

Only the standard library is used here, so that ``mn --custom`` (the system's Python) can read the same
quantities as a scenario does. Every parser takes the text and returns a number in the unit that its name
says, or raises :class:`UnitError` with a message that tells what would be right.
"""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from testbed.message import InvalidValue

_NUMBER = re.compile(r"^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ%/]*)(.*?)\s*$")
_BDP = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*[x×]?\s*bdp\s*", re.IGNORECASE)

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BITS_PER_SECOND = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


LONGEST_S = 7 * 24 * 3600.0
LONGEST_DELAY_MS = 3_600_000.0
"""Longest delay of a link's model (``internal/linkmodel``): Mars and back."""
LEAST_BPS, MOST_BPS = 8.0, 1e11
"""The kernel's shaper counts whole bytes a second."""
LEAST_PPS, MOST_PPS = 0.01, 1e7
MOST_BYTES = 1 << 50
"""Largest transfer of an agent."""
MOST_QUEUED_PACKETS, MOST_BDP = 10_000_000, 10_000.0
LONGEST_TEXT = 64


class UnitError(InvalidValue):
    """A quantity that can't be read; the message says what would be right."""


def as_written(value: float) -> Fraction:
    """The exact value of a number's shortest decimal text: 102.4 is 1024/10."""
    return Fraction(repr(value))


def as_number(exact: Fraction) -> float:
    """An int where it is whole, else the nearest float."""
    return exact.numerator if exact.denominator == 1 else float(exact)


def whole_bps(rate_bps: float) -> int:
    """A rate as every engine takes it, in whole bits per second: the kernel's shaper knows no other."""
    return max(1, round(rate_bps))


@dataclass(frozen=True)
class Rate:
    """A link's rate, in bits per second or in full-size packets per second (exactly one is set)."""

    bps: float | None = None
    pps: float | None = None

    def to_bps(self, frame_bytes: int) -> float:
        """Bits per second on the wire, for full-size frames of ``frame_bytes`` (no FCS), not rounded."""
        if self.bps is not None:
            return as_number(as_written(self.bps))
        assert self.pps is not None
        return as_number(as_written(self.pps) * frame_bytes * 8)

    def to_pps(self, frame_bytes: int) -> float:
        """Full-size packets per second."""
        return float(as_written(self.to_bps(frame_bytes)) / (frame_bytes * 8))


@dataclass(frozen=True)
class QueueLength:
    """A queue's limit; exactly one of the fields is set. ``bdp`` is a multiple of rate × RTT."""

    packets: int | None = None
    bytes: int | None = None
    ms: float | None = None
    bdp: float | None = None

    def to_packets(self, rate_pps: float, rtt_ms: float, frame_bytes: int) -> int:
        """Whole full-size packets, at least one."""
        if self.packets is not None:
            count = float(self.packets)
        elif self.bytes is not None:
            count = self.bytes / frame_bytes
        elif self.ms is not None:
            count = rate_pps * self.ms / 1000
        else:
            assert self.bdp is not None
            count = self.bdp * rate_pps * rtt_ms / 1000
        return max(1, round(count))


@contextmanager
def _example(example: str) -> Iterator[None]:
    """Ends the message about a quantity with one that would be right."""
    try:
        yield
    except UnitError as error:
        if "example" in error.said.details:  # of a parser that this one calls
            raise
        raise UnitError.of(error.said.at("", f"; write for example {example}", example=example)) from error


def _split(text: object) -> tuple[float, str]:
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        raise UnitError("quantity.number-without-unit", f"{text} has no unit")
    if isinstance(text, str) and len(text) > LONGEST_TEXT:  # a pattern may take the square of the length
        raise UnitError("quantity.too-long", f"{text[:20]!r}… ({len(text)} characters) is not a quantity")
    match = _NUMBER.match(text) if isinstance(text, str) else None
    if match is None or match.group(3):
        raise UnitError("quantity.not-a-quantity", f"{text!r} is not a quantity")
    number = float(match.group(1))
    if not math.isfinite(number):
        raise UnitError("quantity.too-large", f"{text!r} is larger than any number here")
    return number, match.group(2)


def _scaled(text: object, units: dict[str, float]) -> float:
    number, unit = _split(text)
    if not unit:
        raise UnitError("quantity.no-unit", f"{text!r} has no unit")
    factor = units.get(unit) or units.get(unit.lower())
    if factor is None:
        raise _unknown_unit(text, unit, units)
    return number * factor


def _unknown_unit(text: object, unit: str, known: Iterable[str]) -> UnitError:
    return UnitError(
        "quantity.unknown-unit", f"{text!r}: unit {unit!r} is not known here; use one of {', '.join(known)}"
    )


@_example("50ms, 2s or 1min")
def parse_duration_s(text: object) -> float:
    """Seconds, from 0 to a week."""
    seconds = 0.0 if text in (0, "0") and not isinstance(text, bool) else _scaled(text, _SECONDS)
    if seconds < 0:
        raise UnitError("quantity.negative-duration", f"{text!r} is negative, and a duration is 0 or more")
    if seconds > LONGEST_S:
        raise UnitError("quantity.duration-too-long", f"{text!r} is longer than 168h")
    return seconds


@_example("50ms")
def parse_delay_ms(text: object) -> float:
    """Milliseconds, from 0 to an hour."""
    # Rounded to the nanosecond: 50ms is 50.0, not 50.00000000000001.
    delay_ms = round(parse_duration_s(text) * 1000, 6)
    if delay_ms > LONGEST_DELAY_MS:
        raise UnitError("quantity.delay-too-long", f"{text!r} is longer than 1h")
    return delay_ms


@_example("1024pps or 8mbit")
def parse_rate(text: object) -> Rate:
    """A rate in ``pps`` (full-size packets per second, 0.01 to 10 million) or bit/s (``kbit``, ``mbit``, ``gbit``;
    8 bit/s to 100 Gbit/s)."""
    value, unit = _split(text)
    if not unit:
        raise UnitError("quantity.no-unit", f"{text!r} has no unit")
    if value <= 0:
        raise UnitError("quantity.not-above-zero", f"{text!r} is not above 0")
    if unit.lower() in ("pps", "packets/s"):
        if not LEAST_PPS <= value <= MOST_PPS:
            raise UnitError("quantity.rate-outside-pps", f"{text!r} is outside {LEAST_PPS:g}pps to {MOST_PPS:.0f}pps")
        return Rate(pps=value)
    unit_bits = unit.lower().removesuffix("/s").removesuffix("ps")
    if unit_bits not in _BITS_PER_SECOND:
        raise _unknown_unit(text, unit, ("pps", *_BITS_PER_SECOND))
    bps = as_number(as_written(value) * _BITS_PER_SECOND[unit_bits])
    if not LEAST_BPS <= bps <= MOST_BPS:
        raise UnitError("quantity.rate-outside-bits", f"{text!r} is outside {LEAST_BPS:g}bit to {MOST_BPS / 1e9:g}gbit")
    return Rate(bps=bps)


@_example("48MiB, 64KiB or 1024B")
def parse_size_bytes(text: object) -> int:
    """Bytes, from 1 to 2^50: ``48MiB`` (2^20) or ``1MB`` (10^6)."""
    size = _scaled(text, {k: float(v) for k, v in _BYTES.items()})
    if size < 1:
        raise UnitError("quantity.below-one-byte", f"{text!r} is less than one byte")
    if size > MOST_BYTES:
        raise UnitError("quantity.too-many-bytes", f"{text!r} is more than {MOST_BYTES >> 30}GiB")
    return round(size)


@_example("1%")
def parse_share(text: object) -> float:
    """A fraction from 0 to 1, written as a percentage (``1%``) or as 0. Half of the readers take a bare 0.5 for half a
    percent."""
    share = parse_fraction(text)
    if share and "%" not in f"{text}":
        either = f"{share * 100:.12g}% or {share:.12g}%"
        raise UnitError("quantity.bare-fraction", f"{text} is ambiguous; write {either}", example=either)
    return share


@_example("1%")
def parse_fraction(text: object) -> float:
    """A fraction from 0 to 1, as a percentage (``1%``) or, as earlier results have it, as a bare number (``0.01``)."""
    if isinstance(text, bool):
        raise UnitError("quantity.not-a-fraction", f"{text!r} is not a fraction")
    number, unit = (float(text), "") if isinstance(text, (int, float)) else _split(text)
    if unit not in ("", "%"):
        raise _unknown_unit(text, unit, "%")
    value = number / 100 if unit else number
    if not 0 <= value <= 1:
        raise UnitError("quantity.fraction-outside", f"{text!r} is outside 0% to 100%")
    return value


@_example("100 packets, 64KiB, 20ms or 1x bdp")
def parse_queue(text: object) -> QueueLength:
    """A queue limit: ``100 packets``, ``64KiB``, ``20ms`` or ``1x bdp``, above zero."""
    if not isinstance(text, str):
        raise UnitError("quantity.no-unit", f"{text!r} has no unit")
    bdp = _BDP.fullmatch(text) if len(text) <= LONGEST_TEXT else None
    number, unit = (float(bdp.group(1)), "bdp") if bdp else _split(text)
    if number <= 0:
        raise UnitError("quantity.not-above-zero", f"{text!r} is not above 0")
    if unit == "bdp":
        if number > MOST_BDP:
            raise UnitError("quantity.too-many-bdp", f"{text!r} is more than {MOST_BDP:.0f}x bdp")
        return QueueLength(bdp=number)
    if unit.lower() in ("packets", "packet", "p"):
        if number > MOST_QUEUED_PACKETS:
            raise UnitError("quantity.too-many-packets", f"{text!r} is more than {MOST_QUEUED_PACKETS} packets")
        return QueueLength(packets=round(number))
    if unit in _SECONDS:
        return QueueLength(ms=parse_delay_ms(text))
    if unit.lower() in _BYTES:
        return QueueLength(bytes=parse_size_bytes(text))
    raise UnitError("quantity.not-a-queue", f"{text!r} is not the limit of a queue")
