"""``docs``: the site of docs/, built by MkDocs in an environment of its own, or served while pages are written."""

import os
import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed import paths
from testbed.errors import RunFailed
from testbed.machine.machine import SITE
from testbed.runtime.progress import Progress

SETTINGS = Path(__file__).with_name("site") / "mkdocs.yml"


def docs(
    serve: Annotated[bool, typer.Option("--serve", help="Serve it until Ctrl-C, each page as it is written.")] = False,
    address: Annotated[str, typer.Option(help="With --serve: where.")] = "127.0.0.1:8000",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder; else .build/site.")] = None,
) -> None:
    """Build the documentation as a site that needs no network, with every link checked."""
    from testbed.cli.outcome import shown
    from testbed.machine.provisioning import make_ready

    make_ready(Progress(), "docs")
    if serve:
        raise typer.Exit(serve_site(address))
    print(shown(build_site(output.resolve() if output else paths.CHECKOUT / ".build" / "site")))


def build_site(into: Path) -> Path:
    """Make the site and return its first page.

    Raises:
        RunFailed: a page, a link or an anchor is not there, with MkDocs' words.
    """
    done = _mkdocs(
        "build", "--clean", "--site-dir", str(into), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith(("WARNING", "ERROR", "  - "))]
        text = "\n".join(said) or done.stderr.strip()[-2000:]
        raise RunFailed("docs.site-not-built", f"the site can't be built: {text}")
    return into / "index.html"


def serve_site(address: str) -> int:
    """Serve the site until Ctrl-C, each page as it is written; returns MkDocs' exit code."""
    return _mkdocs("serve", "--dev-addr", address).returncode


def _mkdocs(verb: str, *options: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [str(SITE / "bin" / "python"), "-m", "mkdocs", verb, "--config-file", str(SETTINGS), "--strict", *options]
    # The testbed's own path would hide nothing here, but a package of that name might.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = {**own, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=paths.CHECKOUT, env=environment, check=False, **how)
