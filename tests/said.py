"""What tests expect of messages: codes and the values in them, whatever the wording."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from testbed.message import Lines, Listed, Message


class Saying:
    """Equal to a message with this code and these parameters (numbers to five digits), whatever its text; of a model
    among them, the fields that matter are a dictionary."""

    def __init__(self, code: str, /, **parameters: Any) -> None:
        self.code, self.parameters = code, parameters

    def at(self, place: str) -> Saying:
        """The same with a place before it."""
        return Saying(self.code, **{**self.parameters, "place": place})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Message)
            and self.code == other.code
            and self.parameters.keys() == other.parameters.keys()
            and all(_same(value, other.parameters[name]) for name, value in self.parameters.items())
            and str(other) != ""  # made of its parameters, whatever they make
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Saying({', '.join([repr(self.code), *(f'{k}={v!r}' for k, v in self.parameters.items())])})"


def codes(messages: Iterable[Message]) -> list[str]:
    """Of each."""
    return [message.code for message in messages]


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, dict) and isinstance(found, BaseModel):
        return all(_same(value, getattr(found, name)) for name, value in expected.items())
    if isinstance(expected, float) and not isinstance(found, (str, bool)) and found is not None:
        return math.isclose(expected, float(found), rel_tol=1e-5, abs_tol=1e-9)
    return bool(expected == found) and isinstance(expected, bool) == isinstance(found, bool)


def all_codes(message: Message) -> list[str]:
    """Of all that a message says: of it, of those in its values, and of the sentences after it."""
    inside = [said for value in message.parameters.values() if isinstance(value, (Lines, Listed)) for said in value]
    return [message.code, *(code for said in (*inside, *message.further) for code in all_codes(said))]


def sentences(message: Message) -> dict[str, dict[str, Any]]:
    """The parameters of each sentence of a text, by its code, in order."""
    return {one.code: one.parameters for one in (message, *message.further)}


def places(messages: Iterable[Message], code: str = "") -> list[str]:
    """Where in a result folder each is, of those with the code; without one of all."""
    return [_where(message) for message in messages if code in ("", message.code)]


def _where(message: Message) -> str:
    inside = next((str(message.parameters[key]) for key in ("where", "file", "plot") if key in message.parameters), "")
    return ": ".join(part for part in (message.parameters.get("place", ""), inside) if part)
