"""Reads a result folder for the report. Only plan and verdict have to be there: a broken run has a report too."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.documents import read_csv, read_json
from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import Verdict
from testbed.judge.verify import read_verdict
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.series import FromFile


@dataclass(frozen=True)
class ResultFolder:
    """The contents of a result folder; ``evidence`` is None where a broken run left no telemetry."""

    path: Path
    plan: Plan
    verdict: Verdict
    checks: list[CheckParameters]
    evidence: Evidence | None
    links: list[dict[str, str]]
    agents: dict[str, dict[str, Any]]
    provenance: dict[str, Any]


def read_folder(path: Path, reader: FromFile | None = None) -> ResultFolder:
    """The folder's contents; BadInput names the file that is missing or broken. ``reader``: of its telemetry, where
    that was read already."""
    plan = read_plan(path / "plan.json")
    telemetry, provenance = path / "telemetry.lp", path / "provenance.json"
    evidence = None
    if telemetry.exists():
        evidence = Evidence(plan, reader or FromFile(telemetry), agent_results(path / "agents"))
    return ResultFolder(
        path=path,
        plan=plan,
        verdict=read_verdict(path),
        checks=parameters_in_plan(plan["checks"]),
        evidence=evidence,
        links=read_csv(links) if (links := path / "links.csv").exists() else [],
        agents={file.stem: read_json(file) for file in sorted((path / "agents").glob("*.json"))},
        provenance=read_json(provenance) if provenance.exists() else {},
    )
