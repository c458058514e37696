"""The table of saboteurs in docs/; ``python -m tests.sabotage.page`` writes it anew from the catalogue.

Each entry's test holds its row against what came of it, so that a miss can't be told as caught.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from testbed import paths
from tests.sabotage.catalogue import ENTRIES
from tests.sabotage.entry import CLASSES, LEVELS, Entry, Level, Word

PAGE = paths.CHECKOUT / "docs" / "results" / "saboteurs.md"
BEGIN, END = "<!-- saboteurs: generated -->", "<!-- end of saboteurs -->"


def expected(entry: Entry) -> dict[Level, Word]:
    """What must come of it."""
    return {level: word for level in LEVELS if (word := entry.expects(level))}


def row(entry: Entry, came: Mapping[Level, Word]) -> str:
    """The line of an entry: at each level the verdict that came, where that is the one that must come."""
    cells = [_cell(entry, level, came) for level in LEVELS]
    return f"| `{entry.name}` | {entry.imitates} | {' | '.join(cells)} |"


def _cell(entry: Entry, level: Level, came: Mapping[Level, Word]) -> str:
    if entry.expects(level) is None:
        return "–"
    word = came.get(level, "not asked")
    return word if word == entry.expects(level) else f"**missed: {word}**"


def with_table(came: Mapping[Entry, Mapping[Level, Word]]) -> str:
    """The page with the table of these results."""
    parts = [_count(came)]
    for kind in CLASSES:
        mine = [entry for entry in came if entry.of == kind]
        head = f"| name | what it imitates | {' | '.join(LEVELS)} |"
        parts += [f"\n### {kind.capitalize()}\n", head, "|" + "---|" * (2 + len(LEVELS))]
        parts += [row(entry, came[entry]) for entry in mine]
        whys = dict.fromkeys((why, level) for entry in mine for level, why in entry.unreached.items())
        for why in dict.fromkeys(why for why, _ in whys):
            levels = ", ".join(level for level in LEVELS if (why, level) in whys)
            parts.append(f"\n– at {levels}: {why}.")
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(parts)
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{table}\n{END}", text, flags=re.DOTALL)


def _count(came: Mapping[Entry, Mapping[Level, Word]]) -> str:
    asked = sum(entry.expects(level) is not None for entry in came for level in LEVELS)
    saboteurs = [entry for entry in came if entry.of != "control"]
    missed = sum(word != entry.expects(level) for entry, words in came.items() for level, word in words.items())
    controls = len(came) - len(saboteurs)
    return (
        f"{len(saboteurs)} saboteurs and {controls} controls, tried {asked} times at {len(LEVELS)} levels; "
        f"missed: {missed}."
    )


if __name__ == "__main__":
    PAGE.write_text(with_table({entry: expected(entry) for entry in ENTRIES}), encoding="utf-8")
