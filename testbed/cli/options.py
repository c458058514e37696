"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from testbed.cli.completion import keys, names, results, runs, shipped
from testbed.errors import BadInput
from testbed.plan.codes import CODES, with_kept
from testbed.plan.engines import DEFAULT, ENGINES, SHAKE
from testbed.scenario import files

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A scenario's name, or a file: YAML, or Python.", autocompletion=names)
]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="A table's name, or a YAML file.", autocompletion=shipped(files.tables))
]
SweepArgument = Annotated[
    str, typer.Argument(metavar="SWEEP", help="A sweep's name, or a YAML file.", autocompletion=shipped(files.sweeps))
]
ResultFolders = Annotated[
    list[Path],
    typer.Argument(metavar="RESULT…", help="Result folders, e.g. results/startup/latest.", autocompletion=results),
]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Change a value, like links.fast.rate=8mbit.", autocompletion=keys),
]
CodeOption = Annotated[
    str,
    typer.Option(
        "--code", metavar="CODE", help="NCP at both ends: ours, npm's, or a path.", autocompletion=lambda: list(CODES)
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A shorter transfer, judged over the time it covers.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of payload and losses.", min=0)]
RuntimeOption = Annotated[
    Literal["docker", "process"], typer.Option("--runtime", help="Agents in containers, or as plain processes.")
]


def with_code(assignments: list[str], code: str) -> list[str]:
    """The changes of ``--set`` with that of ``--code``."""
    return [*assignments, *([f"ncp.code={with_kept(code, Path.cwd(), '--code')}"] if code else [])]


def _engine(text: str) -> str:
    """One that there is."""
    if text not in ENGINES:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(ENGINES)}")
    return text


def engines_in(text: str, option: str, least: int) -> list[str]:
    """The engines in an option's value, each named once; raises BadInput where they are not ``least`` or more."""
    names = text.split(",")
    if not set(names) <= set(ENGINES) or not least <= len(names) == len(set(names)):
        number = "two or more" if least > 1 else "one or more"
        raise BadInput(
            "cli.bad-engines", f"{option} {text}: should be {number} of {', '.join(ENGINES)}, like sim,vkernel"
        )
    return names


_ENGINE = typer.Option(
    "--engine",
    parser=_engine,
    autocompletion=lambda: list(ENGINES),
    metavar="ENGINE",
    help="Real packets over Mininet; without root and in virtual time: the same code in a simulator (sim), "
    "or all of it in a guest kernel (vkernel).",
)
EngineOption = Annotated[str, _ENGINE]
EnginesOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE,…",
        autocompletion=lambda: list(ENGINES),
        help=f"mininet, sim or vkernel; several are put side by side. Default: {DEFAULT}, of --shake {SHAKE}.",
    ),
]
OwnEngineOption = Annotated[str | None, _ENGINE]
"""The engine, where the default depends on the machine."""
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be run, and do nothing.")]
LinkOption = Annotated[
    Literal["auto", "netem", "relay"], typer.Option("--link", help="Delay by netem, or by a relay in user space.")
]
ResumeOption = Annotated[
    str, typer.Option("--resume", metavar="RUN", help="Go on with this one, or with 'latest'.", autocompletion=runs)
]
HostsOption = Annotated[
    str, typer.Option("--hosts", metavar="INVENTORY", help="Spread hosts over the machines of an Ansible inventory.")
]
