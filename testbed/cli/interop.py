"""``interop``: the agent against npm's implementations of NCP, as a matrix."""

from typing import Annotated

import typer

from testbed.cli.options import LinkOption, ResumeOption, SeedOption, SetOption
from testbed.cli.outcome import ended_early, shown
from testbed.engines.engine import Options
from testbed.errors import CannotRun
from testbed.exit_codes import OF_VERDICT


def interop(
    quick: Annotated[
        bool, typer.Option("--quick", help="1 and 4 connections, a shorter transfer, no references.")
    ] = False,
    peer: Annotated[
        list[str], typer.Option(metavar="VERSION", help="Only this version of @nkn/ncp (repeatable).")
    ] = [],  # noqa: B006 (typer copies it)
    connections: Annotated[str, typer.Option(metavar="N,…", help="Numbers of connections, like 1,4 or 1-4.")] = "",
    loss: Annotated[
        str, typer.Option(metavar="P%,…", help="Losses of the links in both directions, like 0%,1%.")
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
    from testbed.lab.table import text_table
    from testbed.study.kinds import interop as kind
    from testbed.traffic.interop.pairings import connections_of, losses_of, matrix, peers_of
    from testbed.traffic.interop.transfer import LEGEND

    peers, counts = peers_of(peer), connections_of(connections or ("1,4" if quick else "1-4"))
    with_references = not (quick or peer) if references is None else references
    pairings = matrix(peers, counts, losses_of(loss), references=with_references)
    run = kind.prepare(pairings, set_, Options("process", link, seed, quick), resume)
    try:
        document = run.execute()
    except CannotRun:
        raise
    except Exception as error:
        raise typer.Exit(ended_early(error, f"{kind.NAME} {run.folder.name}", run.folder)) from error
    print(text_table(document["columns"], document["rows"]))
    print(LEGEND)
    for reason in document["trust"]["reasons"]:
        print(f"  untrusted   {reason}")
    print(f"  {document['summary']}")
    print(f"  report      {shown(run.folder / 'interop.html')}")
    print(f"{document['verdict'].upper()} {kind.NAME} {document['run']}")
    raise typer.Exit(OF_VERDICT[document["verdict"]])
