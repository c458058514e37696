"""Every picture is shown somewhere and says in words what it shows; those of topologies are what `graph` draws."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs import pictures
from tests.docs.test_pages import PAGES

SHOWN = re.compile(r"!\[([^\]]*)\]\(\S*images/([^)\s]+)\)")


def test_every_picture_is_shown_with_words() -> None:
    shown = [found for page in PAGES for found in SHOWN.findall(page.read_text(encoding="utf-8"))]
    assert {name for _, name in shown} == {path.name for path in pictures.FOLDER.iterdir()}
    assert [name for words, name in shown if not words] == []


def test_topologies_are_as_they_are_drawn(tmp_path: Path) -> None:
    pictures.topologies(tmp_path)
    for name in pictures.TOPOLOGIES:
        made = (tmp_path / name).read_bytes()
        assert made == (pictures.FOLDER / name).read_bytes(), "python -m tests.docs.pictures makes it anew"
