"""``python -m dashboards.check [FOLDER]``: opens every dashboard in a real Grafana, as a user would.

Grafana is the one at ``NCP_TESTBED_GRAFANA_URL``. Each dashboard is opened with nothing chosen, in both themes, at 1280
and 1920 pixels; when its panels have their data a picture goes to FOLDER. It fails on any panel with an error,
and on any without data that should have some. Exit 0: all is well; 1: not so; 4: no Grafana answers, or no browser.
"""

import io
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import requests
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from dashboards import source
from dashboards.boards import DASHBOARDS
from dashboards.document import uid_of
from dashboards.generate import FOLDER as OWN
from testbed.errors import CannotRun, TestbedError
from testbed.exit_codes import Exit
from testbed.machine.browser import required
from testbed.series.tables import BOARDS, LATEST, MEASUREMENT
from testbed.services import grafana

WIDTHS_PX, THEMES = (1280, 1920), ("dark", "light")
HEIGHT_PX = 4500
"""More than the longest dashboard: Grafana asks only for what can be seen."""

MARGIN_PX = 8
"""Below the last panel in a picture."""

LOADED_WITHIN_S = 90.0

MAY_BE_EMPTY = {
    "convergence": {"Settled after", "Database is behind by", "Largest error", "Ratio of the windows"}
    | {"Checks that failed", "Checks"},
    "links": {"Calibration", "Lateness over the whole run", "Lateness, 99th percentile of each interval", "Host"},
    "tcp": {"Goodput of iperf3"},
    "ndn": {"Send queues, by the kernel"},
    "fleet": {"Passed in a day"},
}
"""Panels without data in a run that is virtual, on, short, or of a policy without a law."""

# Grafana 9.3 has the first of each pair, later ones the second.
_PANELS = """
(() => [...document.querySelectorAll('section.panel-container, section[data-testid^="data-testid Panel header"]')]
  .map(panel => ({
    title: (panel.getAttribute('aria-label') || '').replace(/ panel$/, '')
      || (panel.getAttribute('data-testid') || '').replace('data-testid Panel header ', ''),
    error: !!panel.querySelector('.panel-info-corner--error, [data-testid="data-testid Panel status error"]'),
    loading: !!panel.querySelector('.panel-loading, [aria-label="Panel loading bar"]'),
    text: panel.innerText,
    drawn: !!panel.querySelector('canvas, table, [role="table"], [role="row"]'),
  })))()
"""
_BOTTOM = """
Math.max(1, ...[...document.querySelectorAll('.react-grid-item')].map(item => item.getBoundingClientRect().bottom))
"""


@dataclass(frozen=True)
class Seen:
    """A panel on the page: ``text`` is all that can be read in it."""

    title: str
    error: bool
    loading: bool
    text: str
    drawn: bool


def problems(seen: Sequence[Seen], board: dict[str, Any], may_be_empty: set[str]) -> list[str]:
    """Faults of the visible panels, a line each; ``board`` is the dashboard's JSON."""
    found = [f"{panel.title}: shows an error" for panel in seen if panel.error]
    found += [f"{panel.title}: still loads" for panel in seen if panel.loading]
    # Titles of repeated panels are those of links and rows.
    expected = [panel["title"] for panel in board["panels"] if panel["type"] != "row" and "$" not in panel["title"]]
    titles = {panel.title for panel in seen}
    found += [f"{title}: is not on the page" for title in expected if title not in titles]
    words = {"No data", *(p["fieldConfig"]["defaults"]["noValue"] for p in board["panels"] if "fieldConfig" in p)} - {
        "–"
    }
    empty = [panel.title for panel in seen if any(word in panel.text for word in words)]
    return found + [f"{title}: is without data" for title in empty if title not in may_be_empty]


def check(browser: Browser, base: str, pictures: Path | None) -> list[str]:
    """All dashboards; what is wrong, a line each with the dashboard, width and theme."""
    found = []
    for name in DASHBOARDS:
        if name in BOARDS and not _has_runs(base, name):
            print(f"{name}: not opened, no run here has anything for it", flush=True)
            continue
        board = json.loads((OWN / "json" / f"{name}.json").read_text())
        for theme, width in product(THEMES, WIDTHS_PX):
            page = browser.new_page(viewport={"width": width, "height": HEIGHT_PX})
            page.goto(f"{base}/d/{uid_of(name)}?orgId=1&kiosk&theme={theme}")
            seen = _loaded(page)
            wrong = problems(seen, board, MAY_BE_EMPTY.get(name, set()))
            if pictures is not None:
                height_px = int(page.evaluate(_BOTTOM)) + MARGIN_PX
                shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height_px})
                Image.open(io.BytesIO(shot)).save(pictures / f"{name}-{width}-{theme}.webp")
            page.close()
            print(f"{name} {width} {theme}: {len(seen)} panels, {len(wrong)} problems", flush=True)
            found += [f"{name} at {width} px, {theme}: {text}" for text in wrong]
    return found


def _loaded(page: Page) -> list[Seen]:
    """The panels, when none loads any more and none changes."""
    until_s = time.monotonic() + LOADED_WITHIN_S
    before: list[Seen] = []
    while True:
        time.sleep(1.0)
        seen = [Seen(**panel) for panel in page.evaluate(_PANELS)]
        still = not seen or any(panel.loading for panel in seen)
        if (not still and seen == before) or time.monotonic() > until_s:
            return seen
        before = seen


def _has_runs(base: str, name: str) -> bool:
    """Whether the list of runs has one that the dashboard shows."""
    query = f'SELECT "run_id" FROM "{MEASUREMENT}" WHERE "choices" =~ / {LATEST}:{name} / LIMIT 1'
    request = {"from": "0", "to": str(time.time_ns() // 1_000_000), "queries": [source.target(query, rows=True)]}
    answer = requests.post(f"{base}/api/ds/query", json=request, timeout=30)
    answer.raise_for_status()
    frames = answer.json()["results"]["A"].get("frames", [])
    return any(column for frame in frames for column in frame["data"]["values"])


def _answers(base: str) -> str:
    """Grafana's version; CannotRun where none answers."""
    try:
        return str(requests.get(f"{base}/api/health", timeout=10).json()["version"])
    except (requests.RequestException, ValueError, KeyError) as error:
        raise CannotRun(
            "grafana.does-not-answer",
            f"no Grafana answers at {base}: nothing was checked ({type(error).__name__})",
            "start one with ./run.sh up, or name yours with NCP_TESTBED_GRAFANA_URL",
        ) from error


def main(arguments: Sequence[str]) -> int:
    """Check, and say what was found; returns the exit code."""
    pictures = Path(arguments[0]) if arguments else None
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
    try:
        base = grafana.base_url()
        version, path = _answers(base), required()
    except TestbedError as error:
        print(f"{error.message}\n{error.hint}".rstrip(), file=sys.stderr)
        return int(error.exit_code)
    with sync_playwright() as playwright:
        found = check(playwright.chromium.launch(executable_path=path, args=["--disable-gpu"]), base, pictures)
    print(*found, f"{'FAIL' if found else 'PASS'} dashboards in Grafana {version} at {base}", sep="\n")
    return int(Exit.FAIL if found else Exit.PASS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
