"""``--json``: what happens, as events on stdout; the lines for people go to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from testbed.errors import BadInput, TestbedError
from testbed.exit_codes import OF_VERDICT

if TYPE_CHECKING:
    from testbed.runtime.progress import Progress

JsonOption = Annotated[bool, typer.Option("--json", help="Report what happens as JSON, an object per line.")]


def refuse_with(as_json: bool, dry_run: bool) -> None:
    """BadInput for events of nothing."""
    if as_json and dry_run:
        raise BadInput(
            "cli.json-with-dry-run", "--json: reports on runs that are made", "Leave out --dry-run, or --json."
        )


def carry_out(as_json: bool, do: Callable[[Progress], int], people: Callable[[], Progress] | None = None) -> int:
    """Run a verb with progress for ``people``, or as events, an error at the end as well; returns its exit code."""
    from testbed.engines.events import EventProgress
    from testbed.runtime.progress import Progress

    if not as_json:
        return do((people or Progress)())
    progress = EventProgress(sys.stdout)
    with redirect_stdout(sys.stderr):
        try:
            return do(progress)
        except TestbedError as error:
            tell_error(progress, error, error.hint, error.exit_code)
            raise


def tell_error(progress: Progress, error: Exception, hint: str, code: int) -> None:
    """Write the last event where there is no verdict, for programs."""
    from testbed.engines.events import EventProgress

    if isinstance(progress, EventProgress):
        name = error.code if isinstance(error, TestbedError) else "run.program-error"
        progress.tell("error", code=name, message=message_of(error), hint=hint, exit_code=int(code))


def message_of(error: Exception) -> str:
    """The text of an error, with its kind where it is the program's own."""
    return error.message if isinstance(error, TestbedError) else f"{type(error).__name__}: {error}"


def tell_verdict(progress: Progress, document: Mapping[str, Any], folder: Path) -> int:
    """Write the last event of what was judged, for programs; ``document`` has verdict, summary and checks. Returns the
    exit code."""
    from testbed.engines.events import CheckOf, EventProgress

    code = OF_VERDICT[document["verdict"]]
    if isinstance(progress, EventProgress):
        checks = [
            {key: check.get(key, "") for key in CheckOf.__annotations__ if key != "outcome" or check.get(key)}
            for check in document["checks"]
        ]
        found = {"verdict": document["verdict"], "summary": document["summary"], "checks": checks}
        progress.tell("verdict", **found, report=str(folder / "report.html"), exit_code=int(code))
    return code
