"""Reads many lines of one measurement and one set of tags at once, into a column for each field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
INTEGER = r"-?\d{1,18}"
NUMBER = r"-?\d{1,18}(?:\.\d+)?(?:e[+-]?\d{1,2})?"
TIME = r"[1-8]\d{18}|\d{1,18}"
"""Plain numbers: they fit into 64 bits and are finite; other lines are left to line protocol's parser."""
FIELD = re.compile(rf"({NAME})=(?:{INTEGER}(i)|{NUMBER})(?:,(?! )|(?= ))", re.ASCII)

Fields = tuple[tuple[str, bool], ...]
"""Names, in the order of a line, and whether they are integers."""


@dataclass(frozen=True, slots=True)
class Block:
    """Points that were read together."""

    t_ns: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]
    """Values by fields' names; NaN where a point lacks the field."""

    @classmethod
    def read(cls, texts: Sequence[str]) -> Block | None:
        """``texts``: what lines have after their tags, each with its line feed.

        None unless they all are plain: numbers, in the order of the longest line, and a time.
        """
        fields = _fields(max(texts, key=len))
        if not fields:
            return None
        found = _pattern(fields).findall("".join(texts))
        if len(found) != len(texts):
            return None
        columns = (_numbers(list(map(itemgetter(place), found))) for place in range(len(fields)))
        return cls(
            np.fromiter(map(int, map(itemgetter(-1), found)), np.int64, len(found)),
            {name: column for (name, _), column in zip(fields, columns, strict=True)},
        )


def _fields(text: str) -> Fields:
    """The fields of a line; none if it is not plain."""
    found, place = [], 0
    while match := FIELD.match(text, place):
        found.append((match[1], match[2] is not None))
        place = match.end()
    names = {name for name, _ in found}
    return tuple(found) if text[place : place + 1] == " " and len(names) == len(found) else ()


@cache
def _pattern(fields: Fields) -> re.Pattern[str]:
    """A whole line that has some of these fields."""
    parts = (
        f"(?:{name}=({INTEGER if integer else NUMBER}){'i' if integer else ''}(?:,(?! )|(?= )))?"
        for name, integer in fields
    )
    return re.compile(rf"^(?! ){''.join(parts)} ({TIME})\n", re.ASCII | re.MULTILINE)


def _numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    if all(texts):
        return np.fromiter(map(float, texts), np.float64, len(texts))
    return np.array([float(text) if text else np.nan for text in texts])
