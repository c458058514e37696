"""``shell``: a shell in a guest kernel, to look around in what ``--engine vkernel`` runs in."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from testbed.runtime.progress import Progress


def shell(
    engine: Annotated[  # noqa: ARG001 (there is one)
        Literal["vkernel"], typer.Option("--engine", help="The only one with a kernel of its own.")
    ] = "vkernel",
    command: Annotated[str, typer.Option("--command", "-c", help="Run this instead of an interactive shell.")] = "",
) -> None:
    """Open root's shell in a guest kernel; what it writes outside /out (a folder in /tmp) is gone afterwards."""
    from testbed.engines.vkernel.build import ready_kernel
    from testbed.engines.vkernel.shell import open_shell

    raise typer.Exit(open_shell(ready_kernel(Progress()), command))
