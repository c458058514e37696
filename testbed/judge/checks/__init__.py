"""Checks: the questions that a scenario asks about a run, and the functions that answer them."""

from testbed.judge.checks.registry import JUDGEMENTS, Check
from testbed.judge.checks.result import CheckResult, Trust, Verdict

__all__ = ["JUDGEMENTS", "Check", "CheckResult", "Trust", "Verdict"]
