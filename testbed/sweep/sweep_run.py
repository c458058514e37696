"""A sweep from its file to its verdict: plan, run what is missing, tabulate, fit, report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from testbed import engines, paths
from testbed.checks.result import CheckResult, Trust, Verdict
from testbed.engines import Options
from testbed.judge.algebra import summary_of, verdict_of
from testbed.plan.model import Plan
from testbed.plan.resolve import expected_transfer_s
from testbed.plan.sessions import PolicyFacts
from testbed.runner import provenance
from testbed.runner.progress import Progress
from testbed.study.bootstrap import ready
from testbed.study.folder import kept_when_stopped, make_latest, write_json
from testbed.sweep import law
from testbed.sweep.execute import execute
from testbed.sweep.load import LoadedSweep, Point, plan_of, points
from testbed.sweep.model import ALL_ARRIVED, Sweep
from testbed.sweep.plots import law_plot, plot
from testbed.sweep.report import write_report
from testbed.sweep.table import Row, rows_of, write_csv, write_parquet

ENGINE = "sim"
ASKED = "asked.json"
"""What the command line asked beyond the sweep's file."""


def planned(loaded: LoadedSweep, policies: PolicyFacts) -> list[tuple[Point, Plan]]:
    """Every run with its plan; raises :class:`BadInput` for what is wrong with any of them."""
    return [(point, plan_of(loaded, point, policies)) for point in points(loaded.sweep, list(policies))]


def tell(loaded: LoadedSweep) -> None:
    """Print the runs, with the virtual time that the transfer of each takes at least."""
    found = planned(loaded, engines.named(ENGINE).prepare_plans(Progress()).policies)
    for point, plan in found:
        print(f"{plan['run']}  {_name(point)}  {expected_transfer_s(plan):.0f} virtual s")
    print(f"{len(found)} runs")


def _name(point: Point) -> str:
    values = "".join(f"{key}={value}  " for key, value in point.values.items())
    return f"{values}{point.policy} seed {point.seed}"


def run(loaded: LoadedSweep, progress: Progress | None = None) -> tuple[Verdict, Path]:
    """Everything; returns the verdict and the result folder."""
    progress = progress or Progress()
    programs = ready(engines.named(ENGINE), Options(), progress, loaded.sweep.name)
    with progress.step("plan") as step:
        found = planned(loaded, programs.policies)
        step.note = f"{len(found)} runs"
    plans = [plan for _, plan in found]
    base = paths.results() / loaded.sweep.name
    runs = [str(plan["run"]) for plan in plans]
    folder = base / sweep_id(loaded, runs)
    expected_s = sum(map(expected_transfer_s, plans))
    progress.begun(loaded.sweep.name, folder.name, ENGINE, folder, len(plans), expected_s)
    progress.say(f"{loaded.sweep.name} {folder.name}: {len(plans)} runs in virtual time, results in {folder}")
    with kept_when_stopped(progress, "To go on, give the same command."):
        names = {str(plan["run"]): _name(point) for point, plan in found}
        outcomes = execute(plans, programs.binaries["ncp-sim"], base / "runs.jsonl", progress, names)
    with progress.step("table and report"):
        verdict = write(loaded, folder, rows_of([point for point, _ in found], runs, outcomes))
    make_latest(folder)
    return verdict, folder


def sweep_id(loaded: LoadedSweep, runs: Sequence[str]) -> str:
    """``sweep-<12 hexadecimal digits>``: the same for the same runs, told in the same way."""
    document = json.dumps([loaded.sweep.model_dump(mode="json"), list(runs)], sort_keys=True)
    return "sweep-" + hashlib.sha256(document.encode()).hexdigest()[:12]


def write(loaded: LoadedSweep, folder: Path, rows: Sequence[Row]) -> Verdict:
    """``table.csv``, ``table.parquet``, ``plots/``, ``verdict.json`` and ``report.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / "table.csv")
    write_parquet(rows, folder / "table.parquet")
    plots = [plot(rows, asked, number) for number, asked in enumerate(loaded.sweep.plots, start=1)]
    if loaded.sweep.law and (fit := law.fit(rows, loaded.sweep.law)):
        plots.insert(0, law_plot(fit, loaded.sweep.law.policy))
    checks = judge(loaded.sweep, rows)
    verdict = _verdict(loaded, folder.name, checks, rows)
    write_json(folder / "verdict.json", verdict.to_json())
    (folder / "sweep.yaml").write_text(loaded.path.read_text(encoding="utf-8"), encoding="utf-8")
    write_json(folder / "provenance.json", provenance.of_machine_and_code())
    write_json(folder / ASKED, {"quick": loaded.quick, "overrides": list(loaded.overrides)})
    write_report(folder, loaded, rows, plots, verdict)
    return verdict


def judge(sweep: Sweep, rows: Sequence[Row]) -> list[CheckResult]:
    """Whether every run came to its end with all of its bytes, and whether the fitted slope is the law's."""
    states = {str(row["run"]): str(row["state"]) for row in rows}
    failed = {run: state for run, state in states.items() if state != "ok"}
    reason = f"{len(states) - len(failed)} of {len(states)} runs came to their end with the sender's SHA-256."
    reason += "".join(f" {run}: {why}" for run, why in list(failed.items())[:3])
    arrived = CheckResult(
        name=ALL_ARRIVED,
        judge="payload_intact",
        status="fail" if failed else "pass",
        measured=len(states) - len(failed),
        expected=len(states),
        reason=reason,
    )
    asked = sweep.law
    of_law = [law.check(law.fit(rows, asked), asked, len(law.of_the_law(rows, asked)))] if asked else []
    return [arrived, *of_law]


def _verdict(loaded: LoadedSweep, name: str, checks: Sequence[CheckResult], rows: Sequence[Row]) -> Verdict:
    # As for a scenario: a quick one may leave a check open.
    return Verdict(
        scenario=loaded.sweep.name,
        run=name,
        verdict=verdict_of((check.status for check in checks), may_stay_open=loaded.quick),
        summary=summary_of((check.name, check.status) for check in checks) + f" Over {len(rows)} runs.",
        checks=list(checks),
        trust=Trust(trusted=True, reasons=[]),  # nothing can be late where there is no clock
        duration_s=None,
        policy=", ".join(dict.fromkeys(str(row["policy"]) for row in rows)),
    )
