"""``graph`` and ``import``: a scenario's topology as a picture, and another tool's topology as a scenario."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed import confine
from testbed.cli.completion import names_and_results
from testbed.cli.options import QuickOption, SetOption
from testbed.cli.scenario import planned
from testbed.errors import BadInput
from testbed.interchange.graph import FORMATS, draw
from testbed.interchange.tools.bring_in import bring_in
from testbed.interchange.tools.to_clab import to_clab
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.scenario.load import load


def graph(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|RESULT", help="A scenario, or a result folder.", autocompletion=names_and_results
        ),
    ],
    form: Annotated[Literal["svg", "mermaid", "drawio", "clab"], typer.Option("--format")] = "svg",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; else the standard output.")] = None,
    set_: SetOption = [],  # noqa: B006
    quick: QuickOption = False,
) -> None:
    """Draw the topology: hosts, routers, and links with what they do.

    Of the formats `svg` is for a page, `mermaid` for Markdown, `drawio` to edit; `clab` is containerlab's file."""
    plan = _plan(what, set_, quick)
    text, lost = to_clab(plan) if form == "clab" else (FORMATS[form](draw(plan)), [])
    _write(text, output, lost)


def _plan(what: str, assignments: list[str], quick: bool) -> Plan:
    if Path(what).is_dir():
        confine.refuse_links(Path(what))
        return read_plan(Path(what, "plan.json"))
    return planned(load(what, assignments, quick=quick), quick=quick)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .clab.yml, a netlab topology, or a Mininet Topo.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; else NAME.yaml.")] = None,
    class_: Annotated[str | None, typer.Option("--class", help="Which Topo, if a Python file has several.")] = None,
) -> None:
    """Make a scenario of a containerlab, netlab or Mininet topology; what is lost is named, a line each."""
    if not file.is_file():
        raise BadInput("file.missing", f"{file}: there is no such file")
    name, text, lost = bring_in(file, class_, output.parent if output else Path())
    place = output or Path(f"{name}.yaml")
    if place.exists():
        raise BadInput("file.exists", f"{place}: exists already", "Give another place with -o FILE.")
    _write(text, place, lost)
    planned(load(str(place) if "/" in str(place) else f"./{place}"), quick=False)


def _write(text: str, file: Path | None, lost: Iterable[str]) -> None:
    """Write to the file, and print its name, or to the standard output, and the losses of a conversion to the standard
    error; raises BadInput."""
    if file is None:
        print(text, end="")
    else:
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BadInput(
                "file.not-writable", f"{file}: can't be written: {error.strerror}", "Give a file in another folder."
            ) from error
        print(file)
    for line in lost:
        print(f"not carried: {line}", file=sys.stderr)
