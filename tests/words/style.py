"""Rules of style: the first word of a docstring, and the field's terms instead of private ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.words.prose import Text

RELATIVE = "what of how where by which those its their theirs that why who whose when so as it such same"
PREPOSITIONS = "in for with from on at to without until before after between into if because and or but"
FIRST_WORDS = frozenset(f"{RELATIVE} {PREPOSITIONS}".split())
"""Words that no docstring starts with: it starts with a verb or a noun, perhaps with an article or an adjective."""
TERMS = Path(__file__).with_name("terms.tsv")


def terms() -> list[tuple[re.Pattern[str], str]]:
    """Private terms, as regular expressions, and the terms to use."""
    rows = [line.split("\t") for line in TERMS.read_text().splitlines() if line]
    return [(re.compile(rf"(?<![\w-])({pattern})(?![\w-])", re.IGNORECASE), instead) for pattern, instead in rows]


def violations(text: Text) -> Iterator[str]:
    """Reasons to reword a text."""
    first = re.match(r"[A-Za-z]+", text.paragraph)
    if text.kind == "docstring" and first and first[0].lower() in FIRST_WORDS:
        yield f"starts with {first[0]!r}; start with a verb or a noun"
    for pattern, instead in terms():
        if found := pattern.search(text.paragraph):
            yield f"{found[0]!r}: write {instead}"
