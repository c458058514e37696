"""``clean``: removes what runs that are over left behind, and only that."""

from __future__ import annotations

import os

import typer

from testbed.errors import CannotRun


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("clean")
    def clean() -> None:
        """Remove namespaces, containers and records of runs that were killed. Results are kept."""
        from testbed.cli.leftovers import docker_client
        from testbed.runner.live import remove_leftovers

        if os.geteuid() != 0:
            raise CannotRun("removing namespaces needs root", "Try: sudo ./run.sh clean")
        removed = remove_leftovers(docker_client())
        for what in removed:
            print(f"removed {what}")
        if not removed:
            print("nothing to remove")
