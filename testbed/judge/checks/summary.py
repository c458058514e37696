"""A check's outcome as a table or an alert shows it: what was measured, what was expected, and the one as a part of the
other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.judge.checks.result import CheckResult
from testbed.series import named

_UNITS = {
    "follows_law": "of the window",
    "settles": "s",
    "goodput": "of what the links carry",
    "fair_share": "(Jain's index)",
    "link_filled": "of the link's rate",
    "mptcp_carried": "subflows",
    "payload_intact": "bytes",
    "payload_captured": "bytes",
    "points_stored": "points",
    "window_edges": "edges",
}
"""Units by the check's function; a check of a series has the series' own unit."""


def unit_of(check: CheckResult, planned: Mapping[str, Any]) -> str:
    """The unit of the check's figures, "" for a plain ratio; ``planned`` is the check in the plan."""
    if check.judge in _UNITS:
        return _UNITS[check.judge]
    if check.judge == "level" and "series" in planned:
        return named(planned["series"]).unit
    return ""


def measured(check: CheckResult) -> str:
    """The measured value in words, ``nothing`` without one."""
    return "nothing" if check.measured is None else _text(check.measured)


def expected(check: CheckResult, planned: Mapping[str, Any]) -> str:
    """The expected value in words, with its tolerance."""
    text = "to be judged" if check.expected is None else _text(check.expected)
    if check.tolerance:
        return f"{text} ± {check.tolerance:g}"
    if check.judge == "settles" and "tolerance" in planned:
        return f"{text}, within ± {planned['tolerance']:.0%} of the ratio"
    return text


def of_expected(check: CheckResult, planned: Mapping[str, Any]) -> float | None:
    """The figure in parts of what is expected (of what is allowed, where nothing at all would be best); None where it
    has no number."""
    if not isinstance(check.measured, (int, float)):
        return None
    if isinstance(check.expected, (int, float)):
        whole = float(check.expected) or float(check.tolerance or 0)
    elif check.judge == "settles":
        whole = float(planned.get("within_s", 0))
    elif planned.get("max"):
        whole = (float(planned.get("min") or 0) + float(planned["max"])) / 2
    else:
        whole = float(planned.get("min") or 0)
    return float(check.measured) / whole if whole else None


def _text(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
