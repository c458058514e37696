"""Checks prose by its style and its grammar."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.words import grammar, style
from tests.words.prose import Text


def violations(texts: Sequence[Text]) -> list[tuple[Text, str]]:
    """Texts to reword, and why."""
    found = [(text, why) for text in texts for why in style.violations(text)]
    with tempfile.TemporaryDirectory() as folder:
        return found + list(grammar.lint(texts, Path(folder)))
