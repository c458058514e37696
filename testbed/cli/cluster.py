"""``cluster``: makes, shows and takes down a cluster of machines for studies."""

from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.cli.options import QuickOption, SetOption, SweepArgument
from testbed.errors import BadInput
from testbed.exit_codes import Exit
from testbed.machine.provisioning import make_ready
from testbed.runtime.progress import Progress
from testbed.scenario import files
from testbed.study.hosts import cluster as clusters
from testbed.study.hosts import kubernetes

KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Leave out hosts that can't be reached, differ or fail.")]

cluster = typer.Typer(no_args_is_help=True, help="Many machines for studies: make, look at and take down a cluster.")


@cluster.command("up")
def up(
    inventory: Annotated[
        Path, typer.Argument(help="An Ansible inventory, as playbooks/inventory/cluster.example.yml.")
    ],
    check: Annotated[bool, typer.Option("--check", help="Only say how much would be changed.")] = False,
    keep_going: KeepGoing = False,
) -> None:
    """Put this commit on all hosts and start scheduler and workers; a second time changes nothing.

    Ends with 2 for a wrong inventory, with 4 if a host can't be reached or differs.
    """
    from testbed.study.hosts import deploy

    made, changed, off = deploy.up(inventory, Progress(), go_on=keep_going, check=check)
    for name, reason in off.items():
        print(f"left out: {name}: {reason}")
    if made is None:
        print(f"would change: {changed} tasks at least (later ones depend on what these make)")
        return
    size = f"{len(made.hosts)} hosts, {sum(host.cores for host in made.hosts)} cores, commit {made.commit[:12]}"
    print(f"{size}, scheduler {made.scheduler}; tasks that changed something: {changed}")


@cluster.command("status")
def status() -> None:
    """Show the hosts: cores, what runs, what each can do. Ends with 1 if one is off."""
    known = clusters.read()
    make_ready(Progress(), "cluster")  # installs Dask
    text, all_on = clusters.status(known)
    print(text)
    raise typer.Exit(Exit.PASS if all_on else Exit.FAIL)


@cluster.command("manifest")
def manifest(
    name: SweepArgument,
    set_: SetOption = [],  # noqa: B006 (typer copies it)
    quick: QuickOption = False,
    parts: Annotated[int, typer.Option(min=1, max=10_000, help="Pods, each with a part.")] = 8,
    cores: Annotated[int, typer.Option(min=1, max=1024, help="Of each pod.")] = 1,
    memory: Annotated[str, typer.Option(help="Of each pod, as Kubernetes has it.")] = "1Gi",
    claim: Annotated[str, typer.Option(help="The claim of a volume that all pods may write to.")] = "ncp-testbed",
    image: Annotated[str, typer.Option(help="Has git, bash and Python.")] = kubernetes.IMAGE,
) -> None:
    """Print a sweep as an Indexed Job of Kubernetes, and how its parts are put together."""
    from testbed.study.hosts import deploy
    from testbed.study.kinds.sweep_file import load

    load(name, set_, quick=quick)  # bad input ends here
    if files.is_path(name):
        raise BadInput(
            "cluster.pods-need-a-sweep", f"{name}: should be a sweep of the checkout: pods have nothing else"
        )
    options = [*(f"--set={assignment}" for assignment in set_), *(["--quick"] if quick else [])]
    pods: dict[str, Any] = {"parts": parts, "cores": cores, "memory": memory, "claim": claim, "image": image}
    print(kubernetes.manifest(name, options, deploy.head_commit(), **pods), end="")


@cluster.command("down")
def down(keep_going: KeepGoing = False) -> None:
    """Stop the services on all hosts and remove the files that `up` put there, and only those."""
    from testbed.study.hosts import deploy

    print(f"the hosts are as before; {deploy.down(Progress(), go_on=keep_going)} tasks changed something")
