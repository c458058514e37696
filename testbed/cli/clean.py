"""``clean``: removes what runs that are over left behind, and only that."""

from __future__ import annotations

import os
import sys

import typer

from testbed.errors import CannotRun, Exit


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("clean")
    def clean() -> None:
        """Remove namespaces, containers, processes and folders of runs that were killed. Results are kept."""
        from testbed.runner import live

        if os.geteuid() != 0:
            raise CannotRun("removing namespaces needs root", "Try: sudo ./run.sh clean")
        on = live.holder()
        found = live.remove_leftovers(live.docker_client)
        if on is not None:
            print(f"{on} is running; it removes what it has made")
        for what in found.things:
            print(f"removed {what}")
        for problem in found.problems:
            print(f"error: {problem}", file=sys.stderr)
        if not found.things and not found.problems:
            print("nothing to remove" if on is None else "nothing else to remove")
        raise typer.Exit(Exit.FAIL if found.problems else Exit.PASS)
