"""The result of a study: by cell, the record that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.judge.status import Status
from testbed.study.record import RunRecord, position, records_in


@dataclass(frozen=True)
class CellResult:
    """The result of a cell: of all attempts, the record by which it is judged."""

    cell: str
    at: Mapping[str, str]
    attempts: int
    """Up to the one that counts; 0 where none was made."""
    record: RunRecord

    @property
    def status(self) -> Status:
        """The status of the record."""
        return self.record.status

    @property
    def standing(self) -> Status:
        """The status as a part of a whole: a run that failed as nothing in it could be judged is an ``error``."""
        checks = self.record.checks.values()
        unjudged = bool(checks) and all(check["status"] == Status.ERROR for check in checks)
        return Status.ERROR if self.status == Status.FAIL and unjudged else self.status


def result_of(cell: str, at: Mapping[str, str], records: Sequence[RunRecord]) -> CellResult | None:
    """The result by the last record that settles the cell, else the last; None without any."""
    counts = position(records)
    return CellResult(cell, at, counts + 1, records[counts]) if records else None


def run_that_counts(folder: Path) -> Path | None:
    """The run by which a cell is judged, of its finished runs; None without any."""
    records = records_in("", folder, folder)
    return folder / records[position(records)].run if records else None


def observations(results: Sequence[CellResult]) -> list[CellResult]:
    """Independent observations: runs of a cell in virtual time with the same measurements are one observation, however
    many they are. Chance has no part in them, so that each further run is the same."""
    cells: dict[tuple[str, str], list[CellResult]] = {}
    for found in results:
        cells.setdefault((found.at["row"], found.at["column"]), []).append(found)
    return [found for runs in cells.values() for found in (runs[:1] if _are_one(runs) else runs)]


def _are_one(runs: Sequence[CellResult]) -> bool:
    first, *_ = records = [run.record for run in runs]
    return all(run.exact and (run.figures, run.checks) == (first.figures, first.checks) for run in records)
