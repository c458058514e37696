"""Published numbers that are not what was published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sabotage.entry import Entry, only


def _moved(factor: float) -> object:
    """What others measured, read as if it were this many times as much."""

    def on(patch: pytest.MonkeyPatch) -> None:
        from testbed.study.kinds import table_file as files

        read = files.read_known
        patch.setattr(
            files,
            "read_known",
            lambda source: {
                row: {**values, **{column: str(float(values[column]) * factor) for column in source.columns.values()}}
                for row, values in read(source).items()
            },
        )

    return on


def _known_moved(folder: Path) -> None:
    """In a finished table."""
    file = folder / "table.json"
    table = json.loads(file.read_text())
    for row in table["rows"]:
        for known in row["known"]:
            known["value"] *= 1.01
    file.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")


_OF_TABLES = only("table", "all", why="only tables have published numbers beside them")

ENTRIES = (
    Entry(
        "published-moved-up",
        "published numbers",
        "a figure of a source that is copied wrong: 10% too much",
        python=_moved(1.1),  # type: ignore[arg-type]
        unreached=_OF_TABLES,
    ),
    Entry(
        "published-moved-down",
        "published numbers",
        "a figure of a source that is copied wrong: 10% too little",
        python=_moved(0.9),  # type: ignore[arg-type]
        unreached=_OF_TABLES,
    ),
    Entry(
        "published-moved-in-a-result",
        "published numbers",
        "1% more in a finished table, so that it looks nearer",
        forged=_known_moved,
        of_table=True,
        unreached=only("verify", why="the result is changed after it was judged"),
    ),
)
