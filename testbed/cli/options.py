"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed.cli import completion
from testbed.plan.engines import ENGINES

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO", help="A scenario's name, or a file: YAML, or Python.", autocompletion=completion.names
    ),
]
ResultFolders = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULT…", help="Result folders, e.g. results/startup/latest.", autocompletion=completion.results
    ),
]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value, e.g. policy=previous or links.fast.rate=8mbit.",
        autocompletion=completion.keys,
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A shorter transfer, judged over the time it covers.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of payload and losses.", min=0)]
RuntimeOption = Annotated[
    Literal["docker", "process"],
    typer.Option("--runtime", help="Agents in containers, or as plain processes on Mininet's hosts."),
]


def _engine(text: str) -> str:
    """One that there is."""
    if text not in ENGINES:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(ENGINES)}")
    return text


_ENGINE = typer.Option(
    "--engine",
    parser=_engine,
    autocompletion=lambda: list(ENGINES),
    metavar="ENGINE",
    help="Real packets over Mininet; without root and in virtual time: the same code in a simulator (sim), "
    "or all of it in a guest kernel (vkernel).",
)
EngineOption = Annotated[str, _ENGINE]
OwnEngineOption = Annotated[str | None, _ENGINE]
"""The engine, where the default depends on the machine."""
LinkOption = Annotated[
    Literal["auto", "netem", "relay"],
    typer.Option("--link", help="Delay by the kernel's netem, by the user-space relay, or whichever there is."),
]
ResumeOption = Annotated[
    str,
    typer.Option(
        "--resume",
        metavar="RUN",
        autocompletion=completion.runs,
        help="Go on with this one (or 'latest'): finished runs are kept, untrusted and broken ones repeated.",
    ),
]
HostsOption = Annotated[
    str,
    typer.Option(
        "--hosts",
        metavar="INVENTORY",
        help="Spread the topology's hosts over the machines of an Ansible inventory, which need Docker and SSH alone.",
    ),
]
