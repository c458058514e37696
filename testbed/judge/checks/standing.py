"""What a run is worth to whoever compares it with others: whether it counts, not whether its checks hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testbed.judge.algebra import Part, Standing, worst
from testbed.judge.checks.registry import FACTS
from testbed.judge.checks.result import Verdict


def standing_of(verdict: Verdict) -> Standing:
    """Of a run: the worst of whether it came to its end, its facts (such as its payload) and its trust."""
    facts: Iterable[Part] = (check.status for check in verdict.checks if check.judge in FACTS)
    return worst(["error" if verdict.broken else "pass", *facts, *verdict.trust.parts])


def standing_of_cell(checks: Mapping[str, Mapping[str, Any]], part: Part) -> Standing:
    """Of a table's cell: of its run's checks by name, and what it is worth to the table."""
    facts: list[Part] = [check["status"] for check in checks.values() if check.get("judge") in FACTS]
    return worst(["pass" if part == "fail" else part, *facts])
