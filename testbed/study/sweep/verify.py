"""Makes a sweep again from its figures: its two copies of them, its checks, plots and page; and with the simulator the
figures themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed import confine, engines
from testbed.documents import read_csv, read_json
from testbed.errors import BadInput, TestbedError
from testbed.judge.checks.result import Verdict
from testbed.judge.history import commit_of
from testbed.judge.status import Status, current_run
from testbed.judge.verify import differences, read_verdict
from testbed.message import Message
from testbed.plan.default_engine import SWEEP
from testbed.runtime.progress import QuietProgress
from testbed.scenario import files
from testbed.scenario import load as scenarios
from testbed.scenario.kept import TEXT
from testbed.scenario.load import LoadedScenario
from testbed.study.kinds.table_file import Cell
from testbed.study.kinds.table_result import Outcome
from testbed.study.ledger import STUDY, request_of
from testbed.study.own_scenario import own_file, with_kept_topology
from testbed.study.run import run_cells
from testbed.study.sweep import sweep_run
from testbed.study.sweep.execute import cells_of, outcomes_of
from testbed.study.sweep.load import LoadedSweep, load, planned, selection
from testbed.study.sweep.model import Sweep
from testbed.study.sweep.sweep_run import ASKED
from testbed.study.sweep.table import Row, read_parquet, rows_of
from testbed.study.verify import Verification, VerifyRequest

KEPT = Message(
    "sweep.figures-as-kept",
    "a sweep keeps figures, not telemetry: they are taken as they are; --rerun makes them again",
)


def verify(request: VerifyRequest) -> Verification:
    """The verdict, every difference of what the table's figures give, and what could not be checked.

    All that is derived of the figures is made again in ``place``, plots and page as well; with ``rerun`` the figures
    are, too. Raises BadInput where a file is missing or broken.
    """
    folder, place = request.folder, request.into
    with confine.to(folder):
        verdict, found, unchecked = _by_the_figures(folder, place)
        again = rerun_sweep(folder) if request.rerun else Rerun(unchecked=[KEPT])
    return Verification(
        f"{verdict.scenario} {verdict.run}",
        verdict.verdict,
        found + again.differences,
        unchecked + again.unchecked,
        notes=again.notes,
        has_page=place.is_dir(),
    )


def _by_the_figures(folder: Path, place: Path) -> tuple[Verdict, list[Message], list[Message]]:
    recorded = read_verdict(folder)
    texts, rows = _texts(folder), read_parquet(folder / "table.parquet")
    found: list[Message] = list(_unlike(texts, rows, "table.parquet"))
    loaded = load_kept(folder)
    if loaded is None:
        sweep = load(str(folder / "sweep.yaml")).sweep
        outcomes = [_outcome(sweep, Cell("", str(row["policy"]), n), row) for n, row in enumerate(rows, start=1)]
        checks = sweep_run.judge(sweep, rows, outcomes)
        before, again = ([check.model_dump(mode="json") for check in of] for of in (recorded.checks, checks))
        found += differences("checks", before, again)
        unchecked = Message(
            "sweep.not-kept", "{file}: a folder of its time has none, so plots and page are not compared", file=ASKED
        )
        return recorded, found, [unchecked]
    try:
        policies = engines.named(SWEEP).prepare_plans(QuietProgress()).policies
    except (TestbedError, OSError) as error:
        return (
            recorded,
            found,
            [
                Message(
                    "policies.no-program-of-a-sweep",
                    "no program could be built to ask for its policies: {error}",
                    error=error,
                )
            ],
        )
    cells = selection(loaded.sweep, list(policies)).by_place()
    if len(cells) != len(rows):
        found.append(
            Message(
                "sweep.other-number-of-runs",
                "table.parquet: has {recorded} rows, {again} by sweep.yaml",
                recorded=len(rows),
                again=len(cells),
            )
        )
        return recorded, found, []
    outcomes = [_outcome(loaded.sweep, cell, row) for cell, row in zip(cells, rows, strict=True)]
    again_verdict = sweep_run.write(loaded, place, outcomes)
    found += differences("", recorded.to_json(), again_verdict.to_json())
    found += _unlike(texts, read_parquet(place / "table.parquet"), "the table made again")
    return again_verdict, found, []


@dataclass(frozen=True)
class Rerun:
    """What came of making the runs again."""

    differences: list[Message] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    unchecked: list[Message] = field(default_factory=list)


def rerun_sweep(folder: Path) -> Rerun:
    """Every run again with this checkout's simulator: where its figures are not the recorded ones."""
    loaded = load_kept(folder)
    if loaded is None:
        not_made_again = Message(
            "sweep.not-made-again", "not made again: it has no {file}, so what was asked of it is not known", file=ASKED
        )
        return Rerun(notes=[not_made_again])
    progress = QuietProgress()
    programs = engines.named(SWEEP).prepare(progress)
    try:
        runs = list(planned(loaded, programs.policies))
    except BadInput as error:
        cannot = Message("rerun.no-plans", "rerun: the runs can't be planned again: {error}", error=error.said)
        return Rerun(unchecked=[cannot])
    with tempfile.TemporaryDirectory(prefix="ncp-rerun-") as place:
        made = run_cells(cells_of(runs, programs.binaries["ncp-sim"]), Path(place), progress)
    rows = rows_of(loaded.sweep, outcomes_of(runs, made))
    found = [one.at("rerun") for one in _unlike(_texts(folder), rows, "the runs made again")]
    made_again = Message(
        "sweep.made-again", "{runs} runs were made again: all of their figures are the same", runs=len(rows)
    )
    return Rerun(found, [] if found else [made_again])


def _texts(folder: Path) -> list[dict[str, Any]]:
    return [current_run(row) for row in read_csv(folder / "table.csv")]


def _outcome(sweep: Sweep, cell: Cell, row: Row) -> Outcome:
    """Of a run by its row of the table."""
    asked = {"run", "policy", "seed", "state", "reason", *sweep.parameters}
    figures = {key: value for key, value in row.items() if key not in asked and value is not None}
    return Outcome(
        *cell.place,
        Status(row["state"]),
        figures,
        figures.get("duration_s"),
        str(row["reason"] or ""),
        str(row["run"]),
        exact=True,
    )


def load_kept(folder: Path) -> LoadedSweep | None:
    """The sweep as it was asked for; None where the folder is from before that was kept."""
    if not any((folder / name).is_file() for name in (STUDY, ASKED)):
        return None
    asked = request_of(folder)
    loaded = load(str(folder / "sweep.yaml"), [str(text) for text in asked["overrides"]], quick=asked["quick"])

    @lru_cache(maxsize=2)
    def read(_: str, assignments: tuple[str, ...]) -> LoadedScenario:
        return with_kept_topology(scenarios.load(_base(folder, loaded.sweep), assignments), folder)

    return replace(loaded, read=read)


def _base(folder: Path, sweep: Sweep) -> str:
    """The scenario as the folder keeps it. Folders of before have none: of them it is this checkout's of that name, and
    BadInput where it was a file of whoever made the sweep."""
    kept = folder / TEXT
    if kept.is_file():
        name = Path(sweep.scenario).stem
        origin = folder / "provenance.json"
        return str(own_file(kept, name, commit_of(read_json(origin) if origin.is_file() else {})))
    if files.is_path(sweep.scenario):
        raise BadInput(
            "verify.no-scenario",
            "its scenario, {scenario}, is not in the folder, and no other file is read for a result",
            scenario=sweep.scenario,
        )
    return sweep.scenario


def _unlike(texts: Sequence[Mapping[str, str]], rows: Sequence[Row], other: str) -> Iterator[Message]:
    """Where ``table.csv`` is not ``other``, of which ``rows`` are."""
    if len(texts) != len(rows):
        yield Message(
            "sweep.other-number-of-rows",
            "table.csv has {recorded} rows, {other} {again}",
            recorded=len(texts),
            other=other,
            again=len(rows),
        )
    for text, row in zip(texts, rows, strict=False):
        for column in {**text, **row}:
            a, b = text.get(column, ""), row.get(column)
            if not _same(a, b):
                yield Message(
                    "sweep.other-figure",
                    "run {run}: {column} is {recorded!r} in table.csv, {again!r} in {other}",
                    run=row.get("run"),
                    column=column,
                    recorded=a,
                    again=b,
                    other=other,
                )


def _same(text: str, value: Any) -> bool:
    if isinstance(value, (int, float)):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    return text == ("" if value is None else str(value))
