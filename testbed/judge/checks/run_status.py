"""What a run is worth to whoever compares it with others: whether it counts, not whether its checks hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import Verdict
from testbed.judge.status import Status, worst


def status_of_run(verdict: Verdict) -> Status:
    """Of a run: the worst of whether it came to its end, its facts (such as its payload) and its trust."""
    facts: Iterable[Status] = (check.status for check in verdict.checks if check.judge in FACTS)
    return worst([Status.ERROR if verdict.broken else Status.PASS, *facts, *verdict.trust.parts])


def status_of_cell(checks: Mapping[str, Mapping[str, Any]], part: Status) -> Status:
    """Of a table's cell: of its run's checks by name, and what it is worth to the table."""
    facts: list[Status] = [check["status"] for check in checks.values() if check.get("judge") in FACTS]
    return worst([Status.PASS if part == Status.FAIL else part, *facts])
