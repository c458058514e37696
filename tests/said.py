"""What tests expect of messages: codes and the values in their texts, whatever the wording."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testbed.message import Lines, Listed, Message

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?")
SCALES = (1, 1e-3, 1e-6)
"""Parts of a value's unit that a text may have: thousands of it, millions."""


@dataclass(frozen=True)
class Containing:
    """A part of a message's text."""

    part: str


def has(said: Message, name: str, value: Any) -> bool:
    """Whether a message has a value: as its detail of that name, else in its text."""
    return missing(said, {name: value}) == []


def missing(said: Message, values: Mapping[str, Any]) -> list[str]:
    """The names of values that a message has neither as details of these names nor in its text: texts as whole words,
    ``place`` before all else, and each number as one of its own, to the digits shown there."""
    text, numbers = str(said), []
    detailed = {name for name in said.details.keys() & values.keys() if not isinstance(values[name], Containing)}
    absent = [
        name
        for name in detailed
        if not _same(values[name], said.details[name]) and str(said.details[name]) != str(values[name])
    ]
    for name, value in _flat({name: value for name, value in values.items() if name not in detailed}):
        if isinstance(value, Containing):
            there = value.part in text
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append((name, float(value)))
            continue
        elif name == "place":
            there = text.startswith(f"{value}: ")
        else:
            there = _is_word(str(value), text)
        absent += [] if there else [name]
    left = NUMBER.findall(text)
    # Those that may stand for few values first, so that none takes another's only one.
    for name, number in sorted(numbers, key=lambda one: sum(_shows(token, one[1]) for token in left)):
        if token := next((token for token in left if _shows(token, number)), None):
            left.remove(token)
        else:
            absent.append(name)
    return absent


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value)
        elif isinstance(value, (list, tuple)) and not isinstance(value, (Lines, Listed)):
            yield from ((name, one) for one in value)
        else:
            yield name, value


def _is_word(word: str, text: str) -> bool:
    """Whether the text has it, and not as a part of a longer word."""
    before, after = (r"(?<!\w)" if word[:1].isalnum() else "", r"(?!\w)" if word[-1:].isalnum() else "")
    return re.search(before + re.escape(word) + after, text) is not None


def _shows(token: str, value: float) -> bool:
    text = token.replace(",", "").removesuffix("%")
    mantissa, _, exponent = text.partition("e")
    half = 0.5000001 * 10 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    scales = (100,) if token.endswith("%") else SCALES
    return any(abs(value * scale - float(text)) <= half for scale in scales)


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
            and str(other) != ""
            and not missing(other, self.values)
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
