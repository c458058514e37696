"""``graph``: a scenario's topology as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed import confine
from testbed.cli import completion
from testbed.cli.options import QuickOption, SetOption
from testbed.cli.output import OutputOption, say_lost, write_output
from testbed.cli.planned import planned
from testbed.interchange.graph import FORMATS, draw
from testbed.interchange.tools import to_clab
from testbed.plan.model import Plan
from testbed.plan.read import read_plan
from testbed.scenario.load import load


def graph(
    what: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|RESULT",
            help="A scenario's name or YAML file, or a result folder.",
            autocompletion=completion.names_and_results,
        ),
    ],
    form: Annotated[
        Literal["svg", "mermaid", "drawio", "clab"],
        typer.Option("--format", help="For a page, for Markdown, to edit, or as containerlab's file."),
    ] = "svg",
    output: OutputOption = None,
    set_: SetOption = [],  # noqa: B006
    quick: QuickOption = False,
) -> None:
    """Draw the topology: hosts, routers, and links with what they do."""
    plan = _plan(what, set_, quick)
    if form != "clab":
        write_output(FORMATS[form](draw(plan)), output)
        return
    text, lost = to_clab(plan)
    write_output(text, output)
    say_lost(lost)


def _plan(what: str, assignments: list[str], quick: bool) -> Plan:
    if Path(what).is_dir():
        confine.refuse_links(Path(what))
        return read_plan(Path(what, "plan.json"))
    return planned(load(what, assignments, quick=quick), quick=quick)
