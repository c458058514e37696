"""The one algebra of verdicts: how parts combine to a whole, at every level.

Checks combine to a run, runs to a repetition or a table's cell, cells to a table, runs to claims, claims to ``all``,
engines to ``cross-check``, files to ``verify``. All of them ask here. The rules, which docs/verdicts.md shows as a
table and tests/judge holds for any tree of results:

- The whole is the worst of the parts that were asked for.
- What was asked for and is not there is ``missing``: dropping a part never improves the whole.
- Where nothing was asked, nothing passes.

``untrusted`` is the worst standing: nothing is proven by what can't be trusted, not even a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar, get_args

Standing = Literal["pass", "undecided", "not-covered", "unsupported", "missing", "error", "fail", "untrusted"]
"""What a part is worth, best first. ``undecided``: an interval lies only partly inside what is asked. ``not-covered``:
there is too little data to decide. ``unsupported``: this machine or engine can't do it. ``missing``: it was asked for
and is not there. ``error``: it broke down, or what it needs is broken."""
Part = Standing | Literal["not-asked"]
"""A standing, or that nothing was asked: such a part is none."""
Word = Literal["pass", "fail", "untrusted"]
"""What a whole is called."""

BEST_FIRST: tuple[Standing, ...] = get_args(Standing)
OPEN: frozenset[Standing] = frozenset({"undecided", "not-covered", "unsupported"})
"""Neither holds nor fails. A short or partial form may leave some parts so; a full form has to decide each."""

Key = TypeVar("Key")


def worst(parts: Iterable[Part]) -> Standing:
    """The worst of the parts that were asked for; ``missing`` where none was."""
    return max(_asked(parts), key=BEST_FIRST.index, default="missing")


def each_of(asked: Iterable[Key], found: Mapping[Key, Part]) -> list[Part]:
    """One part for each that was asked for, ``missing`` where it was not found."""
    return [found.get(key, "missing") for key in asked]


def verdict_of(parts: Iterable[Part], *, may_stay_open: bool = False) -> Word:
    """The word for the whole. ``may_stay_open``: a short or partial form, of which at least one part has to pass."""
    asked = _asked(parts)
    found = worst(asked)
    if found == "untrusted":
        return "untrusted"
    if found == "pass" or (found in OPEN and may_stay_open and "pass" in asked):
        return "pass"
    return "fail"


_TOLD: Mapping[str, str] = {
    "xfail": "fails, as expected",
    "fail": "fails",
    "xpass": "holds, but was expected to fail",
    "error": "can't be judged",
    "missing": "is missing",
    "untrusted": "is not to be trusted",
    "undecided": "is undecided",
    "not-covered": "is not covered",
    "unsupported": "can't be made here",
}


def summary_of(parts: Iterable[tuple[str, Part | Literal["xfail", "xpass"]]], what: str = "checks") -> str:
    """``2 of 4 checks hold; “law” fails; “goodput” is not covered.``, from names and their parts, or outcomes."""
    asked = [(name, part) for name, part in parts if part != "not-asked"]
    said = [f"{sum(part == 'pass' for _, part in asked)} of {len(asked)} {what} hold"]
    said += [f"“{name}” {told}" for word, told in _TOLD.items() for name, part in asked if part == word]
    return "; ".join(said) + "."


def _asked(parts: Iterable[Part]) -> list[Standing]:
    return [part for part in parts if part != "not-asked"]
