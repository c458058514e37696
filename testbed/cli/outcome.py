"""The last lines and the exit code of a verb, for a verdict and for a run that broke down."""

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from testbed.cli import events
from testbed.cli.terminal import fitted
from testbed.errors import TestbedError, of_the_machine
from testbed.exit_codes import Exit
from testbed.judge.checks.result import Verdict
from testbed.runtime.progress import Progress

BROKE_DOWN: Mapping[int, str] = {Exit.INTERRUPTED: "INTERRUPTED", Exit.UNTRUSTED: "UNTRUSTED"}
"""The last line's word for a run that broke down, by the error's exit code; of all others FAIL."""


def tell(verdict: Verdict, folder: Path, progress: Progress) -> int:
    """Print the checks, the report's place and the verdict, and tell programs of it; returns the exit code."""
    for check in verdict.checks:
        print(fitted(f"  {check.word:<11} {check.name}: {check.reason}"))
    for reason in verdict.trust.reasons:
        print(fitted(f"  {'untrusted':<11} {reason}"))
    print(f"  report      {shown(folder / 'report.html')}")
    counts = f" ({verdict.counts})" if verdict.counts else ""
    print(f"{verdict.verdict.upper()} {verdict.scenario} {verdict.run}{counts}")
    return events.tell_verdict(progress, verdict.to_json(), folder)


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
    print(f"error: {events.message_of(error)}", file=sys.stderr)
    hint = error.hint if isinstance(error, TestbedError) and error.hint else ""
    print(f"{hint + ' ' if hint else ''}Data and logs so far: {shown(folder)}", file=sys.stderr)
    if not isinstance(error, TestbedError):
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "logs" / "error.txt").write_text("".join(traceback.format_exception(error)))
