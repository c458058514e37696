"""Reads a result folder for the report. Only plan and verdict have to be there: a broken run has a report too."""

from pathlib import Path

from testbed.documents import read_csv, read_json
from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.history import provenance_of
from testbed.judge.verify import read_verdict
from testbed.plan.read import read_plan
from testbed.series import FromFile


class ResultFolder:
    """The contents of a result folder; ``evidence`` is None where a broken run left no telemetry."""

    def __init__(self, path: Path, reader: FromFile | None = None) -> None:
        """BadInput names the file that is missing or broken. ``reader``: of its telemetry, where that was read
        already."""
        self.path = path
        self.plan = read_plan(path / "plan.json")
        self.evidence: Evidence | None = None
        if (telemetry := path / "telemetry.lp").exists():
            self.evidence = Evidence(self.plan, reader or FromFile(telemetry), agent_results(path / "agents"))
        self.verdict = read_verdict(path)
        self.checks = parameters_in_plan(self.plan["checks"])
        self.links = read_csv(links) if (links := path / "links.csv").exists() else []
        self.agents = {file.stem: read_json(file) for file in sorted((path / "agents").glob("*.json"))}
        self.provenance = provenance_of(path)
