"""Judges a run: every check of its plan over its evidence, and the verdict over all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from testbed.judge.checks.evidence import CannotJudge, Evidence, agent_results
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.planned import session_of
from testbed.judge.checks.registry import FACTS, parameters_in_plan
from testbed.judge.checks.result import CheckResult, Trust, Verdict, rounded
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.figures import figures_of
from testbed.judge.status import Status, summary_of, verdict_of, worst
from testbed.judge.trust.reasons import of_run
from testbed.message import Message
from testbed.plan.codes import is_about
from testbed.plan.model import Plan, Session
from testbed.series import Reader
from testbed.series.reader import end_of, start_of


def judge(
    plan: Plan,
    reader: Reader,
    agents_dir: Path,
    trust: Trust,
    *,
    file_points: int | None = None,
    database_points: int | None = None,
    expected: Mapping[str, ExpectedFailure] | None = None,
    complete: bool = True,
) -> Verdict:
    """The verdict of a run; the same for the same evidence, whichever reader gives it.

    ``file_points`` and ``database_points`` are the counts that ``points_stored`` compares; ``expected`` are expected
    failures, by check: a check about a fact has none; ``complete``: whether the run has to have all evidence of today.
    Raises BadInput where the plan or an agent's result can't be read.
    """
    points, folder = (file_points, database_points), agents_dir.parent
    evidence = Evidence(plan, reader, agent_results(agents_dir), *points, folder, complete)
    trust = of_run(trust, evidence)
    results, figures = [], figures_of(evidence.results)
    for check in parameters_in_plan(plan["checks"]):
        result = judge_one(check, evidence).expected_to_fail(None if check.fact else (expected or {}).get(check.name))
        results.append(result)
        if check.tells_figures:
            figures |= {name: float(value) for name, value in result.figures.items()}
    summary = summary_of([(result.name, result.word) for result in results])
    start_ns, end_ns = start_of(evidence.events), end_of(evidence.events)
    return Verdict(
        scenario=plan["scenario"],
        run=plan["run"],
        # A quick run may leave checks open, but not all of them; a full run has to decide each.
        verdict=verdict_of([*(result.part for result in results), *trust.parts], may_stay_open=bool(plan.get("quick"))),
        summary=summary if trust.trusted else f"Not to be trusted ({'; '.join(trust.reasons)}). {summary}",
        checks=results,
        trust=trust,
        duration_s=None if start_ns is None or end_ns is None else rounded((end_ns - start_ns) / 1e9),
        policy=", ".join(dict.fromkeys(session["policy"] for session in plan["sessions"])),
        figures=figures,
    )


def judge_one(parameters: CheckParameters, evidence: Evidence) -> CheckResult:
    """One check's result; ``skipped`` for checks of other policies."""
    try:
        sessions = _sessions(parameters, evidence.plan)
        if not any(is_about(parameters.policy, session) for session in sessions):
            policies = ", ".join(sorted({session["policy"] for session in sessions}))
            said = Message(
                "check.of-other-policies", f"Skipped for {policies}: the check is about {', '.join(parameters.policy)}."
            )
            return CheckResult.of(parameters.name, parameters.judge, Status.SKIPPED, said)
        return parameters.result(evidence)
    except CannotJudge as error:
        said = error.said.because("Can't be judged")
        return CheckResult.of(parameters.name, parameters.judge, Status.ERROR, said)


def _sessions(parameters: CheckParameters, plan: Plan) -> list[Session]:
    """The session that a check names, else all."""
    name = getattr(parameters, "session", None)
    return plan["sessions"] if name is None else [session_of(plan, name)]


def status_of_run(verdict: Verdict) -> Status:
    """The status of a run as a part of a comparison: the worst of its completion, its facts (such as its payload) and
    its trust, whether its checks hold or not."""
    facts = (check.status for check in verdict.checks if check.judge in FACTS)
    return worst([Status.ERROR if verdict.broken else Status.PASS, *facts, *verdict.trust.parts])


def status_of_cell(checks: Mapping[str, Mapping[str, Any]], part: Status) -> Status:
    """The same of a table's cell, by its run's checks and its status."""
    facts: list[Status] = [check["status"] for check in checks.values() if check.get("judge") in FACTS]
    return worst([Status.PASS if part == Status.FAIL else part, *facts])
