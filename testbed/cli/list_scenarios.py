"""``list``: the scenarios, tables and sweeps that there are."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("list")
    def list_() -> None:
        """List the scenarios, tables and sweeps, a line each."""
        from testbed.errors import BadInput
        from testbed.matrix import load as tables
        from testbed.scenario.load import available, load
        from testbed.sweep import load as sweeps

        for path in available():
            try:
                scenario = load(str(path)).scenario
                print(f"{path.stem:<20} {scenario.title}" + (f"  [{scenario.source}]" if scenario.source else ""))
            except BadInput as error:
                print(f"{path.stem:<20} (not valid: {error.message.splitlines()[0]})")
        for path in tables.available():
            table = tables.load(path.stem).table
            print(f"{path.stem:<20} {table.title}" + (f"  [{table.source}]" if table.source else "") + "  (table)")
        for path in sweeps.available():
            sweep = sweeps.load(path.stem).sweep
            print(f"{path.stem:<20} {sweep.title}" + (f"  [{sweep.source}]" if sweep.source else "") + "  (sweep)")
