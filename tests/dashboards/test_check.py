"""The check of dashboards in a real Grafana: what it takes for wrong, on pages with the marks that Grafana's have."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dashboards import check
from dashboards.boards import DASHBOARDS
from dashboards.generate import FOLDER
from dashboards.panels import NOTHING, STATES
from testbed.exit_codes import Exit
from testbed.machine.browser import find

BOARD = json.loads((FOLDER / "json" / "convergence.json").read_text())
TITLES = [panel["title"] for panel in BOARD["panels"] if panel["type"] != "row"]


def seen(**changes: Any) -> list[check.Seen]:
    """All panels as they should be, but one."""
    title = changes.pop("title", "Windows")
    fine: dict[str, Any] = {"error": False, "loading": False, "text": "4 K", "cells": 9, "series": 2, "colored": 99}
    return [check.Seen(title=t, **(fine | (changes if t == title else {}))) for t in TITLES]


def test_a_page_that_is_as_it_should_be():
    assert check.problems(seen(), BOARD, set()) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"error": True}, "Windows: shows an error"),
        ({"loading": True}, "Windows: still loads"),
        ({"text": "Windows\nNo data"}, "Windows: is without data"),
        ({"text": f"Windows\n{NOTHING}"}, "Windows: is without data"),
        ({"title": "Verdict", "text": "Verdict\nNO RUN YET"}, "Verdict: is without data"),
        ({"title": "Verdict", "text": "Verdict"}, "Verdict: is without data"),
        ({"title": "Checks", "cells": 0}, "Checks: is without data"),
        ({"series": 0}, "Windows: is without data"),
        ({"colored": 0}, "Windows: is without data"),
        ({"text": "Windows invalid time override"}, "Windows: shows an error"),
    ],
)
def test_a_panel_that_is_not(changes, says):
    assert check.problems(seen(**changes), BOARD, {"Settled after"}) == [says]


def test_a_panel_that_may_be_empty_may_still_not_have_an_error():
    panel = {"title": "Checks", "text": "No data"}
    assert check.problems(seen(**panel), BOARD, {"Checks"}) == []
    assert check.problems(seen(**panel, error=True), BOARD, {"Checks"}) == ["Checks: shows an error"]


def test_a_panel_that_is_not_on_the_page():
    assert check.problems(seen()[1:], BOARD, set()) == ["Recent runs: is not on the page"]


def test_a_matrix_without_a_cell_is_empty_whatever_its_axes_say():
    """Its rows' and days' names are drawn where there is no cell."""
    board = json.loads((FOLDER / "json" / "fleet.json").read_text())
    board["panels"] = [panel for panel in board["panels"] if panel["type"] == "status-history"]
    (title,) = (panel["title"] for panel in board["panels"])
    panel: dict[str, Any] = {"title": title, "error": False, "loading": False, "text": title, "cells": 0, "series": 0}
    assert check.problems([check.Seen(colored=500, **panel)], board, set()) == []
    assert check.problems([check.Seen(colored=0, **panel)], board, set()) == [f"{title}: is without data"]


def test_a_run_is_shown_with_its_own_verdict():
    page = seen(title="Verdict", text="Verdict\nPASS")
    assert check.problems(page, BOARD, set(), "PASS") == []
    assert check.problems(page, BOARD, set(), "ERROR") == ["Verdict: is not ERROR"]


def test_what_may_be_empty_is_there_at_all():
    for name, titles in check.MAY_BE_EMPTY.items():
        board = json.loads((FOLDER / "json" / f"{name}.json").read_text())
        assert titles <= {panel["title"] for panel in board["panels"]}


PAGE = """<html><body>
<script>function draw(id, color) {{ const at = document.getElementById(id).getContext('2d');
at.strokeStyle = '#888888'; at.strokeRect(2, 2, 90, 40); at.fillStyle = color; at.fillRect(5, 5, 80, 30); }}</script>
<button onclick="document.getElementById('menu').style.display = 'block'">One run</button>
<button onclick="document.getElementById('menu').style.display = 'block'">All runs</button>
<div id="menu" style="display: none">{menu}</div>{panels}</body></html>"""
FORMS = {
    "9.3": '<section class="panel-container" aria-label="{title} panel">{title} {shown}</section>',
    "later": '<section data-testid="data-testid Panel header {title}">{title} {shown}</section>',
}
ERRORS = {
    "9.3": '<button class="panel-info-corner panel-info-corner--error"></button>',
    "later": '<button data-testid="data-testid Panel status error"></button>',
}
LEGENDS = {
    "9.3": '<button aria-label="VizLegend series s1/1">s1/1</button>',
    "later": '<button data-testid="data-testid VizLegend series s1/1">s1/1</button>',
}
CELLS = {"9.3": '<div role="row"><div role="cell">r</div></div>', "later": '<div role="gridcell">r</div>'}
EACH_FORM = pytest.mark.parametrize("version", ["9.3", pytest.param("later", marks=pytest.mark.nightly)])


def panel_of(panel: dict[str, Any], made: dict[str, Any], state: str) -> str:
    """A panel as Grafana draws it, as far as the check looks."""
    version, title, empty = made["version"], panel["title"], panel["title"] in made["empty"]
    text = panel["fieldConfig"]["defaults"]["noValue"] if empty and made["says"] else ""
    canvas = f'<canvas id="{panel["id"]}" width="100" height="50"></canvas>'
    canvas += f"<script>draw({panel['id']}, '{'#666666' if empty else '#3b7fc4'}')</script>"
    if title == "Verdict":
        text = STATES[state][0]
    elif panel["type"] in ("timeseries", "status-history"):
        text += canvas + ("" if empty else LEGENDS[version])
    elif not empty:
        text += CELLS[version] if panel["type"] == "table" else "1"
    return FORMS[version].format(title=title, shown=text + (ERRORS[version] if title in made["errors"] else ""))


@pytest.fixture
def grafana(monkeypatch):
    """A server that answers as Grafana does. ``empty`` panels draw their axes only, and with ``says`` that they have no
    data; ``runs`` has a state for each run of the list."""
    made: dict[str, Any] = {"version": "9.3", "errors": (), "empty": (), "says": False, "menu": list(DASHBOARDS)}
    made |= {"runs": {"good": "pass", "bad": "error", "now": "on"}, "opened": []}

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/api/health":
                return self.say('{"version": "9.3.2"}')
            made["opened"].append(self.path)
            path = FOLDER / "json" / f"{re.split('[?/]', self.path.split('ncp-')[-1])[0]}.json"
            if not path.exists():
                return self.say("")
            run = (re.search("var-run=([^&]*)", self.path) or ["", "good"])[1]
            panels = [p for p in json.loads(path.read_text())["panels"] if p["type"] != "row"]
            return self.say(
                PAGE.format(
                    menu="".join(f'<a href="/d/ncp-{to}/a-slug?from=now-15m">{to}</a>' for to in made["menu"]),
                    panels="".join(panel_of(panel, made, made["runs"].get(run, "pass")) for panel in panels),
                ),
                "text/html",
            )

        def do_POST(self) -> None:
            (asked,) = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            state = re.search("\"state\" = '(\\w+)'", asked["query"])
            values = [run for run, known in made["runs"].items() if not state or known == state[1]]
            if asked["query"].startswith('SELECT "board"'):
                values = ["convergence"]
            elif asked["query"].startswith('SELECT "state"'):
                values = [known for run, known in made["runs"].items() if f"'{run}'" in asked["query"]]
            self.say(json.dumps({"results": {"A": {"frames": [{"data": {"values": [[0] * len(values), values]}}]}}}))

        def say(self, text: str, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("NCP_TESTBED_GRAFANA_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(check, "WIDTHS_PX", (1280,))
    monkeypatch.setattr(check, "THEMES", ("light",))
    monkeypatch.setattr(check, "LOOK_S", 0.1)
    monkeypatch.setattr(check, "HEIGHT_PX", 900)
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def two(monkeypatch, grafana):
    """Only two dashboards, which are faster looked at."""
    monkeypatch.setattr(check, "DASHBOARDS", {name: DASHBOARDS[name] for name in ("convergence", "fleet")})
    grafana["runs"] = {"good": "pass"}
    return grafana


with_browser = pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome")


@with_browser
def test_pages_are_opened_and_looked_at(grafana, monkeypatch, tmp_path, capsys):
    """One of each kind: of one run, of several, of no run. The NDN one has panels of the same title."""
    names = ("ndn", "compare", "fleet")
    monkeypatch.setattr(check, "DASHBOARDS", {name: DASHBOARDS[name] for name in (*names, "convergence")})
    code, said = check.main([str(tmp_path)]), capsys.readouterr().out
    assert code == Exit.PASS, said
    assert all((tmp_path / f"{name}-1280-light.webp").read_bytes()[8:12] == b"WEBP" for name in names)
    assert all(f"{name} → {to} at " in said for name in names for to in names)
    for run in ("an old run (good)", "a broken run (bad)", "a virtual run (good)", "a run that is on (now)"):
        assert run in said


@with_browser
@EACH_FORM
def test_an_error_on_a_page_is_seen_and_nothing_else(two, capsys, version):
    two["version"] = version
    assert check.main([]) == Exit.PASS, capsys.readouterr().out
    two["errors"] = ("Windows",)
    assert check.main([]) == Exit.FAIL
    said = capsys.readouterr().out
    assert "convergence at 1280 px, light: Windows: shows an error" in said
    assert "fleet at 1280 px, light: Windows" not in said


@with_browser
@EACH_FORM
def test_panels_that_draw_only_their_axes_are_seen(two, capsys, version):
    """As the matrix of verdicts was: a canvas with nothing on it, and no word of it."""
    empty = ("Windows", "Verdicts of $scenario", "Recent runs", "Mean goodput")
    two |= {"version": version, "empty": empty}
    assert check.main([]) == Exit.FAIL
    said = capsys.readouterr().out
    assert {title for title in [*TITLES, "Verdicts of $scenario"] if f"light: {title}: is without data" in said} == set(
        empty
    )


@with_browser
def test_a_broken_run_may_be_empty_and_must_say_so(two, capsys):
    two |= {"runs": {"bad": "error"}}
    two["empty"] = ("Windows",)
    check.main([])
    said = capsys.readouterr().out
    assert "a broken run (bad) at 1280 px, light: Windows" not in said
    assert "an old run: not opened" in said


@with_browser
def test_a_menu_that_does_not_lead_to_every_dashboard(two, capsys):
    two["menu"] = ["convergence"]
    assert check.main([]) == Exit.FAIL
    assert "convergence: its menu does not lead to fleet" in capsys.readouterr().out


@with_browser
def test_a_dashboard_without_a_run_of_its_kind_is_not_opened(two, capsys):
    two["runs"] = {}
    code, said = check.main([]), capsys.readouterr().out
    assert code == Exit.PASS, said
    assert "convergence: not opened" in said


def test_without_a_grafana_it_says_so(monkeypatch, capsys):
    monkeypatch.setenv("NCP_TESTBED_GRAFANA_URL", "http://127.0.0.1:9")
    assert check.main([]) == Exit.CANNOT_RUN
    assert "no Grafana answers at http://127.0.0.1:9" in capsys.readouterr().err
