"""Texts for people, each with a code that programs and tests decide by."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self  # the system's Python, which `mn --custom` uses, does not have it


class Message:
    """A text with its code.

    ``code`` (dotted words, e.g. ``result.no-folder``) stays the same when the wording changes; ``details`` are values
    that programs need apart from the text, by name; ``further`` are the sentences after the first.
    """

    __slots__ = ("code", "details", "further", "text")

    def __init__(self, code: str, text: str, /, **details: Any) -> None:
        self.code, self.text, self.details = code, text, details
        self.further: tuple[Message, ...] = ()

    def at(self, place: str, after: str = "", /, **details: Any) -> Self:
        """The same message with ``place`` (a file, a link, a run) before its text, and a text ``after`` it."""
        placed = copy(self)
        placed.text = (f"{place}: " if place else "") + self.text + after
        placed.details = {**details, **self.details}
        return placed

    def because(self, before: str) -> Self:
        """The same message as a sentence of its own, after ``before`` and a colon."""
        return self.at(before, ".")

    def followed_by(self, *further: Message) -> Message:
        """The same message with more sentences after it; each keeps its code."""
        longer = copy(self)
        longer.text = " ".join([self.text, *map(str, further)])
        longer.further = (*self.further, *further)
        return longer

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {self.text!r})"

    def __eq__(self, other: object) -> bool:
        return (self.code, self.text) == (other.code, other.text) if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.code, self.text))


class Messages(list[Message]):
    """A list of messages."""

    def add_message(self, code: str, text: str, /, **details: Any) -> None:
        """Append a message made of these arguments of :class:`Message`."""
        self.append(Message(code, text, **details))

    def joined(self) -> Message:
        """One message with all of them as its sentences."""
        return self[0].followed_by(*self[1:])


class Lines(tuple[Any, ...]):
    """Several messages in a text, each on a line of its own."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class Listed(tuple[Any, ...]):
    """Several messages in a text, with semicolons between them."""

    def __str__(self) -> str:
        return "; ".join(map(str, self))


def unknown(code: str, kind: str, name: object, known: Iterable[object], /) -> Message:
    """The message that no ``kind`` (``link``) has a ``name``, with the closest of the known names or all of them."""
    names = [str(one) for one in known]
    if close := difflib.get_close_matches(str(name), names, n=1):
        guess = f"; did you mean {close[0]!r}?"
    else:
        guess = f" (known: {', '.join(names)})" if names else " (there are none)"
    return Message(code, f"there is no {kind} {str(name)!r}{guess}")


class InvalidValue(ValueError):
    """A value that can't be used; ``said`` is the message that says why."""

    def __init__(self, code: str, text: str, /, **details: Any) -> None:
        """Takes the arguments of :class:`Message`."""
        super().__init__(code)
        self.said = Message(code, text, **details)

    @classmethod
    def of(cls, said: Message) -> InvalidValue:
        """The error that says a message which is there already."""
        error = cls(said.code, "")
        error.said = said
        return error

    def __str__(self) -> str:
        return str(self.said)
