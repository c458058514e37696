"""Texts for people, each with a code that programs and tests decide by."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class Message:
    """A text with its code.

    ``code`` (dotted words, e.g. ``result.no-folder``) stays the same when the wording changes; ``parameters`` are the
    values in the text, by name; ``str()`` gives the text.
    """

    __slots__ = ("_after", "_before", "code", "parameters", "template")

    def __init__(self, code: str, template: str, /, **parameters: Any) -> None:
        """``template`` is a text for ``str.format``, e.g. ``{folder}: is empty``, filled in from ``parameters``."""
        self.code = code
        self.template = template
        self.parameters = parameters
        self._before = self._after = ""

    @classmethod
    def restored(cls, code: str, text: str) -> Message:
        """The message of another process or file, which keeps no parameters."""
        return cls(code, "{text}", text=text)

    def at(self, place: str, after: str = "", /, **parameters: Any) -> Message:
        """The same message with ``place`` (a file, a link, a run) before its text, and a text ``after`` it;
        ``parameters`` tell more of the place, which is one itself, as ``place``."""
        before = (f"{place}: " if place else "") + self._before
        parameters = {**parameters, **self.parameters, "place": before.removesuffix(": ")}
        placed = type(self)(self.code, self.template, **parameters)
        placed._before, placed._after = before, self._after + after
        return placed

    def because(self, before: str) -> Message:
        """The same message as a sentence of its own, after ``before`` and a colon."""
        sentence = type(self)(self.code, self.template, **self.parameters)
        sentence._before, sentence._after = f"{before}: {self._before}", f"{self._after}."
        return sentence

    def followed_by(self, *further: Message) -> Message:
        """The same message with more sentences after it; each keeps its code."""
        more = (*self.further, *further)
        template = self.template + "".join(f" {{further[{place}]}}" for place in range(len(self.further), len(more)))
        return Message(self.code, template, **{**self.parameters, "further": more}) if further else self

    @property
    def area(self) -> str:
        """The subject of the code: its first word."""
        return self.code.partition(".")[0]

    @property
    def further(self) -> tuple[Message, ...]:
        """The sentences after the first."""
        return tuple(self.parameters.get("further", ()))

    def __str__(self) -> str:
        return self._before + self.template.format(**self.parameters) + self._after

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return (self.code, str(self)) == (other.code, str(other)) if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.code, str(self)))


class Messages(list[Message]):
    """A list of messages."""

    def add_message(self, code: str, template: str, /, **parameters: Any) -> None:
        """Append a message made of these arguments of :class:`Message`."""
        self.append(Message(code, template, **parameters))


class Lines(tuple[Any, ...]):
    """Several messages as one parameter; in a text each stands on a line of its own."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class Listed(tuple[Any, ...]):
    """Several messages as one parameter, with semicolons between them."""

    def __str__(self) -> str:
        return "; ".join(map(str, self))


def unknown(code: str, kind: str, name: object, known: Iterable[object], /) -> Message:
    """Makes the message that there is no ``kind`` (``link``) of that ``name``, with the closest name or all of them."""
    names = [str(one) for one in known]
    if close := difflib.get_close_matches(str(name), names, n=1):
        guess = f"; did you mean {close[0]!r}?"
    else:
        guess = f" (known: {', '.join(names)})" if names else " (there are none)"
    return Message(code, "there is no {kind} {name!r}{guess}", kind=kind, name=str(name), guess=guess)


class InvalidValue(ValueError):
    """A value that can't be used; ``said`` is the message that says why."""

    def __init__(self, code: str, template: str, /, **parameters: Any) -> None:
        """Takes the arguments of :class:`Message`."""
        super().__init__(code)
        self.said = Message(code, template, **parameters)

    @classmethod
    def of(cls, said: Message) -> InvalidValue:
        """The error that says a message which is there already."""
        error = cls(said.code, "")
        error.said = said
        return error

    def __str__(self) -> str:
        return str(self.said)
