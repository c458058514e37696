"""The status of a run as a part of a comparison: whether it counts, not whether its checks hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import Verdict
from testbed.judge.status import Status, worst


def status_of_run(verdict: Verdict) -> Status:
    """The worst of a run's completion, its facts (such as its payload) and its trust."""
    facts: Iterable[Status] = (check.status for check in verdict.checks if check.judge in FACTS)
    return worst([Status.ERROR if verdict.broken else Status.PASS, *facts, *verdict.trust.parts])


def status_of_cell(checks: Mapping[str, Mapping[str, Any]], part: Status) -> Status:
    """The same of a table's cell, by its run's checks and its status."""
    facts: list[Status] = [check["status"] for check in checks.values() if check.get("judge") in FACTS]
    return worst([Status.PASS if part == Status.FAIL else part, *facts])
