"""What a study found: by cell, the record that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.judge.status import Status
from testbed.study.record import RunRecord, position, records_in


@dataclass(frozen=True)
class CellResult:
    """What became of a cell: of all attempts, the record that it is judged by."""

    cell: str
    at: Mapping[str, str]
    attempts: int
    """Up to the one that counts; 0 where none was made."""
    record: RunRecord

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.record.status

    @property
    def standing(self) -> Status:
        """What it is worth to whatever it is a part of: a run that failed as nothing in it could be judged is an
        ``error``."""
        checks = self.record.checks.values()
        unjudged = bool(checks) and all(check["status"] == Status.ERROR for check in checks)
        return Status.ERROR if self.status == Status.FAIL and unjudged else self.status


def result_of(cell: str, at: Mapping[str, str], records: Sequence[RunRecord]) -> CellResult | None:
    """By the last record that settles the cell, else the last; None without any."""
    counts = position(records)
    return CellResult(cell, at, counts + 1, records[counts]) if records else None


def run_that_counts(folder: Path) -> Path | None:
    """Of a cell's finished runs the one that it is judged by; None without any."""
    records = records_in("", folder, folder)
    return folder / records[position(records)].run if records else None
