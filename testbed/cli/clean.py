"""``clean``: removes what runs that are over left behind, and only that."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from testbed.errors import CannotRun
from testbed.exit_codes import Exit


def clean(
    hosts: Annotated[
        str, typer.Option("--hosts", metavar="INVENTORY", help="On the machines of an inventory, what runs left there.")
    ] = "",
) -> None:
    """Remove namespaces, containers, processes and folders of runs that were killed. Results are kept."""
    from testbed.runtime import leftovers, lock

    if hosts:
        raise typer.Exit(_on_machines(Path(hosts)))

    if os.geteuid() != 0:
        raise CannotRun("clean.needs-root", "removing namespaces needs root", "Try: sudo ./run.sh clean")
    on = lock.holder()
    found = leftovers.remove_leftovers(leftovers.docker_client)
    if on is not None:
        print(f"{on} is running; it removes what it has made")
    for what in found.things:
        print(f"removed {what}")
    for problem in found.problems:
        print(f"error: {problem}", file=sys.stderr)
    if not found.things and not found.problems:
        print("nothing to remove" if on is None else "nothing else to remove")
    raise typer.Exit(Exit.FAIL if found.problems else Exit.PASS)


def _on_machines(file: Path) -> int:
    """Leftovers on other machines of runs that this machine led."""
    from testbed.machine import inventory
    from testbed.remote.machine import remove_leftovers
    from testbed.runtime import lock

    machines = {
        name: variables for name, variables in inventory.read(file).hosts.items() if not inventory.here(variables)
    }
    if (on := lock.holder()) is not None:
        raise CannotRun(
            "clean.run-in-progress",
            "{run} is running; it removes what it has made",
            "Wait for it, or stop it with Ctrl-C.",
            run=on,
        )
    removed, problems = remove_leftovers(machines)
    for what in removed:
        print(f"removed {what}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if not removed and not problems:
        print("nothing to remove")
    return Exit.FAIL if problems else Exit.PASS
