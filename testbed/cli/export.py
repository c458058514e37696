"""``export``: results in the forms that other tools open."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.options import ResultFolders
from testbed.errors import BadInput
from testbed.exit_codes import Exit


def export(
    folders: ResultFolders,
    parquet: Annotated[bool, typer.Option("--parquet", help="Telemetry, a file for each measurement.")] = False,
    pcapng: Annotated[bool, typer.Option("--pcapng", help="A host's captures in one file (--pcap).")] = False,
    xplot: Annotated[bool, typer.Option("--xplot", help="Time-sequence graphs of connections (--qlog).")] = False,
    qvis: Annotated[bool, typer.Option("--qvis", help="Connections in QUIC's terms, for qvis (--qlog).")] = False,
    plots: Annotated[bool, typer.Option("--plots", help="Plots as PDF for a paper, and their points.")] = False,
) -> None:
    """Write results in formats that other tools open: all that the data allow, or those that are named.

    Runs made with --pcap and --qlog have traces; if those disagree with the results, nothing is written. Tables,
    sweeps and comparisons have plots alone.
    """
    from testbed import confine

    asked = {"parquet": parquet, "pcapng": pcapng, "xplot": xplot, "qvis": qvis, "plots": plots}
    with confine.to_results(*folders):
        _export(folders, {name for name, requested in asked.items() if requested})


def _export(folders: Sequence[Path], requested: Collection[str]) -> None:
    from testbed.archive.kinds import export_for_paper
    from testbed.interchange.traces import agree, parquet, pcapng, qvis, xplot

    differs = False
    for folder in folders:
        is_run = (folder / "telemetry.lp").is_file()
        if requested != {"plots"} and not is_run:
            raise BadInput(
                "export.not-a-run",
                f"{folder}: not the result folder of a run: it has no telemetry.lp",
                "Of tables, sweeps and comparisons there are --plots.",
            )
        for said in agree.disagreements(folder) if is_run else ():
            print(f"differs: {folder}/{said}")
            differs = True
    if differs:
        raise typer.Exit(Exit.FAIL)
    forms: Mapping[str, Callable[[Path], list[Path]]] = {
        "parquet": parquet.export,
        "pcapng": pcapng.export,
        "xplot": xplot.export,
        "qvis": qvis.export,
        "plots": export_for_paper,
    }
    chosen = [name for name in forms if not requested or name in requested]
    for folder, name in product(folders, chosen):
        written = forms[name](folder)
        if name == "plots" and requested and not written:
            raise BadInput("export.nothing-to-draw", f"--plots: {folder} has nothing that could be drawn")
        if requested and not written:
            raise BadInput(
                "export.no-trace", f"--{name}: {folder} has no trace for it; run with {MADE_WITH.get(name, name)}"
            )
        print(*written, sep="\n", end="\n" if written else "")


MADE_WITH = {"pcapng": "--pcap all", "xplot": "--qlog", "qvis": "--qlog"}
"""Options of a run with the traces of a form."""
