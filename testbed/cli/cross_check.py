"""``cross-check``: scenarios and tables on several engines, side by side: the simulator, a guest kernel, real
packets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.options import QuickOption, RuntimeOption, SetOption
from testbed.errors import BadInput, CannotRun
from testbed.plan.engines import ENGINES

if TYPE_CHECKING:
    from testbed.crosscheck.result import Compared


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("cross-check")
    def cross_check(
        names: Annotated[
            list[str] | None,
            typer.Argument(metavar="[SCENARIO|TABLE]…", help="All of scenarios/ without one; tables by name only."),
        ] = None,
        set_: SetOption = [],  # noqa: B006 (typer copies it)
        quick: QuickOption = False,
        runtime: RuntimeOption = "docker",
        engines: Annotated[
            str, typer.Option("--engines", metavar="ENGINE,…", help="Which: the first is what others are held to.")
        ] = "sim,mininet",
        rows: Annotated[str, typer.Option("--rows", metavar="ROW,…", help="Only these rows of tables.")] = "",
        columns: Annotated[
            str, typer.Option("--columns", metavar="COLUMN,…", help="Only these columns of tables.")
        ] = "",
        repeat: Annotated[
            int | None, typer.Option("--repeat", min=1, max=99, help="Runs of each cell of tables.")
        ] = None,
        results: Annotated[
            list[str], typer.Option("--results", metavar="ENGINE=FOLDER", help="A result folder in place of a run.")
        ] = [],  # noqa: B006
    ) -> None:
        """Run scenarios on each engine: window shares within ±0.03 at every second, goodput within 3%,
        convergence within 10%; of tables, and of other traffic than NCP, all figures within 5%. The last line is
        PASS, FAIL or UNTRUSTED."""
        from testbed import paths
        from testbed.cli.outcome import EXIT_OF_VERDICT
        from testbed.crosscheck import make, result
        from testbed.plan.resolve import new_run_id
        from testbed.scenario.files import scenarios
        from testbed.study.folder import make_latest

        wanted = names or [str(path) for path in scenarios()]
        chosen = _engines(engines)
        kept = _kept(results, chosen, wanted)
        asked = make.Asked(chosen, tuple(set_), quick, runtime, rows, columns, repeat, kept)
        compared: list[Compared] = []
        folder = paths.results() / "cross-check" / new_run_id()

        def each(found: Compared) -> None:
            compared.append(found)
            _tell(found)
            result.write(folder, compared, {})  # whatever becomes of those that follow

        refused = make.compare_all(wanted, asked, folder, each, strict=bool(names))
        if not compared:
            raise CannotRun("these engines carry none of the scenarios, so there is nothing to compare")
        page = result.write(folder, compared, refused)
        make_latest(folder)
        for entry in compared:
            print(f"{entry.verdict:<9} {entry.scenario}")
        for name, why in refused.items():
            print(f"{name}: not carried: {why}")
        word = result.verdict_over(compared)
        print(f"  report      {page}")
        print(f"{word.upper()} cross-check {folder.name}")
        raise typer.Exit(EXIT_OF_VERDICT[word])


def _tell(entry: Compared) -> None:
    print(f"{entry.scenario}: {entry.verdict}")
    for difference in entry.differences:
        print(f"  {'same' if difference.same else 'differs':<11} {difference.text}")
    for engine, standing in entry.runs_own.items():
        if standing != "pass":
            print(f"  {standing:<11} {engine}: its own runs")
    for reason in entry.untrusted:
        print(f"  {'untrusted':<11} {reason}")
    if entry.broken:
        print(f"  {'broken':<11} {entry.broken}")


def _engines(text: str) -> tuple[str, ...]:
    names = text.split(",")
    unknown = [name for name in names if name not in ENGINES]
    if unknown or len(names) < 2 or len(set(names)) < len(names):
        raise BadInput(f"--engines {text}: should be two or more of {', '.join(ENGINES)}, like sim,vkernel")
    return tuple(names)


def _kept(results: list[str], engines: tuple[str, ...], names: list[str]) -> dict[str, Path]:
    """Result folders by engine."""
    found = {}
    for text in results:
        engine, _, folder = text.partition("=")
        if engine not in engines or not Path(folder).is_dir():
            raise BadInput(
                f"--results {text}: should be one of {', '.join(engines)} and a result folder, "
                "like mininet=results/startup/latest"
            )
        found[engine] = Path(folder).resolve()
    if found and len(names) != 1:
        raise BadInput("--results: give one scenario or table, that of the result folder")
    return found
