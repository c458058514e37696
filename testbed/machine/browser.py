"""This machine's browser, which prints reports, and in which tests look at pages."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from testbed.errors import CannotRun, RunFailed

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PRINTED_WITHIN_S = 120.0
"""A browser that has not printed a page by then has hung, on however busy a machine."""


class NoBrowser(CannotRun):
    """There is no Chromium or Chrome on this machine."""


def find() -> str | None:
    """The browser's path: NCP_TESTBED_BROWSER's, or the first that is installed; None without one."""
    names = (os.environ["NCP_TESTBED_BROWSER"],) if os.environ.get("NCP_TESTBED_BROWSER") else NAMES
    return next((path for name in names if (path := shutil.which(name))), None)


def required() -> str:
    """The browser's path; raises :class:`NoBrowser` without one."""
    if path := find():
        return path
    raise NoBrowser(
        "browser.none",
        f"no browser: none of {', '.join(NAMES)} is installed",
        "Install one, e.g. apt-get install chromium, or name one with NCP_TESTBED_BROWSER.",
    )


def print_pdf(page: Path, to: Path) -> None:
    """Print an HTML file as its print style says, with an empty profile that is deleted afterwards. What ``to`` held
    before is deleted first.

    Raises:
        NoBrowser: there is none.
        RunFailed: it failed or hung.
    """
    with tempfile.TemporaryDirectory(prefix="ncp-browser-", ignore_cleanup_errors=True) as profile:
        command = [required(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={to.resolve()}"]
        environment, log = {**os.environ, "HOME": profile, "XDG_CONFIG_HOME": profile}, Path(profile, "log")
        to.unlink(missing_ok=True)
        try:
            with log.open("wb") as output:  # no pipe: a process of a browser that hung would keep it open
                done = subprocess.run(
                    [*command, page.resolve().as_uri()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=environment,
                    timeout=PRINTED_WITHIN_S,
                )
        except subprocess.TimeoutExpired:
            raise RunFailed(
                "browser.timeout", f"the browser did not print {page} within {PRINTED_WITHIN_S:g} s"
            ) from None
        if done.returncode or not to.is_file():
            lines = log.read_text(errors="replace").strip().splitlines()
            raise RunFailed(
                "browser.failed",
                f"the browser did not print {page}: {lines[-1][:200] if lines else f'exit code {done.returncode}'}",
            )
