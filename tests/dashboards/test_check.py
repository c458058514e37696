"""The check of dashboards in a real Grafana: what it takes for wrong, on pages with the marks that Grafana's have."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dashboards import check
from dashboards.boards import DASHBOARDS
from dashboards.generate import FOLDER
from testbed.exit_codes import Exit
from testbed.machine.browser import find

BOARD = json.loads((FOLDER / "json" / "convergence.json").read_text())
TITLES = [panel["title"] for panel in BOARD["panels"] if panel["type"] != "row"]


def seen(**changes: Any) -> list[check.Seen]:
    """All panels as they should be, but one."""
    title = changes.pop("title", "Windows")
    fine: dict[str, Any] = {"error": False, "loading": False, "text": "4 K", "drawn": True}
    return [check.Seen(title=t, **(fine | (changes if t == title else {}))) for t in TITLES]


def test_a_page_that_is_as_it_should_be():
    assert check.problems(seen(), BOARD, set()) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"error": True}, "Windows: shows an error"),
        ({"loading": True}, "Windows: still loads"),
        ({"text": "Windows\nNo data"}, "Windows: is without data"),
        ({"text": "Windows\nNothing of this was sampled in the run that is chosen."}, "Windows: is without data"),
        ({"title": "Verdict", "text": "Verdict\nNO RUN"}, "Verdict: is without data"),
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


def test_what_may_be_empty_is_there_at_all():
    for name, titles in check.MAY_BE_EMPTY.items():
        board = json.loads((FOLDER / "json" / f"{name}.json").read_text())
        assert titles <= {panel["title"] for panel in board["panels"]}


OLD = '<section class="panel-container" aria-label="{title} panel">{title} {text}{error}</section>'
NEW = '<section data-testid="data-testid Panel header {title}">{title} {text}{error}</section>'
OLD_ERROR = '<button class="panel-info-corner panel-info-corner--error"></button>'
NEW_ERROR = '<button data-testid="data-testid Panel status error"></button>'


@pytest.fixture
def grafana(monkeypatch):
    """A server that answers as Grafana does, with pages whose panels are made of ``form`` and ``error``."""
    made: dict[str, Any] = {"form": OLD, "error": "", "runs": [["r"]]}

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/api/health":
                return self.say('{"version": "9.3.2"}')
            name = self.path.split("ncp-")[-1].split("?")[0]
            path = FOLDER / "json" / f"{name}.json"
            titles = (
                [p["title"] for p in json.loads(path.read_text())["panels"] if p["type"] != "row"]
                if path.exists()
                else []
            )
            parts = [
                made["form"].format(title=title, text="1", error=made["error"] if title == "Windows" else "")
                for title in titles
            ]
            return self.say(f"<html><body>{''.join(parts)}</body></html>", "text/html")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.say(json.dumps({"results": {"A": {"frames": [{"data": {"values": made["runs"]}}]}}}))

        def say(self, text: str, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("NCP_TESTBED_GRAFANA_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(check, "WIDTHS_PX", (1280,))
    monkeypatch.setattr(check, "THEMES", ("light",))
    yield made
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome")
def test_pages_are_opened_and_looked_at(grafana, tmp_path):
    assert check.main([str(tmp_path)]) == Exit.PASS
    for name in DASHBOARDS:
        assert (tmp_path / f"{name}-1280-light.webp").read_bytes()[8:12] == b"WEBP"


@pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome")
@pytest.mark.parametrize(("form", "error"), [(OLD, OLD_ERROR), (NEW, NEW_ERROR)], ids=["9.3", "later"])
def test_an_error_on_a_page_is_seen_and_nothing_else(grafana, monkeypatch, capsys, form, error):
    monkeypatch.setattr(check, "DASHBOARDS", {"convergence": DASHBOARDS["convergence"]})
    grafana["form"] = form
    assert check.main([]) == Exit.PASS
    grafana["error"] = error
    assert check.main([]) == Exit.FAIL
    assert "convergence at 1280 px, light: Windows: shows an error" in capsys.readouterr().out


@pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome")
def test_a_dashboard_without_a_run_of_its_kind_is_not_opened(grafana, capsys):
    grafana["runs"] = [[]]
    assert check.main([]) == Exit.PASS
    assert "ndn: not opened" in capsys.readouterr().out


def test_without_a_grafana_it_says_so(monkeypatch, capsys):
    monkeypatch.setenv("NCP_TESTBED_GRAFANA_URL", "http://127.0.0.1:9")
    assert check.main([]) == Exit.CANNOT_RUN
    assert "no Grafana answers at http://127.0.0.1:9" in capsys.readouterr().err
