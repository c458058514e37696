"""``import``: another tool's topology becomes a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.output import say_lost, write_output
from testbed.cli.planned import planned
from testbed.errors import BadInput
from testbed.interchange.tools import bring_in
from testbed.scenario.load import load


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .clab.yml, a netlab topology, or a Mininet Topo.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Its file; without it, NAME.yaml.")
    ] = None,
    class_: Annotated[str | None, typer.Option("--class", help="Which Topo, if a Python file has several.")] = None,
) -> None:
    """Make a scenario of a containerlab, netlab or Mininet topology; what is lost is named, a line each."""
    if not file.is_file():
        raise BadInput("file.missing", "{file}: there is no such file", file=file)
    name, text, lost = bring_in(file, class_, output.parent if output else Path())
    place = output or Path(f"{name}.yaml")
    if place.exists():
        raise BadInput("file.exists", "{file}: exists already", "Give another place with -o FILE.", file=place)
    write_output(text, place)
    say_lost(lost)
    planned(load(str(place) if "/" in str(place) else f"./{place}"), quick=False)
