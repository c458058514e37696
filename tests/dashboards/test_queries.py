"""Every query of every panel, variable, annotation and alert rule, as Grafana sends it, on what real runs left."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from dashboards.boards import DASHBOARDS
from dashboards.generate import FOLDER
from testbed.series.one_clock import ZERO_NS
from testbed.services.influx.client import Client, Series
from tests.dashboards.conftest import Replayed
from tests.dashboards.grafana import ALL, Span, Variables, interpolate, opened, series_name, span_of_panel, values_of

Board = dict[str, Any]

BOARDS: dict[str, Board] = {name: json.loads((FOLDER / "json" / f"{name}.json").read_text()) for name in DASHBOARDS}
RUN_OF = {"convergence": "nkp24", "links": "nkp24", "tcp": "beside-tcp", "ndn": "ndn"}
"""The run that is looked at, where a dashboard shows one."""

ALSO = {"links": ["beside-tcp"]}
"""Further runs: a link is told its rate at its hosts in the one, in the middle in the other."""

HOUR_MS = 3_600_000

WITHOUT = {"convergence": {"Settled after"}}
"""Panels without data in a run that is too short for it."""


def page_of(board: Board, runs: dict[str, Replayed]) -> tuple[Span, int]:
    """A page's span as it is committed, an hour after the last run, and that time."""
    now_ms = max(run.to_ms for run in runs.values()) + HOUR_MS
    relative = board["time"]["from"]
    length_ms = {"now-15m": 15 * 60_000, "now-30d": 30 * 24 * HOUR_MS}[relative]
    return Span(now_ms - length_ms, now_ms, relative), now_ms


def fixed(span: Span) -> Span:
    """The same span, for a database whose now is another."""
    return Span(span.from_ms, span.to_ms)


def variables_of(board: Board, runs: dict[str, Replayed], name: str, influx: Client, run: str = "") -> Variables:
    """As somebody opens the dashboard by a click on the run."""
    _, now_ms = page_of(board, runs)
    if name == "compare":
        first, second = (runs[other].plan["run"] for other in ("nkp24", "previous"))
        return opened(board, influx, now_ms, {"scenario": [ALL], "run": first, "with": second})
    if name not in RUN_OF:
        return opened(board, influx, now_ms)
    return opened(board, influx, now_ms, {"scenario": [ALL], "run": runs[run or RUN_OF[name]].plan["run"]})


def shown(board: Board) -> Iterator[tuple[Board, str | None]]:
    """Panels with targets, and the variable that they are repeated by, themselves or with their row."""
    repeated_by = None
    for panel in board["panels"]:
        if panel["type"] == "row":
            repeated_by = panel.get("repeat")
        else:
            yield panel, panel.get("repeat") or repeated_by


def every_panel() -> Iterator[Any]:
    for name, board in BOARDS.items():
        for panel, repeated_by in shown(board):
            yield pytest.param(name, panel, repeated_by, id=f"{name}-{panel['id']}-{panel['title']}")


@pytest.mark.parametrize(("name", "panel", "repeated_by"), list(every_panel()))
def test_a_panel_has_data(influx, runs, name, panel, repeated_by):
    """An hour after the run, at the span that the page has by itself, after a click on the run."""
    page, now_ms = page_of(BOARDS[name], runs)
    with_data: set[str] = set()
    for run in [RUN_OF.get(name, ""), *ALSO.get(name, [])]:
        for variables in each_panel(influx, runs, name, run, repeated_by):
            with_data |= ask(influx, panel, variables, fixed(span_of_panel(panel, variables, page, now_ms)))
    if panel["title"] not in WITHOUT.get(name, ()):
        assert with_data == {target["refId"] for target in panel["targets"]}


def test_a_run_of_the_kernels_tcp_is_on_its_dashboard(influx, runs):
    """Its window is limited by the receiver, so no threshold is ever set and some further lines are missing."""
    board, name = BOARDS["tcp"], "tcp-window"
    page, now_ms = page_of(board, runs)
    variables = variables_of(board, runs, "tcp", influx, name)
    empty = []
    for panel, _ in shown(board):
        span = fixed(span_of_panel(panel, variables, page, now_ms))
        if not influx.query(interpolate(panel["targets"][0]["query"], variables, span, 600)):
            empty.append(panel["title"])
    assert empty == []


def each_panel(
    influx: Client, runs: dict[str, Replayed], name: str, run: str, repeated_by: str | None
) -> list[Variables]:
    """The variables of a panel, and of each of its repetitions."""
    board = BOARDS[name]
    variables = variables_of(board, runs, name, influx, run)
    if not repeated_by:
        return [variables]
    variable = next(v for v in board["templating"]["list"] if v["name"] == repeated_by)
    values = values_of(variable, variables, influx)
    assert values
    return [variables.but(**{repeated_by: [value]}) for value in values]


def ask(influx: Client, panel: Board, variables: Variables, span: Span) -> set[str]:
    """Send a panel's queries; the first has to have data. The targets that have."""
    width_px = (1280 - 60) * panel["gridPos"]["w"] // 24
    names: list[str] = []
    with_data: set[str] = set()
    for target in panel["targets"]:
        query = interpolate(target["query"], variables, span, width_px)
        assert "$" not in query.replace("$/", "")
        answer = influx.query(query)
        if answer:
            check_columns(panel, target, answer)
            with_data.add(target["refId"])
            names += [series_name(target.get("alias", ""), part.tags) for part in answer]
    if panel["type"] == "timeseries":
        assert len(set(names)) == len(names), f"series of one name: {names}"
    return with_data


def check_columns(panel: Board, target: Board, answer: list[Series]) -> None:
    """A plot has numbers, a table the columns that it gives a unit, links or hides."""
    for part in answer:
        columns = {name: values for name, values in part.columns.items() if name != "time"}
        assert all(any(value is not None for value in values) for values in columns.values()) or len(columns) > 1
        if target["resultFormat"] == "time_series":
            assert len(columns) == 1
            found = [value for values in columns.values() for value in values]
            every_day = "fill(null)" in target["query"]
            assert all(isinstance(value, (int, float)) or (every_day and value is None) for value in found)
        else:
            matchers = [override["matcher"] for override in panel["fieldConfig"]["overrides"]]
            named = {matcher["options"] for matcher in matchers if matcher["id"] == "byName"}
            asked = {name for each in panel["targets"] for name in re.findall(r'"(\w+)"', each["query"])}
            matrices = [of["options"] for of in panel["transformations"] if of["id"] == "groupingToMatrix"]
            corners = {rf"{matrix['rowField']}\{matrix['columnField']}" for matrix in matrices}
            assert named <= {*columns, *asked, *corners, "Time", "time", "verdict", "status", "state"}


@pytest.mark.parametrize("name", [name for name, board in BOARDS.items() if board["annotations"]["list"]])
def test_events_are_drawn_where_the_plots_are(influx, runs, name):
    board = BOARDS[name]
    page, now_ms = page_of(board, runs)
    (annotation,) = board["annotations"]["list"]
    variables = variables_of(board, runs, name, influx)
    (part,) = influx.query(interpolate(annotation["query"], variables, fixed(page)))
    assert "transfer_start" in part.columns[annotation["tagsColumn"]]
    assert all(isinstance(text, str) for text in part.columns[annotation["textColumn"]])
    plot = next(panel for panel in board["panels"] if panel["type"] == "timeseries")
    span = span_of_panel(plot, variables, page, now_ms)
    assert all(span.from_ms <= time / 1e6 <= span.to_ms for time in part.columns["time"])


@pytest.mark.parametrize("name", BOARDS)
def test_every_variable_offers_something(influx, runs, name):
    board = BOARDS[name]
    variables = variables_of(board, runs, name, influx)
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            assert values_of(variable, variables, influx), variable["query"]


def test_two_runs_are_compared_from_their_start(influx, runs):
    board = BOARDS["compare"]
    page, now_ms = page_of(board, runs)
    variables = variables_of(board, runs, "compare", influx)
    panel = next(p for p in board["panels"] if p["title"] == "Window shares")
    span = fixed(span_of_panel(panel, variables, page, now_ms))
    low, high, *both = panel["targets"]
    names = []
    for target, policy in zip(both, ("nkp24", "previous"), strict=True):
        answer = influx.query(interpolate(target["query"], variables, span))
        assert {part.tags["policy"] for part in answer} == {policy}
        assert all(0 <= part.columns["time"][0] - ZERO_NS < 500_000_000 for part in answer)
        names += [series_name(target["alias"], part.tags) for part in answer]
    assert names == ["1st nkp24 s1/1", "1st nkp24 s1/2", "2nd previous s1/1", "2nd previous s1/2"]
    # The band is there for the one that follows a law, whichever of the two it is.
    for changed in (variables, variables.but(shown=variables.chosen["other"], other=variables.chosen["shown"])):
        lows, highs = (influx.query(interpolate(target["query"], changed, span)) for target in (low, high))
        for lower, upper in zip(lows, highs, strict=True):
            widths = [b - a for a, b in zip(lower.columns["min"], upper.columns["max"], strict=True)]
            assert widths == [pytest.approx(0.06)] * len(widths)


def test_one_connection_can_be_chosen_and_several(influx, runs):
    board = BOARDS["convergence"]
    page, now_ms = page_of(board, runs)
    variables = variables_of(board, runs, "convergence", influx)
    panel = next(p for p in board["panels"] if p["title"] == "Windows")
    span = fixed(span_of_panel(panel, variables, page, now_ms))
    for chosen in (["1"], ["1", "2"]):
        answer = influx.query(interpolate(panel["targets"][0]["query"], variables.but(connection=chosen), span))
        assert [part.tags["connection"] for part in answer] == chosen


def test_what_somebody_names_can_not_break_out_of_the_query(influx, runs):
    board = BOARDS["convergence"]
    page, now_ms = page_of(board, runs)
    query = next(p for p in board["panels"] if p["title"] == "Windows")["targets"][0]["query"]
    for text in ("a/b", "a.b*", "(", "[x]{2}", "it's \\d"):
        variables = opened(board, influx, now_ms, {"scenario": [ALL], "run": text})
        assert influx.query(interpolate(query, variables, fixed(page))) == []


def test_a_span_drawn_by_hand_is_shown_as_it_was_drawn(influx, runs):
    """It is on the common clock, so nothing is to be shifted."""
    board = BOARDS["convergence"]
    drawn = Span(ZERO_NS // 1_000_000 + 1000, ZERO_NS // 1_000_000 + 2500)
    url = {"scenario": [ALL], "run": runs["nkp24"].plan["run"]}
    variables = opened(board, influx, drawn.to_ms, url)
    panel = next(p for p in board["panels"] if p["title"] == "Windows")
    span = span_of_panel(panel, variables, drawn, runs["nkp24"].to_ms + HOUR_MS)
    assert span == drawn
    (first, _) = influx.query(interpolate(panel["targets"][0]["query"], variables, span))
    assert len(first.columns["time"]) > 5
    assert all(drawn.from_ms <= time / 1e6 <= drawn.to_ms for time in first.columns["time"])
