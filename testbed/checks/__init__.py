"""Checks: what a scenario asks of a run, and the judgements that decide it."""

from testbed.checks.judge import judge
from testbed.checks.registry import JUDGEMENTS, Check
from testbed.checks.result import CheckResult, Trust, Verdict

__all__ = ["JUDGEMENTS", "Check", "CheckResult", "Trust", "Verdict", "judge"]
