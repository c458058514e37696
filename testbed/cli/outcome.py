"""The last lines and the exit code of a verb, for a verdict and for a run that broke down."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.terminal import fitted
from testbed.errors import CannotRun, TestbedError, of_the_machine
from testbed.exit_codes import OF_VERDICT, Exit
from testbed.judge.checks.result import Verdict

if TYPE_CHECKING:
    from testbed.engines import Run

BROKE_DOWN: Mapping[int, str] = {Exit.INTERRUPTED: "INTERRUPTED", Exit.UNTRUSTED: "UNTRUSTED"}
"""The last line's word for a run that broke down, by the error's exit code; of all others FAIL."""


def tell(verdict: Verdict, folder: Path) -> int:
    """Print the checks, the report's place and the verdict; returns the exit code."""
    for check in verdict.checks:
        print(fitted(f"  {check.word:<11} {check.name}: {check.reason}"))
    for reason in verdict.trust.reasons:
        print(fitted(f"  {'untrusted':<11} {reason}"))
    print(f"  report      {shown(folder / 'report.html')}")
    counts = f" ({verdict.counts})" if verdict.counts else ""
    print(f"{verdict.verdict.upper()} {verdict.scenario} {verdict.run}{counts}")
    return OF_VERDICT[verdict.verdict]


def to_verdict(run: Run) -> tuple[int, Verdict | Exception]:
    """Carry out a run and print its end; returns the exit code, and the verdict or the error in place of one.

    Raises:
        CannotRun: it can't be carried out on this machine.
    """
    try:
        verdict = run.execute()
    except CannotRun:
        raise
    except Exception as error:
        return ended_early(error, f"{run.plan['scenario']} {run.plan['run']}", run.folder), error
    return tell(verdict, run.folder), verdict


def shown(path: Path) -> str:
    """A path as a user would type it here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def ended_early(error: Exception, name: str, folder: Path) -> int:
    """Say why a run broke down, and its last line; returns the exit code."""
    if reported := of_the_machine(error):
        print(f"error: {reported}", file=sys.stderr)
        print(f"Results go to {shown(folder.parent)}; NCP_TESTBED_RESULTS moves them.", file=sys.stderr)
        if (folder / "spools").is_dir():
            print(f"What was measured so far: {shown(folder / 'spools')}", file=sys.stderr)
        return Exit.CANNOT_RUN
    say_error(error, folder)
    code = error.exit_code if isinstance(error, TestbedError) else Exit.FAIL
    print(f"{BROKE_DOWN.get(code, 'FAIL')} {name}")
    return code if code in BROKE_DOWN else Exit.FAIL


def say_error(error: Exception, folder: Path) -> None:
    """Say on stderr what went wrong and where the data gathered so far is."""

    message = error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"
    print(f"error: {message}", file=sys.stderr)
    hint = error.hint if isinstance(error, TestbedError) and error.hint else ""
    print(f"{hint + ' ' if hint else ''}Data and logs so far: {shown(folder)}", file=sys.stderr)
    if not isinstance(error, TestbedError):
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "logs" / "error.txt").write_text("".join(traceback.format_exception(error)))
