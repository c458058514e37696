"""``repeatable``: scenarios in a guest kernel, several times each: are they the same bytes?"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.options import QuickOption, SeedOption, SetOption
from testbed.errors import BadInput, CannotRun, Exit

if TYPE_CHECKING:
    from testbed.runner.progress import Progress
    from testbed.scenario.load import LoadedScenario
    from testbed.vkernel.repeatable import Repetition


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
        from testbed import paths
        from testbed.matrix.outcome import write_json
        from testbed.plan.resolve import new_run_id
        from testbed.runner.progress import Progress

        loaded = {name: _load(name, set_, quick=quick) for name in scenarios}
        progress = Progress()
        run = new_run_id()
        folder = paths.results() / "repeatable" / run
        found: list[Repetition] = []
        for name, one in loaded.items():
            found.append(_repeat(name, one, progress, folder / name.replace("/", "-"), runs, seed, quick=quick))
            print("\n".join(found[-1].lines()), flush=True)
            write_json(folder / "hashes.json", [repetition.as_json() for repetition in found])
        holds = all(repetition.holds for repetition in found)
        print(f"  hashes      {folder / 'hashes.json'}")
        print(f"{'PASS' if holds else 'FAIL'} repeatable {run}")
        raise typer.Exit(Exit.PASS if holds else Exit.FAIL)


def _load(name: str, assignments: Sequence[str], *, quick: bool) -> LoadedScenario:
    """A scenario, or that of a table's cell."""
    from testbed import build
    from testbed.matrix import load as tables
    from testbed.scenario.files import is_table
    from testbed.scenario.load import load

    table, *place = name.split("/")
    if len(place) != 2 or not is_table(table):
        return load(name, assignments, quick=quick)
    loaded = tables.load(table, assignments, quick=quick)
    policies = build.policy_facts(build.build_programs()["ncp-agent"])
    rows = {row.name: row for row in loaded.table.rows}
    columns = {contender.name: contender for contender in tables.contenders(loaded.table, list(policies))}
    row, column = place
    if row not in rows or column not in columns:
        raise BadInput(f"{name}: {table} has rows {', '.join(rows)} and columns {', '.join(columns)}")
    if columns[column].column.carrier:
        raise BadInput(f"{name}: a column with a carrier of its own is no scenario")
    return tables.scenario_of(loaded, rows[row], columns[column])


def _repeat(
    name: str, loaded: LoadedScenario, progress: Progress, folder: Path, runs: int, seed: int | None, *, quick: bool
) -> Repetition:
    """The first run's folder is kept, and that of every run that differs from it."""
    from testbed.cli.vkernel import prepare
    from testbed.vkernel.repeatable import Repetition, digests

    found = Repetition(name)
    first_seed = loaded.scenario.seed if seed is None else seed
    for number in range(1, runs + 2):
        other = number > runs
        run = prepare(loaded, progress, seed=first_seed + other, quick=quick, results=folder / str(number))
        if not run.kernel.exact:
            raise CannotRun("the guest kernel with virtual time is not built", "./run.sh doctor --build builds it.")
        verdict = run.execute()
        digested = digests(run.folder)
        progress.say(f"{name} {number}/{runs}{' (another seed)' if other else ''}: {verdict.verdict}")
        if other:
            found.other_seed = digested
            continue
        found.runs.append(digested)
        if not run.exact:
            found.spans.append(number)
        if number > 1 and digested == found.runs[0]:
            shutil.rmtree(folder / str(number))
    return found
