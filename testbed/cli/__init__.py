"""The command line: one file per verb."""

from testbed.cli.app import main

__all__ = ["main"]
