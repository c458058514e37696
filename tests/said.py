"""What tests expect of messages: codes and the values in their texts, whatever the wording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from testbed.message import Lines, Listed, Message

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
SCALES = (1, 100, 1e-3, 1e3, 1e-6, 1 / 8e-6)
"""Units that a text may have instead of its value's: percent, thousands, millions."""


@dataclass(frozen=True)
class Containing:
    """A part of a message's text."""

    part: str

    def __str__(self) -> str:
        return self.part


def has(said: Message, name: str, value: Any) -> bool:
    """Whether a message has a value: as its detail of that name, else in its text, to the digits shown there."""
    if name in said.details and not isinstance(value, Containing):
        detail = said.details[name]
        return bool(_same(value, detail)) or str(detail) == str(value)
    if isinstance(value, dict):
        return all(has(said, name, one) for one in value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, (Lines, Listed)):
        return all(has(said, name, one) for one in value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return any(_shows(token, float(value)) for token in NUMBER.findall(str(said)))
    return str(value) in str(said)


def _shows(token: str, value: float) -> bool:
    text = token.replace(",", "")
    mantissa, _, exponent = text.partition("e")
    half = 0.5000001 * 10 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return any(abs(abs(value * scale) - abs(float(text))) <= half for scale in SCALES)


class Saying:
    """Equal to a message with this code and these values in its text or details, whatever the sentence."""

    def __init__(self, code: str, /, **values: Any) -> None:
        self.code, self.values = code, values

    def at(self, place: str) -> Saying:
        """The same with a place before it."""
        return Saying(self.code, **{**self.values, "place": place})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Message)
            and self.code == other.code
            and all(has(other, name, value) for name, value in self.values.items())
            and str(other) != ""
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Saying({', '.join([repr(self.code), *(f'{k}={v!r}' for k, v in self.values.items())])})"


def codes(messages: Iterable[Message]) -> list[str]:
    """Of each."""
    return [message.code for message in messages]


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, float) and not isinstance(found, (str, bool)) and found is not None:
        return math.isclose(expected, float(found), rel_tol=1e-5, abs_tol=1e-9)
    return bool(expected == found) and isinstance(expected, bool) == isinstance(found, bool)


def all_codes(message: Message) -> list[str]:
    """Of all that a message says: of it, of those in its details, and of the sentences after it."""
    inside = [said for value in message.details.values() if isinstance(value, (Lines, Listed)) for said in value]
    return [message.code, *(code for said in (*inside, *message.further) for code in all_codes(said))]


def sentences(message: Message) -> dict[str, Message]:
    """Each sentence of a text, by its code, in order."""
    return {one.code: one for one in (message, *message.further)}


def places(messages: Iterable[Message], code: str = "") -> list[str]:
    """Where in a result folder each is, of those with the code; without one of all."""
    return [_where(message) for message in messages if code in ("", message.code)]


def _where(message: Message) -> str:
    text, where = str(message), str(message.details.get("where", ""))
    return text[: text.index(where) + len(where)] if where else text.rpartition(": ")[0]
