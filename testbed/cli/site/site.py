"""Builds the site of docs/, or serves it while pages are written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from testbed import paths
from testbed.errors import RunFailed
from testbed.machine.machine import SITE as ENVIRONMENT

SETTINGS = Path(__file__).with_name("mkdocs.yml")
BUILT = paths.CHECKOUT / ".build" / "site"
"""Default folder of the site."""


def build(into: Path = BUILT) -> Path:
    """Make the site and return its first page.

    Raises:
        RunFailed: a page, a link or an anchor is not there, with MkDocs' words.
    """
    done = subprocess.run(
        [*_mkdocs("build"), "--strict", "--clean", "--site-dir", str(into)],
        cwd=paths.CHECKOUT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith(("WARNING", "ERROR", "  - "))]
        raise RunFailed(
            "docs.site-not-built",
            "the site can't be built: {said}",
            said="\n".join(said) or done.stderr.strip()[-2000:],
        )
    return into / "index.html"


def serve(address: str) -> int:
    """Serve the site until Ctrl-C, each page as it is written; returns MkDocs' exit code."""
    return subprocess.run(
        [*_mkdocs("serve"), "--strict", "--dev-addr", address], cwd=paths.CHECKOUT, env=_environment(), check=False
    ).returncode


def _mkdocs(verb: str) -> list[str]:
    return [str(ENVIRONMENT / "bin" / "python"), "-m", "mkdocs", verb, "--config-file", str(SETTINGS)]


def _environment() -> dict[str, str]:
    # The testbed's own path would hide nothing here, but a package of that name might.
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**own, "NO_MKDOCS_2_WARNING": "1"}
