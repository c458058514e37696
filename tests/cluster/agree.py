"""Whether two tables agree, such as one machine's and a cluster's: ``python -m tests.cluster.agree ONE OTHER`` with
their folders says it of each cell, and ends with 1 where one does not.

They agree where the interval of the difference of both medians covers 0, and differ by no more than a part of the
first: else tables of few runs, or of runs that scatter, would agree with anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import sub
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from testbed.documents import read_json
from testbed.study.kinds.table_result import Spread

MOST = 0.05
"""By so much of the first median may a cell's medians differ."""


@dataclass(frozen=True)
class Cell:
    """A cell's figure in both tables."""

    name: str
    one: Spread
    other: Spread

    @property
    def agrees(self) -> bool:
        """Without an interval in both there is nothing to tell."""
        if self.one.median is None or self.other.median is None:
            return False
        difference = self.other.combined(self.one, sub).interval
        if difference is None:
            return False
        near = abs(self.other.median - self.one.median) <= MOST * abs(self.one.median)
        return near and difference.low <= 0 <= difference.high

    def text(self) -> str:
        """In a line."""
        return f"{self.name}: {_told(self.one)} and {_told(self.other)}: {'agree' if self.agrees else 'DISAGREE'}"


def cells(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Cell]:
    """Of all that is in either ``table.json``."""
    mine, theirs = dict(_spreads(one)), dict(_spreads(other))
    for name in mine | theirs:
        yield Cell(name, mine.get(name, Spread.of([])), theirs.get(name, Spread.of([])))


def _spreads(table: Mapping[str, Any]) -> Iterator[tuple[str, Spread]]:
    for row in table["rows"]:
        for figure, columns in row["cells"].items():
            for column, spread in columns.items():
                yield f"{row['name']} {column} {figure}", TypeAdapter(Spread).validate_python(spread)


def _told(spread: Spread) -> str:
    if spread.median is None:
        return "none"
    interval = spread.interval
    return f"{spread.median:.4g}" + (f" [{interval.low:.4g}, {interval.high:.4g}]" if interval else "")


def main(one: Path, other: Path) -> int:
    """Prints each cell, and which hosts made the second; the exit code."""
    tables = [read_json(folder / "table.json") for folder in (one, other)]
    found = list(cells(tables[0], tables[1]))
    for cell in found:
        print(cell.text())
    hosts = [run.get("host", "this machine") for run in tables[1]["outcomes"]]
    print("runs by host:", ", ".join(f"{host} {hosts.count(host)}" for host in sorted(set(hosts))))
    return 0 if found and all(cell.agrees for cell in found) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
