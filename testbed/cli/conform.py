"""``conform``: what of the contract of docs/program.md a program keeps."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.errors import BadInput, CannotRun
from testbed.exit_codes import Exit


def conform(
    program: Annotated[
        str, typer.Argument(metavar="IMAGE_OR_COMMAND", help="An image of the Docker engine, or a command in quotes.")
    ],
) -> None:
    """Check a transport of your own against the contract of `traffic: program`.

    Ends with 0 if it keeps all of it, with 1 if not. Takes half a minute, and root.
    """
    section = _section(program)
    if os.geteuid() != 0:
        raise CannotRun(
            "conform.needs-root", "it needs root, for network namespaces", f"Try: sudo ./run.sh conform '{program}'"
        )
    raise typer.Exit(_run(section))


def _section(program: str) -> dict[str, Any]:
    """The ``program`` section that a scenario would have."""
    words = shlex.split(program)
    if not words:
        raise BadInput("conform.no-program", "conform: name an image, or a command in quotes like 'python3 mine.py'")
    if len(words) == 1 and not Path(words[0]).is_file() and shutil.which(words[0]) is None:
        return {"image": words[0]}
    if len(words) == 1 and Path(words[0]).is_file() and "/" not in words[0]:
        raise BadInput(
            "conform.program-is-a-file", f"conform: {words[0]} is a file; give its command, like ./{words[0]}"
        )
    return {"command": words, "folder": str(Path.cwd())}


def _run(section: dict[str, Any]) -> int:
    from testbed import paths
    from testbed.cli.outcome import shown
    from testbed.lab.table import text_table
    from testbed.planning.resolve import new_run_id
    from testbed.traffic.program import conform

    run = new_run_id()
    results = paths.results() / "conform" / run
    results.mkdir(parents=True)
    outcomes = conform.conform(section, results, print)
    print(text_table(["part", "requested", "seen", ""], [list(outcome) for outcome in outcomes]))
    print(f"  data and logs  {shown(results)}")
    keeps_all = all(outcome.kept != "not kept" for outcome in outcomes)
    print(f"{'PASS' if keeps_all else 'FAIL'} conform {run}")
    return Exit.PASS if keeps_all else Exit.FAIL
