"""The figures that runs are compared by: what is better, and which difference is large enough to matter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from testbed.judge.checks.evidence import CannotJudge
from testbed.judge.checks.result import Verdict
from testbed.judge.figures import BETTER, Better, title_of, unit_of
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.read import read_plan
from testbed.plan.traffic_types import sent_by
from testbed.study.sweep.figures import FIGURES as OF_SWEEPS
from testbed.study.sweep.figures import JUDGED_PART, measure


@dataclass(frozen=True)
class Figure:
    """``better`` None: no direction is known, so a difference is only shown. A difference of less than
    ``least_relative`` of the first group's mean and less than ``least_absolute`` is none that matters."""

    title: str
    unit: str
    better: Better
    least_relative: float
    least_absolute: float = 0.0


FIGURES: Mapping[str, Figure] = {
    "goodput_mib_s": Figure("Goodput", "MiB/s", BETTER["goodput_mib_s"], 0.005),
    "settled_s": Figure(OF_SWEEPS["settled_s"].title, "s", BETTER["settled_s"], 0.02, 0.2),
    "law_error": Figure("Largest error against the law", "share", BETTER["law_error"], 0.0, 0.002),
    "rtt_ms": Figure("Median RTT, largest of the connections", "ms", BETTER["rtt_ms"], 0.02, 0.2),
    "resent_share": Figure("Resent", "share of what was sent", BETTER["resent_share"], 0.05, 0.001),
    "completion_ms": Figure("Completion", "ms", BETTER["completion_ms"], 0.005),
    "throughput_mbps": Figure("Throughput", "Mbit/s", BETTER["throughput_mbps"], 0.005),
    "goodput_mbps": Figure("Goodput", "Mbit/s", BETTER["goodput_mbps"], 0.005),
    "retransmissions": Figure("Retransmissions", "", BETTER["retransmissions"], 0.05, 1.0),
    "utilization": Figure("Use of the bottleneck", "share", BETTER["utilization"], 0.005),
    "queue_ms": Figure("Queueing delay", "ms", BETTER["queue_ms"], 0.02, 1.0),
    "jain": Figure("Jain's index", "", BETTER["jain"], 0.005),
    "rival_share": Figure(title_of("rival_share"), "", BETTER["rival_share"], 0.02),
    "converged_s": Figure("A late comer converged after", "s", BETTER["converged_s"], 0.02, 0.2),
    "checks_held": Figure("Checks that hold", "share", BETTER["checks_held"], 0.0, 0.001),
    "completed": Figure("Came to its end, payload intact", "share of runs", BETTER["completed"], 0.0, 0.001),
}
"""In the order that they are shown in; what a verdict brings beyond these follows, without a direction."""

MEASURED_BY: Mapping[str, Figure] = {
    "follows_law": Figure("largest error", "share", "lower", 0.0, 0.002),
    "settles": Figure("settled after", "s", "lower", 0.02, 0.2),
    "goodput": Figure("part of what the links carry", "share", "higher", 0.005),
    "fair_share": Figure("Jain's index", "", "higher", 0.005),
    "round_trip": Figure("mean RTT over that without a queue", "", "lower", 0.02, 0.01),
    "mptcp_carried": Figure("links in use", "", "higher", 0.0, 1.0),
    "ratio": Figure("ratio", "", None, 0.01),
    "level": Figure("farthest sample", "", None, 0.01),
    "link_filled": Figure("part of the link's rate", "share", None, 0.005),
    "window_edges": Figure("edges met", "", None, 0.0, 1.0),
}
"""What checks about a number measure, by their judge. Where what is asked has two ends, neither way is better."""
_LAW = "follows_law"
_OF_CHECK = ": "
"""Between judge and check's name in the name of such a figure: ``settles: final window ratio``."""

OF_NCP = ("goodput_mib_s", "settled_s", "rtt_ms", "resent_share")


@dataclass(frozen=True)
class Measured:
    """One run's figures. ``never``: names of figures that were not reached; their value is then when the look
    for it ended, the least that it can be."""

    values: dict[str, float]
    never: frozenset[str] = frozenset()
    why_none: str = ""


def figure_of(name: str) -> Figure:
    """The figure; one that is not listed has the title and unit of its name, and no direction."""
    judge, colon, check = name.partition(_OF_CHECK)
    if colon and judge in MEASURED_BY:
        found = MEASURED_BY[judge]
        return replace(found, title=f"“{check}”: {found.title}")
    return FIGURES.get(name) or Figure(title_of(name), unit_of(name), None, 0.01)


def is_of_check(name: str) -> bool:
    """Whether a figure is what one check measured."""
    return name.partition(_OF_CHECK)[0] in MEASURED_BY and _OF_CHECK in name


def measured(folder: Path) -> Measured:
    """A run's figures from its result folder; BadInput where a file is missing or broken."""
    plan, verdict = read_plan(folder / "plan.json"), read_verdict(folder)
    by_checks, never = _measured_by_checks(verdict)
    values: dict[str, float] = {**_of_verdict(folder), **_of_checks(verdict), **by_checks}
    why = verdict.broken or ""
    if not why and sent_by(plan).windows:
        try:
            found = measure(plan, folder)
        except CannotJudge as error:
            why = str(error)
        else:
            values |= {name: float(found[name]) for name in OF_NCP if found.get(name) is not None}
            if found["settled_s"] is None and len(plan["sessions"][0]["connections"]) > 1:
                never.add("settled_s")
                values["settled_s"] = round(JUDGED_PART * float(found["duration_s"]), 6)
    values["completed"] = 0.0 if why else 1.0
    return Measured(values, frozenset(never), why)


def _of_verdict(folder: Path) -> dict[str, float]:
    """The figures that the verdict itself names."""
    document: Any = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    figures = document.get("figures") or {}
    # One and the same goodput in two units would be told twice.
    left_out = {"goodput_bps"} if "goodput_mib_s" in figures else set()
    return {
        name: float(value)
        for name, value in figures.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in left_out
    }


def _of_checks(verdict: Verdict) -> dict[str, float]:
    asked = [check for check in verdict.checks if check.status != Status.SKIPPED]
    found = {}
    if asked:
        found["checks_held"] = sum(check.status == Status.PASS for check in asked) / len(asked)
    errors = [float(c.measured) for c in asked if c.judge == _LAW and isinstance(c.measured, (int, float))]
    if errors:
        found["law_error"] = max(errors)
    return found


def _measured_by_checks(verdict: Verdict) -> tuple[dict[str, float], set[str]]:
    """What each check that was decided has measured, whether it held or not, and which were never reached. A run's
    only check against the law is ``law_error`` already."""
    only_law = sum(check.judge == _LAW for check in verdict.checks) == 1
    values, never = {}, set()
    for check in verdict.checks:
        name = f"{check.judge}{_OF_CHECK}{check.name}"
        if (
            check.judge not in MEASURED_BY
            or check.status not in (Status.PASS, Status.FAIL)
            or (check.judge == _LAW and only_law)
        ):
            continue
        if isinstance(check.measured, (int, float)):
            values[name] = float(check.measured)
        elif check.measured == "never":
            values[name] = float(check.figures["judged_to_s"]) - float(check.figures["judged_from_s"])
            never.add(name)
    return values, never
