"""Reads results that are older than codes: nothing else knows a text's wording, nor is a text that has a code looked
at here."""

from collections.abc import Iterable

from testbed.message import Message

_BEGINNINGS = {"stopped by ": "run.stopped"}
"""Beginnings of sentences in such results, and today's code of each."""


def code_of(text: str) -> str | None:
    """The code that a sentence has today; None of one that no decision depends on."""
    return next((code for beginning, code in _BEGINNINGS.items() if text.startswith(beginning)), None)


def with_codes(recorded: Iterable[Message], today: Iterable[Message]) -> list[Message]:
    """The recorded messages; each that has no code is today's message of the same words, if there is one."""
    by_words = {str(message): message for message in today}
    return [message if message.code else by_words.get(str(message), message) for message in recorded]
