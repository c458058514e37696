"""The pictures of the pages: ``python -m tests.docs.pictures`` makes them anew, with a run in virtual time.

Others have scripts of their own: ``cluster.svg`` (tests/cluster/picture.py), ``hosts.svg`` (tests/far/picture.py),
``asset-sizes.svg`` (tests/tcp/assets/distribution.py), ``dashboard-convergence.webp`` (dashboards/check.py, with a
Grafana).
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from testbed import paths
from tests.browser.look import chromium

FOLDER = paths.CHECKOUT / "docs" / "images"
TOPOLOGIES = {"topology-dumbbell.svg": "dumbbell", "topology-relays.svg": "relays"}
"""Each picture and its scenario."""
VERDICT_PX = (0, 240, 640, 812)
"""The verdict and the shares on the picture of the dashboard."""
REPORT_PX = (1280, 900)
"""Of a report what is to be seen first, in CSS pixels."""


def command(*arguments: str, results: Path) -> None:
    environment = {**os.environ, "NCP_TESTBED_RESULTS": str(results)}
    subprocess.run([str(paths.CHECKOUT / "run.sh"), *arguments], env=environment, check=True)


def topologies(into: Path) -> None:
    """Those of scenarios, by ``graph``."""
    for name, scenario in TOPOLOGIES.items():
        command("graph", scenario, "-o", str(into / name), results=into)


def verdict_of_dashboard(into: Path) -> None:
    """The part of the dashboard's picture that is legible at half of a page's width."""
    with Image.open(FOLDER / "dashboard-convergence.webp") as whole:
        whole.crop(VERDICT_PX).save(into / "dashboard-verdict.webp", quality=90)


def of_a_run(into: Path) -> None:
    """A run's plot of shares, and its report as it opens."""
    with tempfile.TemporaryDirectory() as results:
        command("run", "startup", "--engine", "sim", results=Path(results))
        folder = (Path(results) / "startup" / "latest").resolve()
        shutil.copyfile(folder / "plots" / "window-share.svg", into / "startup-shares.svg")
        with chromium() as browser:
            page = browser.new_page(viewport={"width": REPORT_PX[0], "height": REPORT_PX[1]})
            page.goto((folder / "report.html").as_uri())
            Image.open(io.BytesIO(page.screenshot())).save(into / "report.webp")


if __name__ == "__main__":
    topologies(FOLDER)
    verdict_of_dashboard(FOLDER)
    of_a_run(FOLDER)
