"""``docs``: the site of docs/."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from testbed.runtime.progress import Progress


def docs(
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it until Ctrl-C, each page up to date as you write it.")
    ] = False,
    address: Annotated[
        str, typer.Option("--address", metavar="HOST:PORT", help="With --serve: where.")
    ] = "127.0.0.1:8000",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The site's folder; without it, .build/site.")
    ] = None,
) -> None:
    """Build the documentation as a site that needs no network, with every link checked."""
    from testbed.cli.outcome import shown
    from testbed.cli.site import site
    from testbed.machine import make_ready

    make_ready(Progress(), "docs")
    if serve:
        raise typer.Exit(site.serve(address))
    print(shown(site.build(output.resolve() if output else site.BUILT)))
