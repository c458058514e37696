"""``python -m dashboards.check [FOLDER]``: opens every dashboard in a real Grafana, as a user would.

Grafana is the one at ``NCP_TESTBED_GRAFANA_URL``. Each dashboard is opened with nothing chosen, in both themes, at
1280 and 1920 pixels; when its panels have their data a picture goes to FOLDER. From each, the links of the menu are
followed. Then come the pages of an old run, of a broken and a virtual one, and of one that is on. It fails on any panel
with an error, and on any that draws nothing and should. Exit 0: all is well; 1: not so; 4: no Grafana answers, or no
browser.
"""

import importlib.util
import io
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from PIL import Image

from dashboards import source
from dashboards.boards import DASHBOARDS
from dashboards.document import uid_of
from dashboards.panels import STATES
from testbed.errors import CannotRun, TestbedError
from testbed.exit_codes import Exit
from testbed.machine.browser import required
from testbed.machine.provisioning import make_ready
from testbed.runtime.progress import Progress
from testbed.series import influxql
from testbed.series.tables import BOARDS, LATEST, MEASUREMENT
from testbed.services import grafana

WIDTHS_PX, THEMES = (1280, 1920), ("dark", "light")
HEIGHT_PX = 4500
"""More than the longest dashboard: Grafana asks only for what can be seen."""

MARGIN_PX = 8
"""Below the last panel in a picture."""

LOADED_WITHIN_S, LOOK_S = 90.0, 1.0

MAY_BE_EMPTY = {
    "convergence": {"Settled after", "Database is behind by", "Largest error", "Ratio of the windows"}
    | {"Checks that failed", "Checks"},
    "links": {"Calibration", "Lateness over the whole run", "Lateness, 99th percentile of each interval", "Host"},
    "tcp": {"Goodput of iperf3"},
    "ndn": {"Send queues, by the kernel"},
    "fleet": {"Passed in a day"},
}
"""Panels without data in a run that is virtual, on, short, or of a policy without a law."""

RUNS = {
    "an old run": "\"state\" = 'pass' ORDER BY time LIMIT 1",
    "a broken run": "\"state\" = 'error' ORDER BY time DESC LIMIT 1",
    "a virtual run": "\"state\" = 'pass' AND \"engine\" != 'mininet' ORDER BY time DESC LIMIT 1",
    "a run that is on": "\"state\" = 'on' ORDER BY time DESC LIMIT 1",
}
"""Runs whose pages are opened: conditions of the list of runs."""

# Grafana 9.3 has the first of each pair, later ones the others. A plot's curves are pixels only, but for its legend;
# its axes and grid are grey.
_PANELS = """
(() => [...document.querySelectorAll('section.panel-container, section[data-testid^="data-testid Panel header"]')]
  .map(panel => ({
    title: (panel.getAttribute('aria-label') || '').replace(/ panel$/, '')
      || (panel.getAttribute('data-testid') || '').replace('data-testid Panel header ', ''),
    error: !!panel.querySelector('.panel-info-corner--error, [data-testid="data-testid Panel status error"]'),
    loading: !!panel.querySelector('.panel-loading, [aria-label="Panel loading bar"]'),
    text: panel.innerText,
    cells: [...panel.querySelectorAll('[role="cell"], td, [role="gridcell"]')]
      .filter(cell => !['', '–'].includes(cell.innerText.trim())).length,
    series: panel.querySelectorAll(
      '[aria-label^="VizLegend series"], [data-testid^="data-testid VizLegend series"]').length,
    colored: [...panel.querySelectorAll('canvas')].filter(canvas => canvas.width * canvas.height)
      .reduce((sum, canvas) => {
        const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        for (let i = 0; i < all.length; i += 4)
          sum += all[i + 3] > 99 && Math.abs(all[i] - all[i + 1]) + Math.abs(all[i + 1] - all[i + 2]) > 40;
        return sum;
      }, 0),
  })))()
"""
_BOTTOM = """
Math.max(1, ...[...document.querySelectorAll('.react-grid-item')].map(item => item.getBoundingClientRect().bottom))
"""
_MENU = "[...new Set([...document.querySelectorAll('a[href*=\"/d/ncp-\"]')].map(link => link.getAttribute('href')))]"


@dataclass(frozen=True)
class Seen:
    """A panel on the page: ``text`` is all that can be read in it; then numbers of a table's cells with text, of series
    in a plot's legend, and of pixels in a colour, as curves and states have, and axes have not."""

    title: str
    error: bool
    loading: bool
    text: str
    cells: int
    series: int
    colored: int

    def shows_data(self, panel: dict[str, Any]) -> bool:
        """Whether it draws something; ``panel`` is its JSON."""
        text = self.text.replace(self.title, "", 1).strip()
        if any(nothing in text for nothing in ("No data", panel["fieldConfig"]["defaults"]["noValue"])):
            return False
        drawn = {"table": self.cells, "timeseries": min(self.series, self.colored), "status-history": self.colored}
        return drawn.get(panel["type"], len(text)) > 0


def problems(seen: Sequence[Seen], board: dict[str, Any], may_be_empty: set[str], verdict: str = "") -> list[str]:
    """Faults of the visible panels, a line each; ``board`` is the dashboard's JSON, ``verdict`` what it has to say."""
    found = [f"{panel.title}: shows an error" for panel in seen if panel.error or "invalid time" in panel.text]
    found += [f"{panel.title}: still loads" for panel in seen if panel.loading]
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    for name in dict.fromkeys(panel["title"] for panel in panels):
        # Titles of repeated panels are those of links and rows; a figure and a plot may have the same.
        title, of_name = re.sub(r"\\\$\w+", ".+", re.escape(name)), [p for p in panels if p["title"] == name]
        there = [one for one in seen if re.fullmatch(title, one.title)]
        if len(there) < len(of_name) and "$" not in name:
            found.append(f"{name}: is not on the page")
        if name not in may_be_empty:
            found += [f"{one.title}: is without data" for one in there if not any(map(one.shows_data, of_name))]
        if name == "Verdict":
            found += [f"Verdict: is not {verdict}" for one in there if verdict not in one.text]
    return found


def check(browser: Any, base: str, pictures: Path | None) -> list[str]:
    """All pages; what is wrong, a line each with the page, width and theme."""
    found: list[str] = []
    runs = influxql.identifier(MEASUREMENT)

    def look(
        what: str, name: str, address: str, view: Sequence[Any], *, broken: bool = False, verdict: str = ""
    ) -> Any:
        """Open a page of a dashboard; the addresses that its menu leads to."""
        (theme, width), board = view, DASHBOARDS[name]
        page = browser.new_page(viewport={"width": width, "height": HEIGHT_PX})
        page.goto(f"{base}{address}{'&' if '?' in address else '?'}theme={theme}")
        may_be_empty = {panel["title"] for panel in board["panels"]} - {"Recent runs", "Verdict"} if broken else set()
        wrong = problems(_loaded(page), board, may_be_empty | MAY_BE_EMPTY.get(name, set()), verdict)
        print(f"{what} at {width} px, {theme}: {len(wrong)} problems", flush=True)
        found.extend(f"{what} at {width} px, {theme}: {text}" for text in wrong)
        if pictures is not None and "?" not in address:
            height_px = int(page.evaluate(_BOTTOM)) + MARGIN_PX
            shot = page.screenshot(clip={"x": 0, "y": 0, "width": width, "height": height_px})
            Image.open(io.BytesIO(shot)).save(pictures / f"{name}-{width}-{theme}.webp")
        menu: list[str] = []
        for link in (link for link in board["links"] if link["asDropdown"]):  # of which one is open at a time
            page.get_by_text(link["title"], exact=True).first.click()
            page.wait_for_timeout(LOOK_S * 1000)
            menu += page.evaluate(_MENU)
        page.close()
        return menu

    has = {
        name: name not in BOARDS
        or _first(base, f'SELECT "run_id" FROM {runs} WHERE "choices" =~ / {LATEST}:{name} / LIMIT 1')
        for name in DASHBOARDS
    }
    views = list(product(THEMES, WIDTHS_PX))
    for name in (name for name, some in has.items() if some):
        menu = [look(name, name, f"/d/{uid_of(name)}", view) for view in views][-1]
        linked = {to: urlsplit(href) for href in menu for to in has if f"/d/{uid_of(to)}" in href}
        found += [f"{name}: its menu does not lead to {to}" for to in has if to not in linked]
        for to in (to for to in linked if has[to]):
            look(f"{name} → {to}", to, f"/d/{uid_of(to)}?{linked[to].query}", views[0])
    missing = [name for name, some in has.items() if not some]
    for kind, condition in RUNS.items():
        run = _first(base, f'SELECT "run_id" FROM {runs} WHERE "scenario" != \'\' AND {condition}')
        if not run:
            missing.append(kind)
            continue
        of_run = f"FROM {runs} WHERE {influxql.tag_is('run', run)}"
        board, state = (_first(base, f'SELECT "{field}" {of_run}') for field in ("board", "state"))
        address = f"/d/{uid_of(board)}?{urlsplit(grafana.run_url(board, run)).query}"
        look(f"{kind} ({run})", board, address, views[0], broken=state in ("error", "on"), verdict=STATES[state][0])
    print(*(f"{what}: not opened, no run here is one or has anything for it" for what in missing), sep="\n", flush=True)
    return found


def _loaded(page: Any) -> list[Seen]:
    """The panels, when none loads any more and none changes."""
    until_s = time.monotonic() + LOADED_WITHIN_S
    before: list[Seen] = []
    while True:
        time.sleep(LOOK_S)
        seen = [Seen(**panel) for panel in page.evaluate(_PANELS)]
        still = not seen or any(panel.loading for panel in seen)
        if (not still and seen == before) or time.monotonic() > until_s:
            return seen
        before = seen


def _first(base: str, query: str) -> str:
    """The first value of a query's answer, by Grafana's own data source; "" without one."""
    request = {"from": "0", "to": str(time.time_ns() // 1_000_000), "queries": [source.target(query, rows=True)]}
    answer = requests.post(f"{base}/api/ds/query", json=request, timeout=30)
    answer.raise_for_status()
    frames = answer.json()["results"]["A"].get("frames", [])
    values = [frame["data"]["values"][-1] for frame in frames if frame["data"]["values"]]
    return next((str(column[0]) for column in values if column), "")


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
        if importlib.util.find_spec("playwright") is None:
            make_ready(Progress(), "test")
        from playwright.sync_api import sync_playwright
    except TestbedError as error:
        print(f"{error.message}\n{error.hint}".rstrip(), file=sys.stderr)
        return int(error.exit_code)
    with sync_playwright() as playwright:
        found = check(playwright.chromium.launch(executable_path=path, args=["--disable-gpu"]), base, pictures)
    print(*found, f"{'FAIL' if found else 'PASS'} dashboards in Grafana {version} at {base}", sep="\n")
    return int(Exit.FAIL if found else Exit.PASS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
