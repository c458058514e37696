"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed.cli.completion import keys, names, results, runs
from testbed.plan.engines import ENGINES

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A scenario's name, or a file: YAML, or Python.", autocompletion=names)
]
ResultFolders = Annotated[
    list[Path],
    typer.Argument(metavar="RESULT…", help="Result folders, e.g. results/startup/latest.", autocompletion=results),
]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value, like links.fast.rate=8mbit.", autocompletion=keys),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A shorter transfer, judged over the time it covers.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of payload and losses.", min=0)]
RuntimeOption = Annotated[
    Literal["docker", "process"], typer.Option("--runtime", help="Agents in containers, or as plain processes.")
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
    Literal["auto", "netem", "relay"], typer.Option("--link", help="Delay by netem, or by a relay in user space.")
]
ResumeOption = Annotated[
    str, typer.Option("--resume", metavar="RUN", help="Go on with this one, or with 'latest'.", autocompletion=runs)
]
HostsOption = Annotated[
    str, typer.Option("--hosts", metavar="INVENTORY", help="Spread hosts over the machines of an Ansible inventory.")
]
