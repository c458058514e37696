"""From a run's data to its verdict, its derived series, its tables and its report."""

from __future__ import annotations

import json
from pathlib import Path

from testbed.checks import judge
from testbed.checks.derived import derived_lines
from testbed.checks.result import CheckResult, Trust, Verdict
from testbed.checks.windows_csv import write_windows_csv
from testbed.influx.client import Client
from testbed.influx.endpoint import Endpoint
from testbed.plan.resolve import Plan
from testbed.report import write_report
from testbed.runner.telemetry import Counts
from testbed.series import FromInflux


def judge_and_report(plan: Plan, folder: Path, endpoint: Endpoint, trust: Trust, counts: Counts) -> Verdict:
    """Judge from the database, write ``verdict.json``, ``derived.lp``, tables, plots and report."""
    with Client(endpoint, "reader") as client:
        reader = FromInflux(client, plan["run"])
        verdict = judge(
            plan, reader, folder / "agents", trust,
            file_points=counts.in_file, database_points=counts.in_database,
        )  # fmt: skip
        _write_verdict(folder, verdict)
        lines = derived_lines(plan, reader, verdict)
        (folder / "derived.lp").write_text(lines)
        write_windows_csv(reader, [session["name"] for session in plan["sessions"]], folder / "windows.csv")
    with Client(endpoint, "admin") as writer:
        writer.write(lines.splitlines())
    write_report(folder)
    return verdict


def write_broken(plan: Plan, folder: Path, message: str, untrusted: list[str]) -> None:
    """Verdict and report of a run that broke down: nothing was judged, and why.

    ``untrusted`` are the reasons why its links can't be trusted, where that is what broke it.
    """
    reason = f"Not judged: {message}"
    checks = [
        CheckResult(name=check["name"], judge=check["judge"], status="error", reason=reason)
        for check in plan["checks"]
    ]
    verdict = Verdict(
        scenario=plan["scenario"],
        run=plan["run"],
        verdict="untrusted" if untrusted else "fail",
        summary=f"The run broke down: {message}",
        checks=checks,
        trust=Trust(trusted=not untrusted, reasons=untrusted),
        duration_s=None,
        policy=plan["sessions"][0]["policy"],
        broken=message,
    )
    _write_verdict(folder, verdict)
    write_report(folder)


def _write_verdict(folder: Path, verdict: Verdict) -> None:
    document = json.dumps(verdict.to_json(), indent=1, ensure_ascii=False)
    (folder / "verdict.json").write_text(document + "\n")
