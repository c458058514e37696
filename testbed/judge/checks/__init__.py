"""Checks: what a scenario asks of a run, and the judgements that decide it."""

from testbed.judge.checks.registry import JUDGEMENTS, Check
from testbed.judge.checks.result import CheckResult, Trust, Verdict

__all__ = ["JUDGEMENTS", "Check", "CheckResult", "Trust", "Verdict"]
