"""Judges a run: every check of its plan over its evidence, and the verdict over all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from testbed.judge.checks.evidence import CannotJudge, Evidence, agent_results
from testbed.judge.checks.figures import figures_of
from testbed.judge.checks.parameters import CheckParameters
from testbed.judge.checks.planned import NoSuchSession, session_of
from testbed.judge.checks.registry import parameters_in_plan
from testbed.judge.checks.result import CheckResult, Trust, Verdict, rounded
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.status import Status, summary_of, verdict_of
from testbed.judge.trust import of_run
from testbed.message import Message
from testbed.plan.model import Plan
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
) -> Verdict:
    """The verdict of a run; the same for the same evidence, whichever reader gives it.

    ``file_points`` and ``database_points`` are the counts that ``points_stored`` compares; ``expected`` are expected
    failures, by check: a check about a fact has none. Raises BadInput
    where the plan or an agent's result can't be read.
    """
    evidence = Evidence(plan, reader, agent_results(agents_dir), file_points, database_points)
    trust = of_run(trust, evidence)
    checks = parameters_in_plan(plan["checks"])
    of_numbers = {} if expected is None else expected
    results = [
        judge_one(check, evidence).expected_to_fail(None if check.fact else of_numbers.get(check.name))
        for check in checks
    ]
    evidence_figures = {
        name: float(value)
        for parameters, result in zip(checks, results, strict=True)
        if parameters.tells_figures
        for name, value in result.figures.items()
    }
    return Verdict(
        scenario=plan["scenario"],
        run=plan["run"],
        verdict=_verdict(results, trust, quick=bool(plan.get("quick"))),
        summary=_summary(results, trust),
        checks=results,
        trust=trust,
        duration_s=_duration_s(evidence),
        policy=", ".join(dict.fromkeys(session["policy"] for session in plan["sessions"])),
        figures=figures_of(evidence.results) | evidence_figures,
    )


def judge_one(parameters: CheckParameters, evidence: Evidence) -> CheckResult:
    """One check's result; ``skipped`` for checks of other policies."""
    try:
        policies = _policies(parameters, evidence.plan)
        if parameters.policy and not policies & set(parameters.policy):
            said = Message(
                "check.of-other-policies",
                "Skipped for {policies}: the check is about {about}.",
                policies=", ".join(sorted(policies)),
                about=", ".join(parameters.policy),
            )
            return CheckResult.of(parameters, Status.SKIPPED, said)
        return parameters.result(evidence)
    except (CannotJudge, NoSuchSession) as error:
        return CheckResult.of(parameters, Status.ERROR, error.said.because("Can't be judged"))


def _policies(parameters: CheckParameters, plan: Plan) -> set[str]:
    """The policies of the session that a check names, else of all."""
    name = getattr(parameters, "session", None)
    sessions = plan["sessions"] if name is None else [session_of(plan, name)]
    return {session["policy"] for session in sessions}


def _verdict(results: list[CheckResult], trust: Trust, *, quick: bool) -> Status:
    # A quick run may leave checks open, but not all of them; a full run has to decide each.
    return verdict_of([*(result.part for result in results), *trust.parts], may_stay_open=quick)


def _summary(results: list[CheckResult], trust: Trust) -> str:
    text = summary_of([(result.name, result.word) for result in results])
    if not trust.trusted:
        return f"Not to be trusted ({'; '.join(trust.reasons)}). {text}"
    return text


def _duration_s(evidence: Evidence) -> float | None:
    start, end = start_of(evidence.events), end_of(evidence.events)
    return None if start is None or end is None else rounded((end - start) / 1e9)
