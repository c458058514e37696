"""Every query of every panel, variable, annotation and alert rule, as Grafana sends it, on what real runs left."""

import datetime
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from ruamel.yaml import YAML

from dashboards.generate import DASHBOARDS, FOLDER
from testbed.influx.client import Client, Series
from tests.dashboards.conftest import Replayed
from tests.dashboards.grafana import ALL, Span, Variables, interpolate, opened, series_name, values_of

Board = dict[str, Any]

BOARDS: dict[str, Board] = {
    name: json.loads((FOLDER / "json" / f"{name}.json").read_text()) for name in DASHBOARDS
}
RULES = YAML(typ="safe").load(FOLDER / "provisioning" / "alerting" / "rules.yaml")["groups"][0]["rules"]

RUN_OF = {"convergence": "nkp24", "links": "nkp24", "tcp": "beside-tcp", "ndn": "ndn"}
"""The run that is looked at, where a dashboard shows one."""

ALSO = {"links": ["beside-tcp"]}
"""Further runs: a link is told its rate at its hosts in the one, in the middle in the other."""


def span_of(runs: dict[str, Replayed], name: str, run: str = "") -> Span:
    chosen = [runs[run or RUN_OF[name]]] if name in RUN_OF else list(runs.values())
    if name == "compare":
        return _as_committed(BOARDS[name]["time"])
    before_ms = 5000 if name in RUN_OF else 30 * 86_400_000
    return Span(min(run.from_ms for run in chosen) - before_ms, max(run.to_ms for run in chosen) + 2000)


def _as_committed(time: dict[str, str]) -> Span:
    from_ms, to_ms = (
        round(datetime.datetime.fromisoformat(time[end]).timestamp() * 1000) for end in ("from", "to")
    )
    return Span(from_ms, to_ms)


def variables_of(
    board: Board, runs: dict[str, Replayed], name: str, influx: Client, run: str = ""
) -> Variables:
    """As somebody opens the dashboard at the run."""
    if name not in RUN_OF:
        return opened(board, influx)
    plan = runs[run or RUN_OF[name]].plan
    return opened(board, influx).but(scenario=plan["scenario"], run=plan["run"])


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
    with_data: set[str] = set()
    for run in [RUN_OF.get(name, ""), *ALSO.get(name, [])]:
        for variables in each_panel(influx, runs, name, run, repeated_by):
            with_data |= ask(influx, panel, variables, span_of(runs, name, run))
    assert with_data == {target["refId"] for target in panel["targets"]}


def test_a_run_of_the_kernels_tcp_is_on_its_dashboard(influx, runs):
    """Its window is limited by the receiver, so no threshold is ever set and some further lines are missing."""
    board, name = BOARDS["tcp"], "tcp-window"
    variables = variables_of(board, runs, "tcp", influx, name)
    span = span_of(runs, "tcp", name)
    empty = []
    for panel, _ in shown(board):
        answer = influx.query(interpolate(panel["targets"][0]["query"], variables, span, 600))
        if not answer:
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
        assert answer or target["refId"] != "A", f"no data: {query}"
        if answer:
            check_columns(panel, target, answer)
            with_data.add(target["refId"])
            names += [series_name(target.get("alias", ""), part.tags) for part in answer]
    if panel["type"] == "timeseries":
        assert len(set(names)) == len(names), f"series of one name: {names}"
        for override in panel["fieldConfig"]["overrides"]:
            pattern = override["matcher"]["options"].strip("/")
            assert any(re.search(pattern, found) for found in names)
    return with_data


def check_columns(panel: Board, target: Board, answer: list[Series]) -> None:
    """A plot has numbers, a table the columns that it gives a unit, links or hides."""
    for part in answer:
        columns = {name: values for name, values in part.columns.items() if name != "time"}
        assert (
            all(any(value is not None for value in values) for values in columns.values()) or len(columns) > 1
        )
        if target["resultFormat"] == "time_series":
            assert len(columns) == 1
            assert all(isinstance(value, (int, float)) for values in columns.values() for value in values)
        else:
            named = {o["matcher"]["options"] for o in panel["fieldConfig"]["overrides"]}
            assert named <= {*columns, "Time", "time", "verdict", "status"}


@pytest.mark.parametrize("name", [name for name, board in BOARDS.items() if board["annotations"]["list"]])
def test_events_are_drawn(influx, runs, name):
    board = BOARDS[name]
    (annotation,) = board["annotations"]["list"]
    variables = variables_of(board, runs, name, influx)
    (part,) = influx.query(interpolate(annotation["query"], variables, span_of(runs, name)))
    assert "transfer_start" in part.columns[annotation["tagsColumn"]]
    assert all(isinstance(text, str) for text in part.columns[annotation["textColumn"]])


@pytest.mark.parametrize("name", BOARDS)
def test_every_variable_offers_something(influx, runs, name):
    board = BOARDS[name]
    variables = variables_of(board, runs, name, influx)
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            assert values_of(variable, variables, influx), variable["query"]


def test_the_newest_run_is_first(influx, runs):
    runs_of_startup = sorted(
        (r.plan["run"] for r in runs.values() if r.plan["scenario"] == "startup"), reverse=True
    )
    variable = next(v for v in BOARDS["convergence"]["templating"]["list"] if v["name"] == "run")
    chosen = Variables({"scenario": "startup", "policy": [ALL]}, {"policy": ".*"})
    assert values_of(variable, chosen, influx) == runs_of_startup


def test_two_runs_are_compared_from_their_start(influx, runs):
    board = BOARDS["compare"]
    names = [runs[name].plan["run"] for name in ("nkp24", "previous")]
    variables = opened(board, influx).but(scenario="startup", run=names)
    target = board["panels"][0]["targets"][0]
    answer = influx.query(interpolate(target["query"], variables, span_of(runs, "compare")))
    assert {part.tags["run"] for part in answer} == set(names)
    assert {part.tags["policy"] for part in answer} == {"nkp24", "previous"}
    zero = _as_committed(board["time"]).from_ms * 1_000_000
    assert all(0 <= part.columns["time"][0] - zero < 500_000_000 for part in answer)


def test_one_connection_can_be_chosen_and_several(influx, runs):
    board = BOARDS["convergence"]
    variables = variables_of(board, runs, "convergence", influx)
    query = next(p for p in board["panels"] if p["title"] == "Windows")["targets"][0]["query"]
    for chosen in (["1"], ["1", "2"]):
        answer = influx.query(
            interpolate(query, variables.but(connection=chosen), span_of(runs, "convergence"))
        )
        assert [part.tags["connection"] for part in answer] == chosen


def test_what_somebody_names_can_not_break_out_of_the_query(influx, runs):
    board = BOARDS["convergence"]
    query = board["panels"][6]["targets"][0]["query"]
    variables = variables_of(board, runs, "convergence", influx)
    for text in ("a/b", "a.b*", "(", "[x]{2}", "it's \\d"):
        assert influx.query(interpolate(query, variables.but(run=text), span_of(runs, "convergence"))) == []


def test_a_span_that_ends_now_is_understood(influx, runs):
    board = BOARDS["convergence"]
    variables = variables_of(board, runs, "convergence", influx)
    for panel, _ in shown(board):
        for target in panel["targets"]:
            influx.query(interpolate(target["query"], variables, Span(0, 900_000, "now-15m")))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["uid"])
def test_an_alerts_queries_have_the_labels_of_its_message(influx, runs, rule):
    span = Span(
        min(run.from_ms for run in runs.values()) - 5000, max(run.to_ms for run in runs.values()) + 2000
    )
    labels = set(re.findall(r"\.Labels\.(\w+)", rule["annotations"]["summary"]))
    groups = []
    for step in rule["data"]:
        if step["datasourceUid"] == "ncp-influxdb":
            answer = influx.query(interpolate(step["model"]["query"], Variables(), span))
            assert answer, step["model"]["query"]
            assert all(len(part) == 1 and labels <= set(part.tags) for part in answer)
            groups.append({tuple(sorted(part.tags.items())) for part in answer})
    # Grafana joins the figures of a group by its labels: each group has to have all of them.
    assert all(group >= groups[0] for group in groups[1:]) or rule["uid"] == "ncp-not-converged"


def fired(influx: Client, runs: dict[str, Replayed], uid: str) -> set[str]:
    """The runs for which a rule's condition holds."""
    span = Span(
        min(run.from_ms for run in runs.values()) - 5000, max(run.to_ms for run in runs.values()) + 2000
    )
    rule = next(rule for rule in RULES if rule["uid"] == uid)
    ((name, limit),) = re.findall(r"\$\{(\w+)_last\} > (.+)", rule["data"][-1]["model"]["expression"])
    query = next(step["model"]["query"] for step in rule["data"] if step["refId"] == name)
    answer = influx.query(interpolate(query, Variables(), span))
    return {part.tags["run"] for part in answer if part.columns["last"][0] > float(limit)}


def test_alerts_fire_for_the_runs_that_failed_and_no_others(influx, runs):
    of = {name: run.plan["run"] for name, run in runs.items()}
    assert fired(influx, runs, "ncp-nightly-fail") == {of["nkp24"], of["previous"]}
    assert fired(influx, runs, "ncp-not-converged") == {of["nkp24"], of["previous"]}
    assert fired(influx, runs, "ncp-link-off") == set()
    assert fired(influx, runs, "ncp-telemetry-lag") == set()


@pytest.mark.parametrize("name", ["convergence", "links", "tcp"])
def test_the_report_that_is_linked_is_the_chosen_runs(influx, runs, name):
    board = BOARDS[name]
    plan = runs["beside-tcp"].plan
    variables = opened(board, influx).but(scenario=[ALL], run=plan["run"])
    variable = next(v for v in board["templating"]["list"] if v["name"] == "scenario_of_run")
    (scenario,) = values_of(variable, variables, influx)
    (url,) = (link["url"] for link in board["links"] if link["type"] == "link")
    expected = f"/public/results/dumbbell/{plan['run']}/report.html"
    assert variables.but(scenario_of_run=scenario).replace(url) == expected
