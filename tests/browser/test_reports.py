"""Every kind of report in a real browser, at the widths of a phone, a tablet and a desktop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from testbed.archive.page import write_page
from testbed.archive.verify import unpacked
from testbed.cli.app import main
from testbed.errors import RunFailed
from testbed.machine.browser import find, print_pdf
from tests.browser.look import chromium, look

WIDTHS = (390, 820, 1280)
OLD = Path(__file__).parent.parent / "bundle" / "old" / "schema-1.zip"
pytestmark = pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


SWEEP = """
name: small
title: Small
scenario: startup
parameters: {ncp.send_window: [1MiB, 2MiB]}
set: {ncp.transfer: 2MiB}
policies: [nkp24]
seeds: 1
plots:
  - {figure: goodput_mib_s, x: ncp.send_window}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each kind, in virtual time and small."""
    place = tmp_path_factory.mktemp("results")
    (place / "small.yaml").write_text(SWEEP)
    small = ("--set", "ncp.transfer=1MiB")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCP_TESTBED_RESULTS", str(place))
        patch.setenv("NCP_TESTBED_STATE", str(place / "state"))
        patch.setenv("NCP_TESTBED_INFLUX_PORT", "18086")
        for arguments in (
            ("startup", "--engine", "sim", *small),
            ("speed-table", "--engine", "sim", "--repeat", "1", "--rows", "1,2", "--columns", "nkp24", *small),
            ("compare", str(place / "speed-table" / "latest" / "cells" / "1"), str(place / "startup" / "latest")),
            ("sweep", str(place / "small.yaml")),
            ("all", "--engine", "sim", "--quick", "--only", "nkp24-startup-law"),
        ):
            patch.setattr("sys.argv", ["run.sh", *arguments])
            main_ended(0 if arguments[0] in ("all", "sweep", "compare") else 1)
    return place


@pytest.mark.parametrize(
    ("name", "pictures"), [("startup", 6), ("speed-table", 1), ("compare", 4), ("small", 1), ("all", 1)]
)
def test_a_report_has_nothing_that_a_reader_would_stumble_over(browser, results, name, pictures) -> None:
    page = results / name / "latest" / "report.html"
    assert "<script" not in page.read_text()
    assert look(browser, page, WIDTHS[-1], "dark").problems == []
    for width in WIDTHS:
        found = look(browser, page, width)
        assert found.problems == [], (name, width)
        assert found.pictures >= pictures
        assert found.text > 400


def test_the_gallery_has_its_pictures(browser, results) -> None:
    for width in WIDTHS:
        found = look(browser, results / "speed-table" / "latest" / "gallery.html", width)
        assert found.problems == [], width
        assert found.pictures == 12


def test_the_picture_that_decides_is_on_the_first_screen(browser, results) -> None:
    for name in ("startup", "speed-table", "compare", "small"):
        for width in (WIDTHS[0], WIDTHS[-1]):
            page = browser.new_page(viewport={"width": width, "height": 900}, is_mobile=width < 600)
            page.goto((results / name / "latest" / "report.html").resolve().as_uri())
            box = page.locator("main svg[role=img]").first.bounding_box()
            page.close()
            assert box
            assert box["y"] + box["height"] <= 900, (name, width)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<img src='gone.png'>", "image missing: file:"),
        ("<div style='width:2000px'>wide</div>", "wider than the screen by"),
        ("<script>nonsense()</script>", "error: nonsense is not defined"),
        ("<script>console.error('x')</script>", "console error"),
        ("<link rel=stylesheet href='http://127.0.0.1:9/a.css'>", "asks the network for http://127.0.0.1:9/"),
        ("<p style='background: #1a7f37'><a href=x>Its plots</a>", "hard to read: a “Its plots”"),
        ("<p style='color: #0006'>pale", "hard to read: p “pale”"),
        ("<p style='background: #000; color: #888'><b style='background: #fff8'>grey", "hard to read: b “grey”"),
        ("<svg role=img></svg><style>svg {height: 2px}</style>", "1 drawings have no height"),
    ],
)
def test_what_is_wrong_is_found(browser, tmp_path, body, problem) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta name=viewport content='width=device-width'><body>{body}</body>")
    found = look(browser, page, 390).problems
    assert any(text.startswith(problem) for text in found), found


def test_what_shows_through_counts_for_the_contrast(browser, tmp_path) -> None:
    page = tmp_path / "page.html"
    black = "<p style='background: #000'><b style='background: #fff1; color: #ccc'>bright</b>"
    page.write_text(f"<!doctype html><body><p style='color: #000b'>dark enough</p>{black}</p></body>")
    assert look(browser, page, 1280).problems == []


def test_pdf(tmp_path, monkeypatch, capsys) -> None:
    with unpacked(OLD) as place:
        (plan,) = place.glob("runs/*/*/plan.json")
        monkeypatch.setattr("sys.argv", ["run.sh", "report", "--pdf", str(plan.parent)])
        main_ended(0)
        printed = (plan.parent / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") >= 2 or len(printed) > 50_000
    assert capsys.readouterr().out.endswith("report.pdf\n")


def test_an_older_pdf_is_none_that_was_printed(tmp_path, monkeypatch) -> None:
    quiet = tmp_path / "quiet"
    quiet.write_text("#!/bin/sh\necho can not print\n")
    quiet.chmod(0o755)
    monkeypatch.setenv("NCP_TESTBED_BROWSER", str(quiet))
    (tmp_path / "page.pdf").write_bytes(b"%PDF- of before")
    with pytest.raises(RunFailed) as failed:
        print_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    assert failed.value.code == "browser.failed"
    assert failed.value.message.endswith("can not print")


def test_without_a_browser_it_says_what_to_install(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("NCP_TESTBED_BROWSER", "/no/such/browser")
    with unpacked(OLD) as place:
        (plan,) = place.glob("runs/*/*/plan.json")
        before = write_page(plan.parent).stat().st_mtime_ns
        monkeypatch.setattr("sys.argv", ["run.sh", "report", "--pdf", str(plan.parent)])
        main_ended(4)
        assert (plan.parent / "report.html").stat().st_mtime_ns == before
    assert "apt-get install chromium" in capsys.readouterr().err


def main_ended(code: int) -> None:
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code or 0) == code
