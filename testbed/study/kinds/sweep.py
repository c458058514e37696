"""Sweeps: parameters × policies × seeds in virtual time, to one table, plots and a verdict.

A sweep is a table whose rows are the combinations of its parameters. It may be 10,000 runs, so that a run leaves
figures instead of a folder: a line each in ``runs.jsonl``, by the run's id, for all sweeps of the name. And it fits a
line over its runs, the convergence law's.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from testbed import confine, engines, paths
from testbed.documents import read_csv, write_csv, write_json
from testbed.engines import provenance
from testbed.engines.engine import Engine, Options, Programs
from testbed.engines.sim.run import simulate
from testbed.errors import BadInput, RunFailed, TestbedError
from testbed.judge.checks.evidence import CannotJudge
from testbed.judge.checks.result import CheckResult, Verdict
from testbed.judge.ncp_figures import measure, rules
from testbed.judge.status import Status, current_run
from testbed.judge.verify import read_verdict
from testbed.message import Messages
from testbed.plan.duration import expected_transfer_s
from testbed.plan.engines import SWEEP
from testbed.plan.model import Plan
from testbed.results import make_latest
from testbed.runtime.progress import Progress, QuietProgress
from testbed.scenario.kept import keep
from testbed.study.cell import Cell, ready
from testbed.study.checks.law import Row, judge_law
from testbed.study.checks.table import judge_runs, verdict_over
from testbed.study.kinds.sweep_file import ALL_ARRIVED, LoadedSweep, Sweep, load, planned
from testbed.study.kinds.table_result import Place, in_table
from testbed.study.ledger import LEDGER, STUDY, SWEEP_REQUEST, request_of, write_study
from testbed.study.record import CellResult, RunRecord
from testbed.study.report import page
from testbed.study.run import Begun, StudySpec, run_cells, run_study
from testbed.study.verify import Documents, Verification, VerifyRequest

Planned = Sequence[tuple[Place, Plan]]

COLUMNS = (
    "goodput_mib_s",
    "of_bound",
    "settled_s",
    "tau_s",
    "law_settled_s",
    "delivered_ratio",
    "rtt_ms",
    "resent_share",
    "duration_s",
)
"""Figures of every run, in the table's order; ``rtt_ms_<connection>`` follow."""


@dataclass(frozen=True, eq=False)
class FigureCell(Cell):
    """One run, by its id, so that equal runs are one cell; ``name`` says what is set in it."""

    at: Mapping[str, str]
    plan: Plan
    simulator: Path
    name: str

    @property
    def engine(self) -> Engine:
        """The simulator."""
        return engines.named(SWEEP)

    def earlier(self, study: Path, lines: Sequence[RunRecord]) -> list[RunRecord]:
        """Figures by other rules are not the same figures."""
        return [line for line in lines if line.rules == rules()]

    def run(self, study: Path, progress: Progress) -> RunRecord:
        """Simulate and measure, in a folder that is gone afterwards: only the figures are kept."""
        record = RunRecord(run=self.plan["run"], cell=self.id, status=Status.PASS, exact=True, rules=rules())
        with tempfile.TemporaryDirectory(prefix="ncp-sweep-") as place:
            folder = Path(place)
            (folder / "logs").mkdir()
            (folder / "plan.json").write_text(json.dumps(self.plan))
            try:
                simulate(folder, self.simulator)
                figures = measure(self.plan, folder)
            except (RunFailed, CannotJudge) as error:
                return record.model_copy(update={"status": Status.ERROR, "code": error.said.code, "reason": str(error)})
        return record.model_copy(update={"figures": figures, "seconds": figures.get("duration_s")})


def cells_of(runs: Planned, simulator: Path) -> list[FigureCell]:
    """Each once: combinations may come to the same run."""
    cells = (
        FigureCell({"run": p["run"]}, p, simulator, f"{place.row} {place.column} seed {p['seed']}") for place, p in runs
    )
    return list({cell.id: cell for cell in reversed(list(cells))}.values())[::-1]


def by_place(runs: Planned, results: Mapping[str, CellResult]) -> list[CellResult]:
    """Results of all planned runs, in that order."""
    return [in_table(place.result(results[plan["run"]].record)) for place, plan in runs]


def tell(loaded: LoadedSweep) -> None:
    """Print the runs, with the virtual time that the transfer of each takes at least."""
    runs = cells_of(list(planned(loaded, engines.named(SWEEP).prepare_plans(Progress()).policies)), Path())
    for run in runs:
        print(f"{run.id}  {run.label}  {expected_transfer_s(run.plan):.0f} virtual s")
    print(f"{len(runs)} runs")


def run(loaded: LoadedSweep, progress: Progress | None = None) -> tuple[Verdict, Path]:
    """Everything; returns the verdict and the result folder."""
    progress, name = progress or Progress(), loaded.sweep.name
    programs = ready(engines.named(SWEEP), Options(), progress, name)
    with progress.step("plan") as step:
        begun = begin(loaded, programs, paths.results())
        step.note = f"{len(begun.spec.cells)} runs"
    ledger = begun.folder.parent / LEDGER
    results = run_study(begun.spec, begun.folder, progress, resume_by="give the same command.", ledger=ledger)
    with progress.step("table and report"):
        return begun.finish(results), begun.folder


def begin(loaded: LoadedSweep, programs: Programs, results: Path) -> Begun:
    """Begin in a result folder in ``results``: the same for the same runs and the same sweep."""
    runs = list(planned(loaded, programs.policies, programs.code))
    identity = json.dumps([loaded.sweep.model_dump(mode="json"), [plan["run"] for _, plan in runs]], sort_keys=True)
    folder = results / loaded.sweep.name / f"sweep-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    cells = cells_of(runs, programs.binaries[engines.named(SWEEP).agent])
    expected_s = sum(expected_transfer_s(plan) for _, plan in runs)
    spec = StudySpec("sweep", loaded.sweep.name, cells, {}, "in virtual time", expected_s)

    def finish(results: Mapping[str, CellResult]) -> Verdict:
        verdict = write(loaded, folder, by_place(runs, results))
        keep(loaded.scenario(), folder, runs[0][1]["topology"].get("file"))
        make_latest(folder)
        return verdict

    return Begun(spec, folder, finish)


def write(loaded: LoadedSweep, folder: Path, results: Sequence[CellResult]) -> Verdict:
    """``table.csv``, ``table.parquet``, ``plots/``, ``verdict.json`` and ``report.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    sweep, rows = loaded.sweep, rows_of(loaded.sweep, results)
    write_csv(folder / "table.csv", rows, line_end="\n")
    write_parquet(rows, folder / "table.parquet")
    checks = judge(sweep, rows, results)
    verdict = verdict_over(checks, results, sweep.name, folder.name, partial=loaded.quick)
    write_json(folder / "verdict.json", verdict.to_json())
    (folder / "sweep.yaml").write_text(loaded.path.read_text(encoding="utf-8"), encoding="utf-8")
    provenance.write(folder, provenance.of_machine_and_code())
    write_study(folder, "sweep", {"quick": loaded.quick, "overrides": list(loaded.overrides)})
    page.write_sweep(folder, loaded, results, rows, verdict)
    return verdict


def judge(sweep: Sweep, rows: Sequence[Row], results: Sequence[CellResult]) -> list[CheckResult]:
    """Whether every run came to its end with all of its bytes, and whether the fitted slope is the law's."""
    arrived = judge_runs(results, ALL_ARRIVED, "payload_intact", "came to their end with the sender's SHA-256")
    return [arrived, *([judge_law(rows, sweep.law)] if sweep.law else [])]


DOCUMENTS: Documents = {
    "table.csv": lambda path: exact(read_csv(path)),
    "table.parquet": lambda path: exact(read_parquet(path)),
    "verdict.json": lambda path: read_verdict(path.parent).to_json(),
}


def write_again(request: VerifyRequest) -> Verification:
    """Write the documents by the table's figures, or with ``rerun`` by repeated runs. Raises BadInput where a file is
    missing or broken."""
    folder, into, engine = request.folder, request.into, engines.named(SWEEP)
    with confine.to(folder):
        loaded, recorded, rows = load_kept(folder), read_verdict(folder), read_parquet(folder / "table.parquet")
        found = Verification.of(recorded, has_page=False)
        write_csv(into / "table.csv", rows, line_end="\n")
        if loaded is None:
            sweep = load(str(folder / "sweep.yaml")).sweep
            results = [_result(sweep, Place("", str(row["policy"]), n), row) for n, row in enumerate(rows, start=1)]
            again = recorded.model_copy(update={"checks": judge(sweep, rows, results)})
            write_json(into / "verdict.json", again.to_json())
            found.unchecked.add_message(
                "sweep.not-kept",
                f"{SWEEP_REQUEST}: earlier folders have none, so plots and page are not compared, nor runs repeated",
            )
            return found
        try:
            programs = request.programs(engine)
        except (TestbedError, OSError) as error:
            found.unchecked.add_message(
                "policies.no-program-of-a-sweep", f"no program could be built to ask for its policies: {error}"
            )
            return found
        places = loaded.sweep.places(programs.policies)
        if len(places) != len(rows):
            found.differences.add_message(
                "sweep.other-number-of-runs", f"table.parquet: has {len(rows)} rows, {len(places)} by sweep.yaml"
            )
            return found
        results = [_result(loaded.sweep, place, row) for place, row in zip(places, rows, strict=True)]
        notes, unchecked = Messages(), Messages()
        if request.rerun:
            try:
                runs = list(planned(loaded, programs.policies, programs.code))
                with tempfile.TemporaryDirectory(prefix="ncp-rerun-") as place:
                    made = run_cells(cells_of(runs, programs.binaries[engine.agent]), Path(place), QuietProgress())
                results = by_place(runs, made)
                notes.add_message("sweep.made-again", f"{len(rows)} runs were repeated, and all compared with these")
            except BadInput as error:
                unchecked.add_message("rerun.no-plans", f"rerun: the runs can't be planned again: {error.said}")
        else:
            notes.add_message(
                "sweep.figures-as-kept",
                "a sweep's figures are its raw data, as it keeps no telemetry; --rerun makes them again",
            )
        return Verification.of(write(loaded, into, results), notes=notes, unchecked=unchecked)


def _result(sweep: Sweep, place: Place, row: Row) -> CellResult:
    """The result of a run by its row of the table."""
    requested = {"run", "policy", "seed", "state", "reason", *sweep.parameters}
    figures = {key: value for key, value in row.items() if key not in requested and value is not None}
    record = RunRecord(
        run=str(row["run"]),
        status=Status(row["state"]),
        reason=str(row["reason"] or ""),
        figures=figures,
        seconds=figures.get("duration_s"),
        exact=True,
    )
    return place.result(record)


def load_kept(folder: Path) -> LoadedSweep | None:
    """The sweep as it was requested; None where the folder is from before that was kept."""
    if not any((folder / name).is_file() for name in (STUDY, SWEEP_REQUEST)):
        return None
    request = request_of(folder)
    loaded = load(str(folder / "sweep.yaml"), [str(text) for text in request["overrides"]], quick=request["quick"])
    return replace(loaded, folder=folder)


def rows_of(sweep: Sweep, outcomes: Sequence[CellResult]) -> list[Row]:
    """One per run; all have the same keys, None where a run lacks a figure."""
    values = {name: row.values for name, row in sweep.combinations().items()}
    records = [cell.record for cell in outcomes]
    longest = max((record.figures for record in records), key=len)
    further = sorted({name for record in records for name in record.figures} - {*COLUMNS, *longest})
    figures = list(dict.fromkeys([*COLUMNS, *longest, *further])) if longest else []
    return [
        {
            "run": record.run,
            "policy": cell.at["column"],
            "seed": sweep.seed + int(cell.at["repetition"]) - 1,
            **values[cell.at["row"]],
            "state": record.status.value,
            "reason": record.reason,
            **{name: record.figures.get(name) for name in figures},
        }
        for cell, record in zip(outcomes, records, strict=True)
    ]


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Figures as float64, parameters as the sweep's texts, the seed as int64."""
    texts = {key for row in rows for key, value in row.items() if isinstance(value, (str, list, dict, bool))}
    kinds = {key: pa.string() if key in texts else pa.int64() if key == "seed" else pa.float64() for key in rows[0]}
    plain = [{key: str(v) if key in texts and v is not None else v for key, v in row.items()} for row in rows]
    pyarrow.parquet.write_table(pa.Table.from_pylist(plain, pa.schema(kinds.items())), path)


def read_parquet(path: Path) -> list[Row]:
    """The rows of the file; BadInput where it can't be read."""
    try:
        return [current_run(row) for row in pyarrow.parquet.read_table(path).to_pylist()]
    except (OSError, pa.ArrowException) as error:
        raise BadInput("sweep.table-not-readable", f"{path}: can't be read: {error}") from error


def exact(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Rows of a table, whether from text or from numbers, so that the same ones are equal to the last digit."""
    return [{key: _exact(value) for key, value in current_run(row).items()} for row in rows]


def _exact(value: Any) -> str:
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return "" if value is None else str(value)
