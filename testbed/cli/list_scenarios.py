"""``list``: the scenarios, tables and sweeps that there are."""

from __future__ import annotations

import typer

from testbed.errors import BadInput
from testbed.scenario import files


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("list")
    def list_() -> None:
        """List the scenarios, tables and sweeps, a line each."""
        shipped = {"": files.scenarios(), "link": files.links(), "table": files.tables(), "sweep": files.sweeps()}
        for kind, found in shipped.items():
            for path in found:
                try:
                    heading = files.heading(path)
                except BadInput as error:
                    print(f"{path.stem:<20} ({error.message})")
                    continue
                source = f"  [{heading['source']}]" if heading.get("source") else ""
                print(f"{path.stem:<20} {heading.get('title', '')}{source}" + (f"  ({kind})" if kind else ""))
