"""Makes a sweep again from its figures: its two copies of them, its checks, plots and page; and with the simulator the
figures themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from testbed import confine, engines
from testbed.documents import read_csv, read_json, write_json
from testbed.errors import BadInput, TestbedError
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
from testbed.study.kinds.table_result import Place
from testbed.study.ledger import STUDY, request_of
from testbed.study.own_scenario import own_file, with_kept_topology
from testbed.study.record import RunRecord
from testbed.study.result import CellResult
from testbed.study.run import run_cells
from testbed.study.sweep import sweep_run
from testbed.study.sweep.execute import by_place, cells_of
from testbed.study.sweep.load import LoadedSweep, load, planned, selection
from testbed.study.sweep.model import Sweep
from testbed.study.sweep.sweep_run import ASKED
from testbed.study.sweep.table import Row, read_parquet, rows_of, write_csv
from testbed.study.verify import Documents, Verification, VerifyRequest

KEPT = Message(
    "sweep.figures-as-kept",
    "a sweep keeps figures, not telemetry: they are taken as they are; --rerun makes them again",
)


def write_again(request: VerifyRequest) -> Verification:
    """By the table's figures, and with ``rerun`` by these made again. Raises BadInput where a file is missing or
    broken."""
    with confine.to(request.folder):
        found = _by_the_figures(request.folder, request.into)
        if request.rerun:
            _rerun(request.folder, found)
        else:
            found.unchecked.append(KEPT)
        return found


def _by_the_figures(folder: Path, into: Path) -> Verification:
    recorded, rows, loaded = read_verdict(folder), read_parquet(folder / "table.parquet"), load_kept(folder)
    found = Verification.of(recorded, has_page=False)
    write_csv(rows, into / "table.csv")
    if loaded is None:
        sweep = load(str(folder / "sweep.yaml")).sweep
        outcomes = [_result(sweep, Place("", str(row["policy"]), n), row) for n, row in enumerate(rows, start=1)]
        again = recorded.model_copy(update={"checks": sweep_run.judge(sweep, rows, outcomes)})
        write_json(into / "verdict.json", again.to_json())
        found.unchecked.append(
            Message(
                "sweep.not-kept",
                "{file}: a folder of its time has none, so plots and page are not compared",
                file=ASKED,
            )
        )
        return found
    try:
        policies = engines.named(SWEEP).prepare_plans(QuietProgress()).policies
    except (TestbedError, OSError) as error:
        found.unchecked.append(
            Message(
                "policies.no-program-of-a-sweep",
                "no program could be built to ask for its policies: {error}",
                error=error,
            )
        )
        return found
    cells = selection(loaded.sweep, list(policies)).by_place()
    if len(cells) != len(rows):
        found.differences.append(
            Message(
                "sweep.other-number-of-runs",
                "table.parquet: has {recorded} rows, {again} by sweep.yaml",
                recorded=len(rows),
                again=len(cells),
            )
        )
        return found
    outcomes = [_result(loaded.sweep, place, row) for place, row in zip(cells, rows, strict=True)]
    return Verification.of(sweep_run.write(loaded, into, outcomes))


def _rerun(folder: Path, found: Verification) -> None:
    """Every run again with this checkout's simulator: where its figures are not the recorded ones."""
    loaded = load_kept(folder)
    if loaded is None:
        found.notes.append(
            Message(
                "sweep.not-made-again",
                "not made again: it has no {file}, so what was asked of it is not known",
                file=ASKED,
            )
        )
        return
    progress = QuietProgress()
    programs = engines.named(SWEEP).prepare(progress)
    try:
        runs = list(planned(loaded, programs.policies))
    except BadInput as error:
        found.unchecked.append(
            Message("rerun.no-plans", "rerun: the runs can't be planned again: {error}", error=error.said)
        )
        return
    with tempfile.TemporaryDirectory(prefix="ncp-rerun-") as place:
        made = run_cells(cells_of(runs, programs.binaries["ncp-sim"]), Path(place), progress)
    rows = rows_of(loaded.sweep, by_place(runs, made))
    differing = list(differences("table.csv", exact(read_csv(folder / "table.csv")), exact(rows)))
    found.differences.extend(one.at("rerun") for one in differing)
    if not differing:
        found.notes.append(
            Message(
                "sweep.made-again", "{runs} runs were made again: all of their figures are the same", runs=len(rows)
            )
        )


def _result(sweep: Sweep, place: Place, row: Row) -> CellResult:
    """Of a run by its row of the table."""
    asked = {"run", "policy", "seed", "state", "reason", *sweep.parameters}
    figures = {key: value for key, value in row.items() if key not in asked and value is not None}
    record = RunRecord(
        run=str(row["run"]),
        status=Status(row["state"]),
        reason=str(row["reason"] or ""),
        figures=figures,
        seconds=figures.get("duration_s"),
        exact=True,
    )
    return CellResult(place.cell, place.at, 1, record)


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


def exact(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Rows of a table, whether from text or from numbers, so that the same ones are equal to the last digit."""
    return [{key: _exact(value) for key, value in current_run(row).items()} for row in rows]


def _exact(value: Any) -> str:
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return "" if value is None else str(value)


DOCUMENTS: Documents = {
    "table.csv": lambda path: exact(read_csv(path)),
    "table.parquet": lambda path: exact(read_parquet(path)),
    "verdict.json": lambda path: read_verdict(path.parent).to_json(),
}
