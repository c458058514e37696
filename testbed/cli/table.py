"""``table``: many runs, row by column by repetition, to one verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from testbed import paths
from testbed.cli import completion, events
from testbed.cli.options import EngineOption, LinkOption, QuickOption, ResumeOption, RuntimeOption, SetOption
from testbed.cli.where import ClusterOption, runs_made
from testbed.plan.engines import DEFAULT
from testbed.scenario import files

if TYPE_CHECKING:
    from testbed.runtime.progress import Progress
    from testbed.study.kinds.table import TableRequest
    from testbed.study.kinds.table_file import LoadedTable


def table(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="A table's name, or a YAML file.", autocompletion=completion.shipped(files.tables)
        ),
    ],
    repeat: Annotated[int | None, typer.Option("--repeat", min=1, max=99, help="Runs of each cell.")] = None,
    rows: Annotated[str, typer.Option("--rows", metavar="ROW,…", help="Only these rows.")] = "",
    columns: Annotated[str, typer.Option("--columns", metavar="COLUMN,…", help="Only these columns.")] = "",
    set_: SetOption = [],  # noqa: B006 (typer copies it)
    quick: QuickOption = False,
    runtime: RuntimeOption = "docker",
    link: LinkOption = "auto",
    engine: EngineOption = DEFAULT,
    resume: ResumeOption = "",
    cluster: ClusterOption = "",
    dry_run: bool = typer.Option(False, "--dry-run", help="List the cells and do nothing."),
    as_json: events.JsonOption = False,
) -> None:
    """Run a table of scenarios, e.g. speed-table. The last line is PASS, FAIL or UNTRUSTED."""
    from testbed.study.kinds import table as table_run
    from testbed.study.kinds.table_file import load

    events.refuse_with(as_json, dry_run)
    loaded = load(name, set_, quick=quick)  # bad input ends here, before anything is set up
    requested = table_run.TableRequest(repeat, rows, columns, runtime, link, engine, quick, resume)
    if dry_run:
        table_run.tell(loaded, requested)
        raise typer.Exit(0)
    with runs_made(cluster):
        raise typer.Exit(tell_run(loaded, requested, as_json))


def tell_run(loaded: LoadedTable, requested: TableRequest, as_json: bool) -> int:
    """Run it and tell its checks and its verdict; returns the exit code."""
    from testbed.cli.outcome import tell
    from testbed.study.kinds import table as table_run

    def run(progress: Progress) -> int:
        verdict = table_run.run(loaded, requested, progress)
        return tell(verdict, paths.results() / verdict.scenario / verdict.run, progress)

    return events.carry_out(as_json, run)
