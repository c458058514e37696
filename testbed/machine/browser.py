"""Where this machine has a browser, which prints reports and in which tests look at them."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The browser's path: NCP_TESTBED_BROWSER's, or the first that is installed; None without one."""
    names = (os.environ["NCP_TESTBED_BROWSER"],) if os.environ.get("NCP_TESTBED_BROWSER") else NAMES
    return next((path for name in names if (path := shutil.which(name))), None)
