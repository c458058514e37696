"""The cells that a finished table was asked for, by its result folder: what is not there has to be missed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from testbed.study.ledger import request_of
from testbed.study.tables import load as table_file
from testbed.study.tables.load import KEPT_AS, Cell


def cells_asked(folder: Path) -> Iterator[Cell]:
    """Row by row; BadInput where a file is missing or broken."""
    document = request_of(folder)
    repeat = int(document["repeat"])
    own: dict[str, int] = {}
    if (folder / KEPT_AS).is_file():  # tables of before have none
        rows = table_file.load(str(folder / KEPT_AS)).table.rows
        own = {row.name: min(row.repeat, repeat) for row in rows if row.repeat}
    for row in document["rows"]:
        for column in document["columns"]:
            for repetition in range(1, own.get(row, repeat) + 1):
                yield Cell(row, column, repetition)
