"""``sweep``: parameters × policies × seeds in virtual time, to a table, plots and a verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from testbed.cli import completion, events
from testbed.cli.options import QuickOption, SetOption
from testbed.cli.where import ClusterOption, runs_made
from testbed.scenario import files


def sweep(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SWEEP", help="A sweep's name, or a YAML file.", autocompletion=completion.shipped(files.sweeps)
        ),
    ],
    set_: SetOption = [],  # noqa: B006 (typer copies it)
    quick: QuickOption = False,
    cluster: ClusterOption = "",
    dry_run: bool = typer.Option(False, "--dry-run", help="List the runs and do nothing."),
    as_json: events.JsonOption = False,
) -> None:
    """Run a sweep, e.g. window-rtt, on all cores; one that was stopped goes on. Ends in PASS or FAIL."""
    from testbed.cli.outcome import tell
    from testbed.study.kinds import sweep as sweep_run
    from testbed.study.kinds.sweep_file import load

    events.refuse_with(as_json, dry_run)
    loaded = load(name, set_, quick=quick)  # bad input ends here, before anything is set up
    if dry_run:
        sweep_run.tell(loaded)
        raise typer.Exit(0)
    with runs_made(cluster, parts=True):
        raise typer.Exit(events.carry_out(as_json, lambda progress: tell(*sweep_run.run(loaded, progress), progress)))
