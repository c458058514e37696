"""``interop``: the agent against npm's implementations of NCP, as a matrix."""

from __future__ import annotations

from typing import Annotated

import typer

from testbed.cli.options import LinkOption, ResumeOption, SeedOption, SetOption
from testbed.cli.outcome import ended_early, shown
from testbed.engines import Options
from testbed.errors import BadInput, CannotRun
from testbed.exit_codes import OF_VERDICT
from testbed.study.interop.cells import Cell, chosen_connections, chosen_peers, matrix, pairs
from topologies.units import UnitError, parse_fraction


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("interop")
    def interop(
        quick: Annotated[
            bool, typer.Option("--quick", help="1 and 4 connections, a shorter transfer, no references.")
        ] = False,
        peer: Annotated[
            list[str], typer.Option("--peer", metavar="VERSION", help="Only this version of @nkn/ncp (repeatable).")
        ] = [],  # noqa: B006 (typer copies it)
        connections: Annotated[
            str, typer.Option("--connections", metavar="N,…", help="Numbers of connections, like 1,4 or 1-4.")
        ] = "",
        loss: Annotated[
            str, typer.Option("--loss", metavar="P%,…", help="Losses of the links in both directions, like 0%,1%.")
        ] = "0%,1%",
        references: Annotated[
            bool | None,
            typer.Option("--references/--no-references", help="Also ours to ours and the latest peer to itself."),
        ] = None,
        set_: SetOption = [],  # noqa: B006
        seed: SeedOption = None,
        link: LinkOption = "auto",
        resume: ResumeOption = "",
    ) -> None:
        """Try the agent against npm's @nkn/ncp, both ways, and judge what both ends say and what their packets show.

        The last line is PASS, FAIL or UNTRUSTED; results/interop/ has the rest. Takes up to 10 minutes.
        """
        peers = chosen_peers(peer)
        counts = chosen_connections(connections or ("1,4" if quick else "1-4"))
        with_references = not (quick or peer) if references is None else references
        chosen = matrix(pairs(peers, references=with_references), counts, _losses(loss))
        raise typer.Exit(_run(chosen, set_, Options("process", link, seed, quick), resume))


def _losses(text: str) -> list[float]:
    found = []
    for part in text.split(","):
        try:
            found.append(parse_fraction(part.strip()))
        except UnitError as error:
            raise BadInput("interop.bad-loss", "--loss {text}: {error}", text=text, error=error) from error
        if not 0 <= found[-1] <= 0.2:
            raise BadInput(
                "interop.loss-outside",
                "--loss {text}: {value} is outside 0% to 20%, which TCP can still cope with",
                text=text,
                value=part,
            )
    return list(dict.fromkeys(found))


def _run(cells: list[Cell], set_: list[str], options: Options, resume: str) -> int:
    from testbed.lab.table import text_table
    from testbed.study.interop.matrix_run import NAME, prepare
    from testbed.study.interop.report import LEGEND

    run = prepare(cells, set_, options, resume)
    try:
        outcome = run.execute()
    except CannotRun:
        raise
    except Exception as error:
        return ended_early(error, f"{NAME} {run.folder.name}", run.folder)
    print(text_table(*outcome.table()))
    print(LEGEND)
    for reason in outcome.trust.reasons:
        print(f"  untrusted   {reason}")
    print(f"  {outcome.summary}")
    print(f"  report      {shown(run.folder / 'interop.html')}")
    print(f"{outcome.verdict.upper()} {NAME} {outcome.run}")
    return OF_VERDICT[outcome.verdict]
