"""``up`` and ``down``: the database, which otherwise starts with the first run and stays."""

from __future__ import annotations

import os

import typer

from testbed.errors import CannotRun


def register(app: typer.Typer) -> None:
    """Add the verbs."""

    @app.command("up")
    def up() -> None:
        """Start InfluxDB (a run does so by itself)."""
        from testbed.doctor import make_ready
        from testbed.influx import server
        from testbed.runner.progress import Progress

        _need_root()
        make_ready(Progress(), "up")
        print(f"InfluxDB at {server.ensure().url}")

    @app.command("down")
    def down() -> None:
        """Stop the testbed's InfluxDB; its data stays."""
        from testbed.influx import server

        _need_root()
        print("InfluxDB stopped" if server.stop() else "InfluxDB was not running")


def _need_root() -> None:
    if os.geteuid() != 0:
        raise CannotRun(
            "the testbed's database runs under an account of its own, which needs root to start", "Use sudo."
        )
