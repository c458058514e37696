"""Pictures that do not mislead: legends beside titles, colours of their own, events in words, and no more promised than
is drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from testbed.archive.markup import foreign
from testbed.plan.read import read_plan
from testbed.results.report import style
from testbed.results.report.plot import Curve, Plot, curve_plot
from testbed.results.report.render import write_report
from testbed.results.report.words import of_events
from testbed.scenario.load import load
from testbed.study.kinds.sweep_file import PlotOf
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread
from testbed.study.report import plots
from tests.bundle import made
from tests.checks.conftest import checks_alone  # noqa: F401 (a fixture)
from tests.report.test_report import make_folder

pytestmark = pytest.mark.usefixtures("checks_alone")
LETTER = 0.55
"""Width of a letter, in parts of its size; about."""


class Text(NamedTuple):
    said: str
    left: float
    right: float
    bottom: float
    top: float

    def meets(self, other: Text) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def texts_of(svg: str) -> list[Text]:
    """The level texts of a drawing, in its points from the left and the top."""
    found = []
    for element in ElementTree.fromstring(svg[svg.index("<svg") :]).iter("{http://www.w3.org/2000/svg}text"):
        look, turn, said = element.get("style", ""), element.get("transform", ""), element.text or ""
        size, anchor = (re.search(of, look) for of in (r"([\d.]+)px", r"text-anchor: (\w+)"))
        moved = re.search(r"translate\(([\d.]+)[ ,]+([\d.]+)\)", turn)
        at = moved.groups() if moved else (element.get("x"), element.get("y"))
        if size and all(at) and not re.search(r"rotate\(-?[1-9]", turn):
            width, (x, y) = LETTER * float(size[1]) * len(said), (float(each or 0) for each in at)
            left = x - {"middle": width / 2, "end": width}.get(anchor[1] if anchor else "", 0.0)
            found.append(Text(said, left, left + width, y, y - float(size[1])))
    return found


def width_of(svg: str) -> float:
    found = re.search(r'viewBox="0 0 ([\d.]+)', svg)
    assert found
    return float(found[1])


def is_clear(plot: Plot, title: str) -> None:
    """No text lies on another one, or outside of the picture, and the title is above the rest."""
    texts = texts_of(plot.svg)
    (head,) = (text for text in texts if text.said == title)
    assert all(text is head or text.top >= head.bottom - 1 for text in texts)
    assert [(a.said, b.said) for a in texts for b in texts if a is not b and a.meets(b)] == []
    assert [text for text in texts if text.right > width_of(plot.svg) + 4] == []


def curves(count: int, name: str = "{} (a link)") -> list[Curve]:
    return [Curve(name.format(n + 1), [0, 1], [n, n], style.line(n)) for n in range(count)]


@pytest.mark.parametrize("count", [1, 2, 4, 5, 8, 13])
def test_the_legend_of_many_lines_is_between_title_and_axes(count: int) -> None:
    is_clear(curve_plot("x", "The title of it", "unit", "", curves(count)), "The title of it")


@pytest.mark.parametrize("count", [2, 8, 14])
def test_the_legend_of_many_columns_is_between_title_and_axes(count: int) -> None:
    is_clear(bars(count), "Rate")


def bars(count: int, figure: str = "rate_mbps", known: str = "") -> Plot:
    columns = [f"a column {number}" for number in range(count)]
    cells = {figure: {column: Spread.of([1.0 + number]) for number, column in enumerate(columns)}}
    said = [KnownValue("them", known, 1.5, figure)] if known else []
    (plot,) = plots.cells([RowSummary("near", "near", "", {figure: 99.0}, cells, {}, said)], columns)
    return plot


@pytest.mark.parametrize("columns", [4, 8])
def test_a_legend_that_covers_the_title_or_leaves_the_picture_is_seen(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    def as_before(figure: Figure) -> None:
        for axes in figure.axes:
            axes.set_title(axes.get_title("left"), pad=22)
            axes.legend(ncols=columns, **style.LEGEND)

    monkeypatch.setattr(style, "_place_legends", as_before)
    with pytest.raises((AssertionError, UserWarning)):  # Matplotlib warns where a legend leaves no room for the axes
        is_clear(curve_plot("x", "The title of it", "unit", "", curves(8)), "The title of it")


SESSIONS = """\
name: pair
title: Two sessions on one bottleneck
topology: dumbbell
links:
  - {name: core, rate: 8mbit, delay: 5ms, queue: {limit: 50 packets, mode: droptail}}
ncp: {policy: nkp24, transfer: 2MiB, send_window: 256KiB}
sessions:
  - {name: first}
  - {name: second, policy: previous}
checks:
  - {name: payload, judge: payload_intact}
  - {name: payload of second, judge: payload_intact, session: second}
  - {name: fair, judge: fair_share, min: 0.1, from: 500ms, to: 1s}
"""


def test_a_page_of_several_sessions_says_which_is_meant(tmp_path: Path) -> None:
    (file := tmp_path / "pair.yaml").write_text(SESSIONS)
    folder = made.simulated(tmp_path, load(str(file)))
    titles = [text.said for path in folder.glob("plots/*-windows.svg") for text in texts_of(path.read_text())]
    assert {"Windows, session first", "Windows, session second"} <= set(titles)
    page = (folder / "report.html").read_text()
    assert "first transfer over after" in page
    assert "the connections start at 256 packets." in page
    assert "the connections start at 16 packets each." in page
    assert 'class="topology wide"' in page
    assert "Session first: 2,097,152 bytes arrived" in page
    assert page.count("2,097,152 bytes arrived") == 2
    assert re.search(r"of an even share\. Mean goodputs", page)


def test_no_mark_of_a_sweep_is_cut_by_the_frame() -> None:
    rows = [{"delay": f"{n}ms", "policy": "nkp24", "of_bound": share} for n, share in enumerate((0.99, 0.95))]
    drawn = plots.panels_of_sweep(rows, PlotOf(figure="of_bound", x="delay"), 1)
    frame = re.search(r'<clipPath[^>]*>\s*<rect x="[\d.]+" y="([\d.]+)"', drawn.svg)
    marks = re.findall(rf'<use [^>]* y="([\d.]+)" style="fill: {style.SERIES_COLOURS[0].lower()}; stroke', drawn.svg)
    assert frame
    assert len(marks) == 3  # with the legend's
    assert min(map(float, marks)) > float(frame[1]) + 2


def test_no_colour_comes_twice_before_twelve_and_no_look_before_twice_as_many() -> None:
    assert len({style.colour(number) for number in range(12)}) == 12
    for look in (style.line, style.bar):
        assert len({str(look(number)) for number in range(24)}) == 24
    page = (Path(style.__file__).parent / "templates" / "page.css").read_text()
    light, dark = (dict(re.findall(r"--(series-\d+): (#\w+);", part)) for part in page.split("@media", 1))
    assert list(light.values()) == list(style.SERIES_COLOURS)
    assert light.keys() == dark.keys()
    assert len(set(dark.values())) == 12


def test_from_the_thirteenth_column_on_bars_are_hatched() -> None:
    assert "<pattern" not in bars(12).svg
    svg = bars(14).svg
    assert svg.count("<pattern") == 2
    assert foreign(svg) is None
    inside = style.for_page(svg, "table", "")
    assert foreign(inside) is None
    assert not [colour for colour in style.SERIES_COLOURS if colour in inside]
    ids = set(re.findall(r'\bid="([^"]+)"', inside))
    assert set(re.findall(r"url\(#([^)]+)\)", inside)) <= ids
    for forged in ('fill="url(http://example.org/a)"', 'fill="url(a.svg#b)"', 'patternUnits="a" onload="b"'):
        assert foreign(svg.replace("<pattern", f"<pattern {forged}", 1)) is not None


def timeline(*properties: dict[str, Any], link: str = "slow", from_s: float = 2.0, step_s: float = 1.0) -> list[Any]:
    return [
        {
            "at_s": from_s + number * step_s,
            "kind": "set",
            "text": f"link {link}: " + ", ".join(f"{key} {value}" for key, value in each.items()),
            "link": link,
            "direction": "both",
            "properties": each,
        }
        for number, each in enumerate(properties)
    ]


def test_events_are_in_people_s_units(tmp_path: Path) -> None:
    bursts = {"enter": 0.01, "leave": 0.2, "loss_good": 0.0, "loss_bad": 1.0}
    done = timeline(
        {"rate_bps": 4e6},
        {"delay_ms": 20.0, "loss": 0.01},
        {"jitter_ms": 2.5, "reorder": 0.0},
        {"gilbert_elliott": bursts},
    )
    down = {"at_s": 5.0, "kind": "carrier", "text": "link slow down", "link": "slow", "up": False}
    up = {**down, "at_s": 5.5, "text": "link slow up", "up": True}
    plan = read_plan(
        make_folder(tmp_path / "r", timeline=[*done, {**done[0], "direction": "ab", "text": "x"}, down, up])
        / "plan.json"
    )
    assert list(of_events(plan).values()) == [
        "slow: 4 Mbit/s",
        "slow: delay 20 ms, loss 1%",
        "slow: jitter 2.5 ms, reorder 0%",
        "slow: bursts of loss 1%/20%",
        "slow ab: 4 Mbit/s",
        "slow down",
        "slow up",
    ]


def over_a_run(events: list[tuple[float, str]]) -> Plot:
    return curve_plot("x", "The title of it", "unit", "", curves(2), right=10, events=events)


def test_events_are_clear_of_the_curves_and_of_each_other() -> None:
    many = [
        (1.0, "a: 4 Mbit/s"),
        (1.4, "b down"),
        (1.9, "b up"),
        (6.0, "c: delay 20 ms, loss 1%"),
        (9.9, "c: 8 Mbit/s"),
    ]
    plot = over_a_run(many)
    is_clear(plot, "The title of it")
    texts = {text.said: text for text in texts_of(plot.svg)}
    top = min(text.top for text in texts.values() if re.fullmatch(r"[\d.]+", text.said))
    assert all(texts[said].bottom <= top + 6 for _, said in many)


def test_what_changes_in_steps_is_one_event() -> None:
    steps = [(4 + number / 10, f"c: {number} Mbit/s") for number in range(11)]
    said = sorted(text.said for text in texts_of(over_a_run([(1.0, "b down"), *steps, (8.0, "c: 1 Mbit/s")]).svg))
    assert [text for text in said if text[0] in "bc" and len(text) > 1] == [
        "b down",
        "c: 0 Mbit/s … 10 Mbit/s",
        "c: 1 Mbit/s",
    ]


def test_an_event_of_the_timeline_is_told_in_words_on_page_and_plots(tmp_path: Path) -> None:
    done = timeline({"rate_bps": 4e6}, from_s=3.0)
    done[0]["text"] = "slow breaks"  # as the run's telemetry has its event
    folder = make_folder(tmp_path / "r", timeline=done)
    page = write_report(folder).read_text()
    assert page.count("slow: 4 Mbit/s</td>") == 1
    assert page.count(">slow: 4 Mbit/s</text>") == 6
    assert ">slow breaks<" not in page


def test_the_first_screen_has_the_picture_that_decides(tmp_path: Path) -> None:
    page = write_report(make_folder(tmp_path / "r")).read_text()
    first, _, rest = page.partition("What has to hold, and what came out")
    assert 'id="window-share-axes_1"' in first
    assert "with the law and its tolerance" in first
    assert first.count("<svg") == 1
    assert 'id="windows-axes_1"' in rest
    goodput = {"name": "fast", "judge": "goodput", "min": 0.999}
    page = write_report(make_folder(tmp_path / "g", checks=[goodput])).read_text()
    assert 'id="delivery-rate-axes_1"' in page.partition("What has to hold, and what came out")[0]


def without_law(place: Path) -> list[Any]:
    checks = read_plan(make_folder(place / "with-law") / "plan.json")["checks"]
    return [check for check in checks if check["judge"] != "follows_law"]


def test_a_section_in_which_nothing_would_stand_is_not_there(tmp_path: Path) -> None:
    said = "What was asked"
    assert said in write_report(make_folder(tmp_path / "r", description="Two links.")).read_text()
    assert said not in write_report(make_folder(tmp_path / "e", description="", source="", overrides=[])).read_text()


def test_captions_promise_what_is_drawn(tmp_path: Path) -> None:
    page = write_report(make_folder(tmp_path / "r", checks=without_law(tmp_path))).read_text()
    assert "Each connection's share of the session's window over time." in page.replace("&#39;", "'")
    assert "with the law and its tolerance" not in page
    assert "marks what others say" in bars(2, known="a column 1").description
    assert "marks what others say" not in bars(2, known="a column that was not run").description
    few = Spread.of([1.0])
    rows = [
        RowSummary(str(n), str(n), "", {}, {"rate_mbps": {f"c{c}": few for c in range(6)}}, {}, []) for n in range(12)
    ]
    (plot,) = plots.cells(rows, [f"c{c}" for c in range(6)])
    assert "Hollow" not in plot.description


def test_the_banner_s_links_are_as_its_text() -> None:
    page = (Path(style.__file__).parent / "templates" / "page.css").read_text()
    assert re.search(r"\.banner a\b[^}]*\{ color: inherit; \}", page)
