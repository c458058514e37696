"""Plots are compared as data, whoever says to have drawn them, and a page has no markup but ours."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from testbed.archive import page
from testbed.archive.drawing import unlike
from testbed.archive.kinds import drawn_again
from testbed.archive.markup import foreign
from testbed.results.report import style
from testbed.study.verify import Verification
from tests.bundle import made
from tests.bundle.made import verify_folder
from tests.bundle.old_bundles import FOLDER, opened
from tests.said import Saying, codes

OTHER_VERSION = Path(__file__).parent / "drawn-by-matplotlib-3.10.9.zip"
"""Plots of results in ``old``, by their places there, drawn by the version that Python 3.10 gets. To draw them anew,
put that version on PYTHONPATH and call :func:`testbed.archive.kinds.drawn_again` for each folder."""
CURVE = re.compile(r'<path d="(M [^"]*)" clip-path="[^"]*" style="fill: none; stroke: (?:#0072b2|var\(--series-1\));')
AXES_HEIGHT_PT = 165

Change = Callable[[str], str]

pytestmark = pytest.mark.filterwarnings("ignore:constrained_layout not applied")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.simulated(tmp_path_factory.mktemp("sim"))


@pytest.fixture(scope="module")
def again(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result's page and plots, drawn again."""
    place = tmp_path_factory.mktemp("again") / simulated.name
    drawn_again(simulated, place)
    return place


@pytest.fixture
def result(simulated: Path, tmp_path: Path) -> Path:
    return shutil.copytree(simulated, tmp_path / simulated.name)


def by_other_code(folder: Path) -> None:
    """Say that unknown code made a result."""
    _say(folder, lambda recorded: recorded.update(code="0123456789abcdef"))


def by_another_matplotlib(folder: Path) -> None:
    """Say that a result's plots are another matplotlib's, in the page, too."""
    _say(folder, lambda recorded: recorded["packages"].update(matplotlib="3.9.9"))
    html = folder / "report.html"
    html.write_text(html.read_text().replace(f"&#34;{mpl.__version__}&#34;", "&#34;3.9.9&#34;"))


def _say(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "provenance.json"
    recorded = json.loads(path.read_text())
    change(recorded)
    path.write_text(json.dumps(recorded, indent=1))


def draw(folder: Path, change: Change, plot: str = "rtt") -> None:
    """Change a plot, and the same drawing in the page."""
    path, html = folder / "plots" / f"{plot}.svg", folder / "report.html"
    (drawing,) = (one for one in page.DRAWING.findall(html.read_text()) if f'id="{plot}-axes_1"' in one)
    assert change(path.read_text()) != path.read_text()
    path.write_text(change(path.read_text()))
    html.write_text(html.read_text().replace(drawing, change(drawing)))


def write(folder: Path, change: Change) -> None:
    """Change the page alone."""
    html = folder / "report.html"
    text = html.read_text()
    assert change(text) != text
    html.write_text(change(text))


def moved(part: float) -> Change:
    """The first curve is drawn higher, by a part of the axes."""

    def change(drawing: str) -> str:
        curve = CURVE.search(drawing)
        assert curve is not None
        higher = re.sub(r"(?<= )[\d.]+(?= ?\n)", lambda y: f"{float(y[0]) - part * AXES_HEIGHT_PT:.6f}", curve[1])
        return drawing[: curve.start(1)] + higher + drawing[curve.end(1) :]

    return change


def with_label(drawing: str) -> str:
    """A text more in the drawing."""
    label = '<g id="text_99"><text style="font-size: 9px; fill: #1f2328" x="90" y="90">twice as fast</text></g>'
    return re.sub(r'(<g id="(?:rtt-)?patch_4">)', rf"{label}\1", drawing)


def other_hashes(drawing: str) -> str:
    return re.sub(r"\b([mp])([0-9a-f]{10})\b", lambda name: f"{name[1]}{name[2][::-1]}", drawing)


def rounded(drawing: str) -> str:
    """Fewer digits."""
    return re.sub(r"(?<=[ML] )[\d.]+ [\d.]+", lambda at: " ".join(f"{float(x):.1f}" for x in at[0].split()), drawing)


def by_more_points(drawing: str) -> str:
    """Each line of a curve is drawn as two."""
    curve = CURVE.search(drawing)
    assert curve is not None
    points = [tuple(map(float, line[2:].split())) for line in curve[1].splitlines()]
    middles = [((a + c) / 2, (b + d) / 2) for (a, b), (c, d) in pairwise(points)]
    every = [points[0], *(point for pair in zip(middles, points[1:], strict=True) for point in pair)]
    text = "M " + "L ".join(f"{x} {y} \n" for x, y in every)
    return drawing[: curve.start(1)] + text + drawing[curve.end(1) :]


def in_another_order(drawing: str) -> str:
    """The same points of a curve, of which every second one is drawn after all others."""
    curve = CURVE.search(drawing)
    assert curve is not None
    points = [line[2:] for line in curve[1].splitlines()]
    text = "M " + "\nL ".join([points[0], *points[1::2], *points[2::2]]) + "\n"
    return drawing[: curve.start(1)] + text + drawing[curve.end(1) :]


def by_another(drawing: str) -> str:
    """As another matplotlib may have drawn it."""
    return by_more_points(rounded(other_hashes(drawing)))


def compared(folder: Path, again: Path) -> Verification:
    """Page and plots alone, as when the result is verified."""
    verified = Verification("", "")
    page.compare(folder, again, verified, json.loads((folder / "provenance.json").read_text()))
    return verified


def found(verified: Verification, code: str) -> list[str]:
    return [str(said) for said in verified.differences if said.code == code]


@pytest.mark.nightly
def test_a_curve_that_another_matplotlib_is_said_to_have_drawn_is_compared(result: Path) -> None:
    draw(result, moved(0.03))
    by_another_matplotlib(result)
    assert Saying("plot.differs", plot="plots/rtt.svg") in verify_folder(result).differences


@pytest.mark.parametrize("claims", [(), (by_other_code,), (by_other_code, by_another_matplotlib)])
@pytest.mark.parametrize("part", [0.03, 0.005])
def test_a_moved_curve_is_a_difference_whoever_drew_it(
    result: Path, again: Path, claims: tuple[Callable[[Path], None], ...], part: float
) -> None:
    draw(result, moved(part))
    for claim in claims:
        claim(result)
    assert len(found(compared(result, again), "plot.differs")) == 2, "the plot, and the drawing in the page"


def test_a_label_more_is_a_difference(result: Path) -> None:
    draw(result, with_label)
    by_another_matplotlib(result)
    assert Saying("plot.differs", plot="plots/rtt.svg") in verify_folder(result).differences


def test_by_other_code_a_label_more_is_not_confirmed(result: Path, again: Path) -> None:
    draw(result, with_label)
    by_other_code(result)
    verified = compared(result, again)
    assert Saying("file.by-other-code", file="plots/rtt.svg") in verified.unchecked


def test_a_picture_that_no_step_makes_is_a_difference(result: Path, again: Path) -> None:
    (result / "plots" / "goodput.png").write_bytes(b"\x89PNG\r\n")
    (result / "plots" / "goodput.svg").write_text("<svg/>")
    by_other_code(result)
    assert len(found(compared(result, again), "plot.differs")) == 2


def test_a_point_beside_a_plot_is_compared_whoever_wrote_it(result: Path, again: Path) -> None:
    path = result / "plots" / "rtt.csv"
    path.write_text(path.read_text().replace(",1", ",2", 1))
    by_other_code(result)
    by_another_matplotlib(result)
    assert Saying("plot.differs", plot="plots/rtt.csv") in compared(result, again).differences


def test_the_same_data_of_another_matplotlib_are_confirmed(result: Path) -> None:
    for plot in ("rtt", "windows"):
        draw(result, by_another, plot)
    by_another_matplotlib(result)
    verified = verify_folder(result)
    assert not verified.differences
    assert not {code for code in codes(verified.unchecked) if code.startswith(("plot", "file"))}
    assert {"plots/rtt.svg", "plots/windows.svg", "report.html"} == {
        str(note).split(":")[0] for note in verified.notes if note.code == "plot.same-points"
    }


@pytest.mark.nightly
def test_what_matplotlib_of_another_version_draws_is_the_same() -> None:
    with zipfile.ZipFile(OTHER_VERSION) as archive:
        plots = {Path(name): archive.read(name).decode() for name in archive.namelist()}
    for bundle, names in groupby(sorted(plots), key=lambda path: path.parts[0]):
        with opened(FOLDER / f"{bundle}.zip") as place:
            for folder, drawings in groupby(names, key=lambda path: path.parents[1]):
                again = place / "-".join(folder.parts)
                drawn_again(place.joinpath(*folder.parts[1:]), again)
                for path in drawings:
                    text = (again / "plots" / path.name).read_text()
                    assert unlike(plots[path], text) == set(), path
                    assert foreign(plots[path]) is None, path


def before(end: str, text: str) -> Change:
    return lambda page: page.replace(end, text + end, 1)


IN_PAGE: dict[str, Change] = {
    "a script": before("</body>", "<script>document.title = 'PASS: 9'</script>"),
    "a handler": lambda page: page.replace("<body>", '<body onload="alert(1)">'),
    "a handler of a drawing": lambda page: page.replace("<svg ", '<svg onload="alert(1)" ', 1),
    "an image from elsewhere": before("</main>", '<img src="http://example.org/p.png">'),
    "a link to elsewhere": before("</main>", '<a href="https://example.org/">Data</a>'),
    "a frame": before("</main>", '<iframe src="other.html"></iframe>'),
    "another address": before("<title>", '<meta http-equiv="refresh" content="0;url=other.html">'),
    "a style from elsewhere": before("</style>", "@import 'http://example.org/s.css';"),
    "a background from elsewhere": lambda page: page.replace("<body>", '<body style="background: url(//example.org)">'),
}


@pytest.mark.parametrize("name", IN_PAGE)
def test_markup_of_others_in_a_page_is_a_difference_whoever_wrote_it(result: Path, again: Path, name: str) -> None:
    write(result, IN_PAGE[name])
    by_other_code(result)
    verified = compared(result, again)
    assert len(found(verified, "page.markup")) == 1, verified.differences


IN_DRAWING: dict[str, Change] = {
    "a script": before("</svg>", "<script>alert(1)</script>"),
    "a handler": lambda drawing: drawing.replace("<svg ", '<svg onload="alert(1)" ', 1),
    "an image from elsewhere": before("</svg>", '<image xlink:href="http://example.org/p.png" width="9" height="9"/>'),
    "a page in it": before("</svg>", "<foreignObject><p>twice as fast</p></foreignObject>"),
    "a part of another file": before("</svg>", '<use xlink:href="other.svg#a"/>'),
    "a fill from elsewhere": lambda drawing: drawing.replace(
        'style="fill:', 'style="fill: url(http://a/#b); stroke:', 1
    ),
    "an entity": before("<svg", '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>'),
    "a style sheet": before("<svg", '<?xml-stylesheet href="other.css"?>'),
}


@pytest.mark.parametrize("name", IN_DRAWING)
def test_markup_of_others_in_a_plot_is_a_difference_whoever_drew_it(result: Path, again: Path, name: str) -> None:
    path = result / "plots" / "rtt.svg"
    path.write_text(IN_DRAWING[name](path.read_text()))
    by_other_code(result)
    by_another_matplotlib(result)
    verified = compared(result, again)
    assert [text for text in found(verified, "page.markup") if text.startswith("plots/rtt.svg")], verified.differences


@pytest.mark.parametrize(
    "markup",
    [
        *('<a href="javascript:alert(1)">', '<a href="JavaScript&colon;alert(1)">', '<a href=" javascript:alert(1)">'),
        *('<a href="//example.org">', r'<a href="\\example.org">', '<a href="../../other.html">', '<a href="/etc">'),
        *("<a href='x'>", "<p title=x>", "<p/onclick=alert(1)>", '<p class="a"onclick="b">', "<p\u00a0class>", "<p"),
        *("<!--><script>--></script>", "<!-- a --!><img src=x>-->", "<![CDATA[<p>]]>", "<?php ?>", "< p>"),
        *("<style>p { background: url('a.png') }</style>", r"<style>p { background: u\72l(a) }</style>"),
        *("<style>p { background: image-set('a' 1x) }</style>", "<style>a{fill:&#117;rl(b)}</style>"),
        *("<style><b>q{}*{background:url(//a)}</style>", "<style>p {}", '<style media="print"></style>'),
        *('<p style="background:&#117;rl(a)">', '<p style="behavior: x">', '<meta charset="utf-7">'),
        *('<svg><a xlink:href="x">', '<use href="other.svg#a">', '<animate attributeName="href">', "<form>", "<base>"),
        *('<path clip-path="url(a.svg#b)">', '<a href="https://example.org/d/ncp-x">', "<object>", "<embed>", "<link>"),
        *(
            '<a href="plots/%2e%2e/a">',
            '<a href="data&colon;text/html,a">',
            '<a href="a&Tab;b">',
            "<SCRIPT>",
            "<\0script>",
        ),
    ],
)
def test_markup_that_no_page_has(markup: str) -> None:
    assert foreign(f"<p>{markup}</p>") is not None


@pytest.mark.parametrize(
    "markup",
    [
        *('<a href="plots/rtt.csv">', '<a href="#a">', '<a href="cells/1/nkp24/1/sim-1f13c5453839/report.html">'),
        '<a href="http://127.0.0.1:3000/d/ncp-links?var-scenario=%24__all&amp;var-run=20261124-085334-7584">',
        *("a > b &amp; c", "<!-- $\\mathdefault{10^{-3}}$ -->", "<style>\na > b { color: var(--ink) }\n</style>"),
        *('<th scope="row" class="a">', '<use xlink:href="#a1" x="1" y="2"/>', "<tr><td>", "<!doctype html>"),
    ],
)
def test_markup_of_ours(markup: str) -> None:
    assert foreign(markup) is None


@pytest.mark.parametrize("file", [path.name for path in sorted(FOLDER.glob("*.zip"))])
def test_pages_and_plots_of_before_have_markup_of_ours(file: str) -> None:
    with opened(FOLDER / file) as place:
        for path in (*place.rglob("report.html"), *place.rglob("*.svg")):
            assert foreign(path.read_text(encoding="utf-8")) is None, path


def test_a_drawing_s_description_is_text() -> None:
    drawing = style.for_page('<svg width="1pt"></svg>', "a", '"><script>alert(1)</script>')
    assert foreign(drawing) is None


FORGED: dict[str, Change] = {
    "a tick's label": lambda drawing: re.sub(r">0\.2<|>0\.1<|>1\.0<|>100<|>50<", ">7<", drawing, count=1),
    "a label elsewhere": lambda drawing: re.sub(
        r'(<text [^>]*x=")([\d.]+)', lambda text: f"{text[1]}{float(text[2]) + 5}", drawing, count=1
    ),
    "another colour": lambda drawing: drawing.replace("stroke: #0072b2", "stroke: #d55e00", 1),
    "a curve less": lambda drawing: CURVE.sub('<path d="M 0 0" style="fill: none; stroke: #0072b2;', drawing, count=1),
    "a curve that ends early": lambda drawing: CURVE.sub(
        lambda curve: curve[0].replace(curve[1], "\n".join(curve[1].splitlines()[:-3]) + "\n"), drawing, count=1
    ),
    "a curve that goes to and fro": in_another_order,
    "a curve that breaks off": lambda drawing: drawing.replace(" \nL ", " \nL L ", 3),
    "a limit": lambda drawing: re.sub(r'(<rect [^>]*height=")[\d.]+', r"\g<1>90", drawing),
    "no such mark": lambda drawing: re.sub(r'xlink:href="#\w+', 'xlink:href="#none', drawing, count=1),
    "a mark elsewhere": lambda drawing: re.sub(r'(<use [^>]* x=")[\d.]+', r"\g<1>99", drawing, count=1),
    "a larger mark": lambda drawing: drawing.replace("L 0 3.5", "L 0 35", 1),
    "hidden": lambda drawing: drawing.replace("*{stroke", "#line2d_1{display:none}*{stroke", 1),
    "turned": lambda drawing: drawing.replace("rotate(-90", "rotate(90", 1),
    "moved as a whole": lambda drawing: drawing.replace('<g id="axes_1">', '<g id="axes_1" transform="scale(2)">'),
    "smaller axes": lambda drawing: re.sub(r"\d+\.\d{2,}", lambda x: f"{float(x[0]) / 2:.6f}", drawing),
    "no numbers": lambda drawing: re.sub(r'd="M [\d.]+', 'd="M nan', drawing, count=3),
    "too large numbers": lambda drawing: re.sub(r'd="M [\d.]+', 'd="M 9e999', drawing, count=3),
    "an odd number": lambda drawing: re.sub(r'd="M [\d.]+', 'd="M ', drawing, count=3),
    "no drawing": lambda _drawing: "<svg",
    "no element": lambda _drawing: "",
    "a limit of itself": lambda drawing: drawing.replace("<rect ", '<rect clip-path="url(#p)" ', 1),
    "many more points": lambda drawing: CURVE.sub(
        lambda curve: curve[0].replace(curve[1], curve[1] * 2000), drawing, count=1
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_drawing_is_unlike(simulated: Path, name: str) -> None:
    drawing = (simulated / "plots" / "rtt.svg").read_text()
    forged = FORGED[name](drawing)
    assert forged != drawing
    assert unlike(forged, drawing)


@pytest.mark.parametrize("change", [other_hashes, rounded, by_more_points, by_another])
def test_the_same_data_are_the_same_drawing(simulated: Path, change: Change) -> None:
    for path in (simulated / "plots").glob("*.svg"):
        drawing = path.read_text()
        if path.stem != "topology":
            assert unlike(change(drawing), drawing) == set(), path
