"""Texts for people, each with a code that programs and tests decide by."""

from __future__ import annotations

from typing import Any


class Message:
    """A text with its code.

    ``code`` (dotted words, e.g. ``result.no-folder``) stays the same when the wording changes; ``parameters`` are the
    values in the text, by name; ``str()`` gives the text.
    """

    __slots__ = ("_place", "code", "parameters", "template")

    def __init__(self, code: str, template: str, /, **parameters: Any) -> None:
        """``template`` is a text for ``str.format``, e.g. ``{folder}: is empty``, filled in from ``parameters``."""
        self.code = code
        self.template = template
        self.parameters = parameters
        self._place = ""

    def at(self, place: str) -> Message:
        """The same message with ``place`` (a file, a link, a run) before its text."""
        placed = Message(self.code, self.template, **self.parameters)
        placed._place = f"{place}: {self._place}"
        return placed

    def __str__(self) -> str:
        return self._place + self.template.format(**self.parameters)

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.code, str(self)) == (other.code, str(other))

    def __hash__(self) -> int:
        return hash((self.code, str(self)))
