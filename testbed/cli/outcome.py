"""How a verb ends: its last lines and exit code, for a verdict and for a run that broke down."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.terminal import fitted
from testbed.errors import CannotRun, Exit, TestbedError, of_the_machine
from testbed.judge.checks.result import Verdict
from testbed.judge.status import Status
from testbed.runtime.interrupts import Interrupted

if TYPE_CHECKING:
    from testbed.engines import Run

EXIT_OF_VERDICT = {Status.PASS: Exit.PASS, Status.FAIL: Exit.FAIL, Status.UNTRUSTED: Exit.UNTRUSTED}


def tell(verdict: Verdict, folder: Path) -> int:
    """Print the checks, the report's place and the verdict; returns the exit code."""
    for check in verdict.checks:
        print(fitted(f"  {check.word:<11} {check.name}: {check.reason}"))
    for reason in verdict.trust.reasons:
        print(fitted(f"  {'untrusted':<11} {reason}"))
    print(f"  report      {shown(folder / 'report.html')}")
    counts = f" ({verdict.counts})" if verdict.counts else ""
    print(f"{verdict.verdict.upper()} {verdict.scenario} {verdict.run}{counts}")
    return EXIT_OF_VERDICT[verdict.verdict]


def to_verdict(run: Run) -> int:
    """Carry out a run and tell how it ended; returns the exit code.

    Raises:
        CannotRun: it can't be carried out on this machine.
    """
    try:
        verdict = run.execute()
    except CannotRun:
        raise
    except Exception as error:
        return ended_early(error, f"{run.plan['scenario']} {run.plan['run']}", run.folder)
    return tell(verdict, run.folder)


def shown(path: Path) -> str:
    """A path as a user would type it here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def ended_early(error: Exception, name: str, folder: Path) -> int:
    """Say why a run broke down, and its last line; returns the exit code."""
    from testbed.engines.mininet.calibration import LinksOff

    if told := of_the_machine(error):
        print(f"error: {told}", file=sys.stderr)
        print(f"Results go to {shown(folder.parent)}; NCP_TESTBED_RESULTS moves them.", file=sys.stderr)
        if (folder / "spools").is_dir():
            print(f"What was measured so far: {shown(folder / 'spools')}", file=sys.stderr)
        return Exit.CANNOT_RUN
    say_error(error, folder)
    match error:
        case Interrupted():
            print(f"INTERRUPTED {name}")
            return int(error.exit_code)
        case LinksOff():
            print(f"UNTRUSTED {name}")
            return Exit.UNTRUSTED
    print(f"FAIL {name}")
    return Exit.FAIL


def say_error(error: Exception, folder: Path) -> None:
    """Say on stderr what went wrong and where the data gathered so far is."""

    message = error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"
    print(f"error: {message}", file=sys.stderr)
    hint = error.hint if isinstance(error, TestbedError) and error.hint else ""
    print(f"{hint + ' ' if hint else ''}Data and logs so far: {shown(folder)}", file=sys.stderr)
    if not isinstance(error, TestbedError):
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "logs" / "error.txt").write_text("".join(traceback.format_exception(error)))
