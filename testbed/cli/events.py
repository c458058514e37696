"""``--json``: what happens, as events on stdout; the lines for people go to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from testbed.errors import BadInput, TestbedError

if TYPE_CHECKING:
    from testbed.engines.events import CheckOf, EventProgress
    from testbed.judge.checks.result import Verdict
    from testbed.judge.status import Status
    from testbed.runtime.progress import Progress

JsonOption = Annotated[
    bool, typer.Option("--json", help="Report what happens as JSON, one object per line, for programs.")
]


def refuse_with(as_json: bool, dry_run: bool) -> None:
    """BadInput for events of nothing."""
    if as_json and dry_run:
        raise BadInput(
            "cli.json-with-dry-run", "--json: reports on runs that are made", "Leave out --dry-run, or --json."
        )


def in_events(do: Callable[[EventProgress], int]) -> int:
    """Run a verb with its progress as events, an error at the end as well; returns its exit code."""
    from testbed.engines.events import EventProgress

    progress = EventProgress(sys.stdout)
    with redirect_stdout(sys.stderr):
        try:
            return do(progress)
        except TestbedError as error:
            progress.write(
                {
                    "event": "error",
                    "code": error.code,
                    "message": error.message,
                    "hint": error.hint,
                    "exit_code": int(error.exit_code),
                }
            )
            raise


def tell(as_json: bool, do: Callable[[Progress], tuple[Verdict, Path]]) -> int:
    """Make many runs, and tell checks and verdict to people or programs; returns the exit code."""
    from testbed.cli import outcome
    from testbed.runtime.progress import Progress

    if not as_json:
        return outcome.tell(*do(Progress()))

    def reported(progress: EventProgress) -> int:
        verdict, folder = do(progress)
        code = outcome.tell(verdict, folder)
        tell_verdict(progress, verdict.verdict, verdict.summary, verdict.to_json()["checks"], folder, code)
        return code

    return in_events(reported)


def tell_verdict(
    progress: EventProgress, verdict: Status, summary: str, checks: Iterable[dict[str, Any]], folder: Path, code: int
) -> None:
    """The last event of what was judged."""
    progress.write(
        {
            "event": "verdict",
            "verdict": verdict,
            "summary": summary,
            "checks": [_check_of(check) for check in checks],
            "report": str(folder / "report.html"),
            "exit_code": code,
        }
    )


def _check_of(check: dict[str, Any]) -> CheckOf:
    found: CheckOf = {
        "name": check["name"],
        "status": check["status"],
        "code": check.get("code", ""),
        "reason": check["reason"],
    }
    if outcome := check.get("outcome"):
        found["outcome"] = outcome
    return found
