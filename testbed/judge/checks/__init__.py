"""Checks: the questions that a scenario asks about a run, and their answers."""

from testbed.judge.checks.registry import Check
from testbed.judge.checks.result import CheckResult, Trust, Verdict

__all__ = ["Check", "CheckResult", "Trust", "Verdict"]
