"""A sweep from its file to its verdict: plan, run what is missing, tabulate, fit, report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed import engines, paths
from testbed.documents import write_json
from testbed.engines import Options, Programs, provenance
from testbed.judge.checks.result import CheckResult, Verdict
from testbed.plan.default_engine import SWEEP
from testbed.plan.duration import expected_transfer_s
from testbed.results.folder import make_latest
from testbed.runtime.progress import Progress
from testbed.scenario.kept import keep
from testbed.study.cell import ready
from testbed.study.checks.table import judge_runs, verdict_over
from testbed.study.ledger import LEDGER, write_study
from testbed.study.report.sweep import write_report
from testbed.study.report.sweep_plots import law_plot, plot
from testbed.study.result import CellResult
from testbed.study.run import Begun, StudySpec, run_study
from testbed.study.sweep import law
from testbed.study.sweep.execute import by_place, cells_of
from testbed.study.sweep.load import LoadedSweep, planned
from testbed.study.sweep.model import ALL_ARRIVED, Sweep
from testbed.study.sweep.table import Row, rows_of, write_csv, write_parquet

ASKED = "asked.json"
"""What the command line asked beyond the sweep's file, in folders of before."""


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
    """With a result folder in ``results``, whose name follows from the runs."""
    runs = list(planned(loaded, programs.policies))
    folder = results / loaded.sweep.name / sweep_id(loaded, [str(plan["run"]) for _, plan in runs])
    cells = cells_of(runs, programs.binaries["ncp-sim"])
    expected_s = sum(expected_transfer_s(plan) for _, plan in runs)
    spec = StudySpec("sweep", loaded.sweep.name, cells, {}, "in virtual time", expected_s)

    def finish(results: Mapping[str, CellResult]) -> Verdict:
        verdict = write(loaded, folder, by_place(runs, results))
        keep(loaded.read(loaded.sweep.scenario, ()), folder, runs[0][1]["topology"].get("file"))
        make_latest(folder)
        return verdict

    return Begun(spec, folder, finish)


def sweep_id(loaded: LoadedSweep, runs: Sequence[str]) -> str:
    """``sweep-<12 hexadecimal digits>``: the same for the same runs, told in the same way."""
    document = json.dumps([loaded.sweep.model_dump(mode="json"), list(runs)], sort_keys=True)
    return "sweep-" + hashlib.sha256(document.encode()).hexdigest()[:12]


def write(loaded: LoadedSweep, folder: Path, outcomes: Sequence[CellResult]) -> Verdict:
    """``table.csv``, ``table.parquet``, ``plots/``, ``verdict.json`` and ``report.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = rows_of(loaded.sweep, outcomes)
    write_csv(rows, folder / "table.csv")
    write_parquet(rows, folder / "table.parquet")
    plots = [plot(rows, asked, number) for number, asked in enumerate(loaded.sweep.plots, start=1)]
    if loaded.sweep.law and (fit := law.fit(rows, loaded.sweep.law)):
        plots.insert(0, law_plot(fit, loaded.sweep.law.policy))
    policies = list(dict.fromkeys(found.at["column"] for found in outcomes))
    checks = judge(loaded.sweep, rows, outcomes)
    verdict = verdict_over(checks, outcomes, loaded.sweep.name, folder.name, policies, partial=loaded.quick)
    write_json(folder / "verdict.json", verdict.to_json())
    (folder / "sweep.yaml").write_text(loaded.path.read_text(encoding="utf-8"), encoding="utf-8")
    write_json(folder / "provenance.json", provenance.of_machine_and_code())
    write_study(folder, "sweep", {"quick": loaded.quick, "overrides": list(loaded.overrides)})
    write_report(folder, loaded, outcomes, plots, verdict)
    return verdict


def judge(sweep: Sweep, rows: Sequence[Row], outcomes: Sequence[CellResult]) -> list[CheckResult]:
    """Whether every run came to its end with all of its bytes, and whether the fitted slope is the law's."""
    arrived = judge_runs(outcomes, ALL_ARRIVED, "payload_intact", "came to their end with the sender's SHA-256")
    asked = sweep.law
    of_law = [law.check(law.fit(rows, asked), asked, len(law.of_the_law(rows, asked)))] if asked else []
    return [arrived, *of_law]
