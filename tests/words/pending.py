"""The violations of files whose prose is still to be reworded, by file: ``pending.tsv``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.words import grammar, style
from tests.words.prose import Text

FILE = Path(__file__).with_name("pending.tsv")


def violations(texts: Sequence[Text]) -> list[tuple[Text, str]]:
    """Texts to reword, and why."""
    found = [(text, why) for text in texts for why in style.violations(text)]
    with tempfile.TemporaryDirectory() as folder:
        return found + list(grammar.lint(texts, Path(folder)))


def count(found: Iterable[tuple[Text, str]]) -> dict[str, int]:
    """The number of violations of each file that has any."""
    return dict(sorted(Counter(text.file for text, _ in found).items()))


def read() -> dict[str, int]:
    """The numbers that are allowed."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines())
    return {file: int(number) for file, number in rows}


def write(counts: dict[str, int]) -> None:
    """Replace the numbers that are allowed."""
    FILE.write_text("".join(f"{file}\t{number}\n" for file, number in counts.items()))
