"""The report of a run: plots and one self-contained page, made from the result folder alone."""

from testbed.results.report.render import write_report

__all__ = ["write_report"]
