"""The record of one attempt at a cell of a study, a line of the study's ledger; and the result of a cell: the record
that counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from testbed.documents import read_json
from testbed.engines import provenance
from testbed.judge.checks.evidence import agent_results
from testbed.judge.figures import figures_of
from testbed.judge.history import provenance_of
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.engines import is_exact

OF_A_CHECK = {"judge", "status", "measured", "expected", "tolerance"}
"""Keys that are stored of each of a run's own checks."""
SETTLED = frozenset({Status.PASS, Status.FAIL, Status.UNSUPPORTED, Status.SKIPPED})
"""Statuses of a record that settles its cell: it can be trusted, or can't be made here."""


class RunRecord(BaseModel):
    """One attempt. Programs decide by ``status`` and ``code``; ``reason`` is for people."""

    model_config = ConfigDict(frozen=True)

    run: str = ""
    """"" of a cell that no run was made of."""
    cell: str = ""
    folder: str = ""
    """Inside the study's result folder; "" where none is kept."""
    status: Status
    """The run's verdict; ``error`` where it broke down, ``unsupported`` where this machine lacks what it needs."""
    code: str = ""
    reason: str = ""
    figures: dict[str, Any] = {}
    """Figures by name, with units in the names; empty of a run that broke down."""
    checks: dict[str, dict[str, Any]] = {}
    """Results of the run's own checks, by name: :data:`OF_A_CHECK`."""
    seconds: float | None = None
    """Seconds of the transfer."""
    took_s: float = 0.0
    """Wall time of the attempt."""
    exact: bool = False
    """Whether it was in virtual time, so that the same question has the same answer every time."""
    chance: bool = False
    """Whether it lost packets by chance: which ones follows from its seed."""
    host: str = ""
    """The host of a cluster that made it in real time: its own speed and load may show in the figures."""
    rules: str = ""
    """A digest of the code that read it; a line by other code is read anew."""
    sha256: dict[str, str] = {}
    """SHA-256 of its files of data, where runs are compared by their bytes."""

    @property
    def settled(self) -> bool:
        """Whether it decides what its cell is worth."""
        return self.status in SETTLED


def read_record(run: Path, study: Path, cell: str) -> RunRecord | None:
    """The record of a run by its result folder, inside that of its study; None where the user stopped it.

    Raises:
        BadInput: it has no verdict, or a file is broken.
    """
    verdict = read_verdict(run)
    if verdict.stopped:
        return None
    made = provenance_of(run)
    results = agent_results(run / "agents")
    seconds = next((result.get("duration_s") for result in results if result.get("role") == "receiver"), None)
    exact, broken = is_exact(made), bool(verdict.broken)
    record = RunRecord(
        run=run.name,
        cell=cell,
        folder=str(run.relative_to(study)),
        status=Status.ERROR if broken and verdict.verdict != Status.UNTRUSTED else verdict.verdict,
        code=verdict.broken_code or next(iter(verdict.trust.codes), ""),
        reason="" if verdict.verdict == Status.PASS else "; ".join(verdict.trust.reasons) or verdict.summary,
        figures={} if broken else verdict.figures or figures_of(results),
        checks={check.name: check.model_dump(include=OF_A_CHECK) for check in verdict.checks},
        seconds=round(seconds, 6) if seconds else None,
        exact=exact,
        chance=_lost_by_chance(run, results),
        host="" if exact else made.get("worker", ""),
        rules=provenance.code(),
    )
    if verdict.unsupported:  # nothing was measured
        of_any = record.model_dump(include={"run", "cell", "folder", "code", "rules"})
        return RunRecord(**of_any, status=Status.UNSUPPORTED, reason=str(verdict.broken))
    return record


def _lost_by_chance(run: Path, results: Sequence[Mapping[str, Any]]) -> bool:
    listed = (result.get("connections") for result in results)  # a fetch has their number there
    ends = [each for of in listed if isinstance(of, list) for each in of if isinstance(each, Mapping)]
    lost = sum(each.get("sent", 0) for each in ends) > sum(each.get("received", 0) for each in ends)
    return lost and any(0 < link.get("loss", 0) < 1 for link in read_json(run / "plan.json")["links"])


def finished(folder: Path) -> list[Path]:
    """The runs of a cell that have a verdict, in the order that they were made in; one that the user stopped has none
    that tells of the cell."""
    return [run for run in _with_verdict(folder) if not read_verdict(run).stopped]


def records_in(cell: str, folder: Path, study: Path, lines: Mapping[str, RunRecord] | None = None) -> list[RunRecord]:
    """The records of a cell's finished runs, in the order that they were made in: each by its line in the ledger, or
    by its folder where that has none by today's code."""
    known = lines or {}
    found = (known.get(run.name) or read_record(run, study, cell) for run in _with_verdict(folder))
    return [record for record in found if record is not None]


def _with_verdict(folder: Path) -> list[Path]:
    """All runs of a cell that have one, stopped ones too."""
    return sorted(path.parent for path in folder.glob("*/verdict.json") if not path.parent.is_symlink())


def position(records: Sequence[RunRecord]) -> int:
    """The index of the record by which a cell is judged: the last that settles it, else the last; -1 without any."""
    return next((n for n in reversed(range(len(records))) if records[n].settled), len(records) - 1)


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


def by_setting(results: Iterable[CellResult]) -> defaultdict[tuple[str, str], list[CellResult]]:
    """Results of a table or sweep by row and column."""
    found: defaultdict[tuple[str, str], list[CellResult]] = defaultdict(list)
    for result in results:
        found[result.at["row"], result.at["column"]].append(result)
    return found


def observations(results: Sequence[CellResult]) -> list[CellResult]:
    """Independent observations: runs of a cell in virtual time with the same measurements are one observation, however
    many they are. Chance has no part in them, so that each further run is the same."""
    return [found for runs in by_setting(results).values() for found in (runs[:1] if _are_one(runs) else runs)]


def seed_ignored(runs: Sequence[CellResult]) -> bool:
    """Whether several runs of a cell that lost packets by chance are one: then their seeds have no part in it."""
    return len(runs) > 1 and runs[0].record.chance and _are_one(runs)


def _are_one(runs: Sequence[CellResult]) -> bool:
    first, *_ = records = [run.record for run in runs]
    return all(run.exact and (run.figures, run.checks) == (first.figures, first.checks) for run in records)
