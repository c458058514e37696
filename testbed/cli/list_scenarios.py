"""``list``: the scenarios that there are."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("list")
    def list_() -> None:
        """List the scenarios, a line each."""
        from testbed.errors import BadInput
        from testbed.scenario.load import available, load

        for path in available():
            try:
                scenario = load(str(path)).scenario
                print(
                    f"{path.stem:<20} {scenario.title}"
                    + (f"  [{scenario.source}]" if scenario.source else "")
                )
            except BadInput as error:
                print(f"{path.stem:<20} (not valid: {error.message.splitlines()[0]})")
