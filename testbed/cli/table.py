"""``table`` and ``sweep``: many runs to one verdict, of rows × columns × repetitions, or of parameters × policies ×
seeds in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from testbed.cli import events, options
from testbed.cli.where import ClusterOption, runs_made
from testbed.plan.engines import DEFAULT

if TYPE_CHECKING:
    from testbed.judge.checks.result import Verdict
    from testbed.runtime.progress import Progress


def table(
    name: options.TableArgument,
    repeat: Annotated[int | None, typer.Option(min=1, max=99, help="Runs of each cell.")] = None,
    rows: Annotated[str, typer.Option(metavar="ROW,…", help="Only these rows.")] = "",
    columns: Annotated[str, typer.Option(metavar="COLUMN,…", help="Only these columns.")] = "",
    set_: options.SetOption = [],  # noqa: B006 (typer copies it)
    code: options.CodeOption = "",
    quick: options.QuickOption = False,
    runtime: options.RuntimeOption = "docker",
    link: options.LinkOption = "auto",
    engine: options.EngineOption = DEFAULT,
    resume: options.ResumeOption = "",
    cluster: ClusterOption = "",
    dry_run: options.DryRunOption = False,
    as_json: events.JsonOption = False,
) -> None:
    """Run a table of scenarios, e.g. speed-table. The last line is PASS, FAIL or UNTRUSTED."""
    from testbed.study.kinds import table as kind
    from testbed.study.kinds.table_file import load, refuse_without_effect

    assignments = options.with_code(set_, code)
    loaded = load(name, assignments, quick=quick)  # bad input ends here, before anything is set up
    refuse_without_effect(loaded, assignments)
    request = kind.TableRequest(repeat, rows, columns, runtime, link, engine, quick, resume)
    make = partial(kind.tell, loaded, request), partial(kind.run, loaded, request)
    carry_out(*make, cluster, dry_run=dry_run, as_json=as_json)


def sweep(
    name: options.SweepArgument,
    set_: options.SetOption = [],  # noqa: B006 (typer copies it)
    quick: options.QuickOption = False,
    cluster: ClusterOption = "",
    dry_run: options.DryRunOption = False,
    as_json: events.JsonOption = False,
) -> None:
    """Run a sweep, e.g. window-rtt, on all cores; one that was stopped goes on. Ends in PASS or FAIL."""
    from testbed.study.kinds import sweep as kind
    from testbed.study.kinds.sweep_file import load

    loaded = load(name, set_, quick=quick)  # bad input ends here, before anything is set up
    loaded.refuse_varied()
    make = partial(kind.tell, loaded), partial(kind.run, loaded)
    carry_out(*make, cluster, dry_run=dry_run, as_json=as_json, parts=True)


def carry_out(
    tell_runs: Callable[[], None],
    run: Callable[[Progress], tuple[Verdict, Path]],
    cluster: str,
    *,
    dry_run: bool,
    as_json: bool,
    parts: bool = False,
) -> NoReturn:
    """List the runs, or make them and print checks and verdict; exits with its code."""
    from testbed.cli.outcome import tell

    events.refuse_with(as_json, dry_run)
    if dry_run:
        tell_runs()
        raise typer.Exit(0)
    with runs_made(cluster, parts=parts):
        raise typer.Exit(events.carry_out(as_json, lambda progress: tell(*run(progress), progress)))
