"""``repeatable``: scenarios in a guest kernel, several times each: are they the same bytes?"""

from __future__ import annotations

from typing import Annotated

import typer

from testbed import paths
from testbed.cli.options import QuickOption, SeedOption, SetOption
from testbed.engines import Options
from testbed.errors import Exit
from testbed.repeatable.make import loaded_of, repeat


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("repeatable")
    def repeatable(
        scenarios: Annotated[
            list[str], typer.Argument(metavar="SCENARIO…", help="Scenarios, or cells of tables as TABLE/ROW/COLUMN.")
        ],
        runs: Annotated[int, typer.Option("--runs", min=2, max=99, help="Runs of each with one seed.")] = 10,
        set_: SetOption = [],  # noqa: B006 (typer copies it)
        quick: QuickOption = False,
        seed: SeedOption = None,
    ) -> None:
        """Run scenarios in a guest kernel several times: every file of data must be the same bytes each time, and
        another seed another run. The last line is PASS or FAIL."""
        loaded = {name: loaded_of(name, set_, quick=quick) for name in scenarios}
        found, folder = repeat(loaded, Options(seed=seed, quick=quick), runs, paths.results() / "repeatable")
        for repetition in found:
            print("\n".join(repetition.lines()))
        holds = all(repetition.holds for repetition in found)
        print(f"  hashes      {folder / 'hashes.json'}")
        print(f"{'PASS' if holds else 'FAIL'} repeatable {folder.name}")
        raise typer.Exit(Exit.PASS if holds else Exit.FAIL)
