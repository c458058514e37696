"""The points beside each plot: all that is drawn, as it was measured; and the plots as a paper prints them."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from testbed.archive.kinds import export_for_paper
from testbed.judge.checks.evidence import Evidence, agent_results
from testbed.plan.read import read_plan
from testbed.results.report import style
from testbed.results.report.plot import drawn
from testbed.results.report.render import write_report
from testbed.series import FromFile
from testbed.study.kinds.table_result import KnownValue, RowSummary, Spread
from testbed.study.report import plots
from tests.report.test_report import PLOTS, make_folder

SERIES = {
    "window-share": "window_share",
    "delivered-share": "delivered_share",
    "windows": "window_packets",
    "delivery-rate": "delivered_pps",
    "rtt": "rtt_ms",
    "in-flight": "in_flight_packets",
}
Points = dict[str, list[tuple[float, float]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_folder(tmp_path_factory.mktemp("results") / "run")
    write_report(path)
    return path


def points_of(text: str) -> Points:
    found: Points = defaultdict(list)
    for row in csv.DictReader(text.splitlines()):
        found[row["line"]].append((float(row["x"] or 0), float(row["y"])))
    return dict(found)


def test_each_plot_has_its_points_beside_it_and_the_page_says_where(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert {path.stem for path in (folder / "plots").glob("*.csv")} == PLOTS
    assert re.findall(r'<a href="plots/([^"]+)\.csv">', page) == [
        path.stem for name in SERIES for path in (folder / "plots").glob(f"{name}.csv")
    ]


@pytest.mark.parametrize("name", SERIES)
def test_the_points_of_a_run_are_its_samples(folder: Path, name: str) -> None:
    plan = read_plan(folder / "plan.json")
    evidence = Evidence(plan, FromFile(folder / "telemetry.lp"), agent_results(folder / "agents"))
    there = points_of((folder / "plots" / f"{name}.csv").read_text())
    for connection, samples in evidence.samples(SERIES[name], "s1").items():
        line = next(line for line in there if line.startswith(f"{connection} ("))
        assert [x for x, _ in there[line]] == pytest.approx(samples.t_s.tolist())
        assert [y for _, y in there[line]] == pytest.approx(samples.values.tolist())


def test_what_is_asked_for_is_among_the_points(folder: Path) -> None:
    shares = points_of((folder / "plots" / "window-share.csv").read_text())
    assert [a + b for (_, a), (_, b) in zip(shares["law ±0.03 of 1"], shares["law ±0.03 of 2"], strict=True)] == (
        pytest.approx([1.0] * len(shares["law ±0.03 of 1"]))
    )
    assert shares["law ±0.03 of 1"][0] == pytest.approx((0, 0.5))
    rates = points_of((folder / "plots" / "delivery-rate.csv").read_text())
    assert [y for _, y in rates["link's rate of 1"] + rates["link's rate of 2"]] == [1024, 128]


@pytest.mark.parametrize("name", SERIES)
def test_whatever_the_legend_names_is_among_the_points(folder: Path, name: str) -> None:
    lines = points_of((folder / "plots" / f"{name}.csv").read_text())
    svg = ElementTree.parse(folder / "plots" / f"{name}.svg")
    (legend,) = (group for group in svg.iter() if group.get("id") == "legend_1")
    texts = [text for element in legend.iter() if element.tag.endswith("text") and (text := element.text)]
    assert len(texts) >= 2
    assert [text for text in texts if not any(line.startswith(text) for line in lines)] == []


def test_the_points_of_a_table_are_its_figures() -> None:
    cells = {"rate_mbps": {"a": Spread.of([1.0, 2.0, 3.0]), "b": Spread.of([5.0])}}
    rows = [
        RowSummary(name, name, "wide", {"rate_mbps": 7.0}, cells, {}, [KnownValue("them", "a", 4.0, "rate_mbps")])
        for name in ("near", "far")
    ]
    (plot,) = plots.cells(rows, ["a", "b"])
    found = defaultdict(list)
    for row in csv.DictReader(plot.data.splitlines()):
        found[row["line"], row["at"]].append(float(row["y"]))
    interval = cells["rate_mbps"]["a"].interval
    assert interval is not None
    for at in ("near wide", "far wide"):
        assert found["a", at] == [2.0]
        assert found["b", at] == [5.0]
        assert found["a, them", at] == [4.0]
        assert found["a, interval", at] == list(interval[:2])
        assert found["what the links carry", at] == [7.0, 7.0]


def test_what_has_no_name_is_no_point() -> None:
    with style.new_plot("x", "y") as (figure, axes):
        axes.axvline(3)
        axes.plot([1, 2], [3, 4])
        axes.plot([1, 2, 3], [5, float("nan"), 6], label="_named")
        axes.plot([], [], label="for the legend")
        plot = drawn(figure, "x", "")
    assert plot.data == "panel,line,at,x,y\n,named,,1,5\n,named,,3,6\n"


def test_a_paper_gets_what_the_page_has_as_wide_as_a_column(folder: Path) -> None:
    made = {path.name: path.read_bytes() for path in export_for_paper(folder)}
    assert {name.removesuffix(".pdf") for name in made if name.endswith(".pdf")} == PLOTS
    for name in PLOTS:
        assert made[f"{name}.csv"] == (folder / "plots" / f"{name}.csv").read_bytes()
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) [\d.]+ \]", made[f"{name}.pdf"])
        assert box
        assert float(box[1]) == pytest.approx(72 * style.COLUMN_INCHES)
    assert {path.name: path.read_bytes() for path in export_for_paper(folder)} == made
    assert not style.on_paper()
    assert not list((folder / "plots").glob("*.pdf"))


def test_a_legend_of_many_fits_into_a_column() -> None:
    with style.for_paper(), style.new_plot("x", "y") as (figure, axes):
        for number in range(8):
            axes.plot([0, 1], [0, number], label=f"connection {number}")
        assert axes.legend(ncols=8, **style.LEGEND).get_window_extent().width > figure.bbox.width
        drawn(figure, "x", "")
        legend = axes.get_legend()
        assert legend
        assert legend.get_window_extent().width <= style.MOST_LEGEND * figure.bbox.width
        assert len(legend.get_texts()) == 8
        assert axes.get_window_extent().height > figure.bbox.height / 4


def test_a_plot_is_drawn_once(monkeypatch):
    times = []
    draw = Figure.draw

    def counted(figure, renderer):
        times.append(1)
        draw(figure, renderer)

    monkeypatch.setattr(Figure, "draw", counted)
    with style.new_plot("title", "unit") as (figure, axes):
        axes.plot([0, 1], [2, 3], label="one")
        drawn(figure, "name", "what it shows")
    assert len(times) == 1


def test_lines_of_what_is_expected_have_a_step_at_each_change(tmp_path: Path) -> None:
    """The slow link is raised to the fast one's rate, and then breaks for a second."""
    set_: Any = {"kind": "set", "text": "", "link": "slow", "direction": "both"}
    timeline = [
        {**set_, "at_s": 2.0, "properties": {"rate_bps": 8_790_016}},
        {"at_s": 4.0, "kind": "carrier", "text": "", "link": "slow", "up": False},
        {"at_s": 5.0, "kind": "carrier", "text": "", "link": "slow", "up": True},
    ]
    path = make_folder(tmp_path / "run", timeline=timeline)
    write_report(path)
    rates, shares = (points_of((path / "plots" / f"{n}.csv").read_text()) for n in ("delivery-rate", "delivered-share"))
    end_s = rates["1 (fast)"][-1][0]
    assert rates["link's rate of 1"] == [(0.0, 1024.0)]
    levels = [(0, 2, 128.0), (2, 4, 1024.0), (4, 5, 0.0), (5, end_s, 1024.0)]
    assert rates["link's rate of 2"] == [(t_s, pps) for from_s, to_s, pps in levels for t_s in (from_s, to_s)]
    parts = [y for _, y in shares["link's part of all rates of 1"]]
    assert parts == pytest.approx([8 / 9, 8 / 9, 0.5, 0.5, 1, 1, 0.5, 0.5])
